import type { LanguageModel } from "../../src/providers/provider.ts";

export const VERSIONS = ["v2", "v3", "v4"] as const;
export type Version = (typeof VERSIONS)[number];

// biome-ignore lint/suspicious/noExplicitAny: what a model is called with differs by version, and is looked into by tests
export type Called = any;

/** A hand-made model that gives these stream parts and remembers what it was called with. */
export function fake(version: Version, parts: readonly unknown[], provider = "acme.messages") {
  const calls: Called[] = [];
  const model: LanguageModel = {
    specificationVersion: version,
    provider,
    modelId: "m-1",
    doGenerate: () => Promise.reject(new Error("not used")),
    doStream: async (options: never) => {
      calls.push(options);
      return { stream: ReadableStream.from(parts) };
    },
  };
  return { model, calls };
}

export const finish = (version: Version, reason = "stop", usage: unknown = undefined) => ({
  type: "finish",
  finishReason: version === "v2" ? reason : { unified: reason, raw: reason },
  usage,
});
