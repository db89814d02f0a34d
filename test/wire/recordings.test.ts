import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import fc from "fast-check";
import { expect, test } from "vitest";
import { aiSdk } from "../../src/providers/ai-sdk.ts";
import type { LanguageModel } from "../../src/providers/provider.ts";
import { type Asked, ask } from "./ask.ts";
import { bytesOf, serveWire, type WireEvent, type WireResponse } from "./server.ts";

/** Recordings of real providers, kept beside the project where it is developed, and not part of it. */
const FOLDER = fileURLToPath(new URL("../../../shared/fixtures/wire", import.meta.url));

const key = { apiKey: "test-key" };
const MODELS: { readonly [folder: string]: (baseURL: string) => LanguageModel } = {
  anthropic: (baseURL) => createAnthropic({ ...key, baseURL })("claude-sonnet-4-5"),
  google: (baseURL) => createGoogle({ ...key, baseURL, generateId: () => "an-id" })("gemini-2.5-flash"),
  "openai-chat": (baseURL) => createOpenAI({ ...key, baseURL }).chat("gpt-5-mini"),
  "openai-responses": (baseURL) => createOpenAI({ ...key, baseURL })("gpt-5-mini"),
  "openai-compatible": (baseURL) => createOpenAICompatible({ ...key, baseURL, name: "local" })("some-model"),
};

const files = existsSync(FOLDER) ? globSync("*/*.{txt,sse,json}", { cwd: FOLDER }).sort() : [];

if (files.length === 0) {
  test("there are no recordings here, so none is replayed", () => expect(files).toEqual([]));
}

for (const file of files) {
  test(`E1 recording ${file}: parts come out, the same however it is cut, up to a finish or a typed failure`, async () => {
    const recording = read(file);
    const whole = await replay(file, recording);
    expectAnEnd(whole);
    const cuts = fc.array(fc.nat(bytesOf(recording)), { minLength: 1, maxLength: 20 });
    const same = fc.asyncProperty(cuts, async (at) => {
      expect(outline(await replay(file, { ...recording, cuts: at }))).toEqual(outline(whole));
    });
    await fc.assert(same, { numRuns: 4 });
  });
}

function read(file: string): WireResponse {
  const text = readFileSync(join(FOLDER, file), "utf8");
  if (file.endsWith(".json")) return { status: Number(/-(4\d\d|5\d\d)-/.exec(basename(file))?.[1] ?? 200), body: text };
  const headers = { "content-type": "text/event-stream" };
  if (file.endsWith(".sse")) return { body: text, headers };
  const events = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map(eventOf);
  return { events: /^openai-(chat|compatible)/.test(file) ? [...events, "[DONE]"] : events };
}

/** One of the recordings has lines that are not JSON: those go out as they are. */
function eventOf(line: string): WireEvent {
  try {
    return JSON.parse(line) as object;
  } catch {
    return line;
  }
}

async function replay(file: string, recording: WireResponse): Promise<Asked> {
  await using server = await serveWire([{ cuts: [], ...recording }]);
  return await ask(aiSdk(MODELS[dirname(file)]!(server.url)));
}

function expectAnEnd({ parts, failure }: Asked): void {
  if (failure === undefined) expect(parts.at(-1)?.kind).toBe("finish");
  else expect(failure.class).not.toBe("unknown");
}

const outline = ({ parts, failure }: Asked): object => ({
  parts,
  failure: failure && [failure.class, failure.message],
});
