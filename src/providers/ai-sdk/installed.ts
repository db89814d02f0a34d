import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { describeThrown, isObject } from "../../model/json.ts";
import { requireKnown } from "../../model/known.ts";
import { loadPackage } from "../../model/packages.ts";
import type { LanguageModel, ModelResolver, Provider } from "../provider.ts";
import { aiSdk } from "./adapter.ts";

/**
 * Resolves `<vendor>/<model>` with the package @ai-sdk/<vendor> that the app has installed: `anthropic/claude-…` with
 * @ai-sdk/anthropic. `openai-compatible/<model>` is a server at BOWLINE_BASE_URL, with the key BOWLINE_API_KEY if it
 * needs one. `from` is the folder to look for packages from; default: the working directory.
 */
export function installed(options: { readonly from?: string | undefined } = {}): ModelResolver {
  requireKnown("installed", options, { from: true });
  return async (name) => {
    const [, vendor, modelId] = NAME.exec(name) ?? [];
    if (vendor === undefined || modelId === undefined) return undefined;
    const exports = await load(name, `@ai-sdk/${vendor}`, options.from ?? process.cwd());
    return vendor === "openai-compatible"
      ? compatible(name, modelId, exports)
      : modelIn(name, vendor, modelId, exports);
  };
}

/** The first part becomes the name of a package. Without a slash or dot it stays in the scope @ai-sdk. */
const NAME = /^([a-z0-9][a-z0-9-]*)\/(.+)$/s;

type Exports = { readonly [name: string]: unknown };

const unavailable = (name: string, problem: string, cause?: unknown): RuntimeError<"provider.unavailable"> =>
  new RuntimeError("provider.unavailable", { name, problem }, cause === undefined ? undefined : { cause });

async function load(name: string, packageName: string, from: string): Promise<Exports> {
  try {
    return await loadPackage(packageName, async () => (await import(locate(packageName, from))) as Exports);
  } catch (thrown) {
    if (!hasCode(thrown, "package.unavailable")) throw thrown;
    throw unavailable(name, `${thrown.message} ${thrown.hint}`, thrown);
  }
}

/** Searches from the app first, then from this file, because with a global install the two find different packages. */
function locate(packageName: string, from: string): string {
  const urlFrom = (base: string | URL): string => pathToFileURL(createRequire(base).resolve(packageName)).href;
  try {
    return urlFrom(pathToFileURL(join(from, "package.json")));
  } catch {
    return urlFrom(import.meta.url);
  }
}

interface Instance {
  languageModel(modelId: string): LanguageModel;
}

/** Packages export a ready instance, named after the vendor: `anthropic`, or `bedrock` for amazon-bedrock. */
function modelIn(name: string, vendor: string, modelId: string, exports: Exports): LanguageModel {
  const camelCase = vendor.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  const usual = [camelCase, vendor.slice(vendor.lastIndexOf("-") + 1)].map((key) => exports[key]);
  const instance = [...usual, ...Object.values(exports)].find(isInstance);
  if (instance === undefined) throw unavailable(name, `the package @ai-sdk/${vendor} exports no provider.`);
  try {
    return instance.languageModel(modelId);
  } catch (thrown) {
    throw unavailable(name, describeThrown(thrown), thrown);
  }
}

const isInstance = (value: unknown): value is Instance =>
  (typeof value === "function" || isObject(value)) && typeof (value as Partial<Instance>).languageModel === "function";

type Compatible = (options: object) => Instance;

/** The SDK's provider is made for each call, so that the key is read when it is needed and never kept. */
function compatible(name: string, modelId: string, exports: Exports): Provider {
  const make = (): Provider => {
    const baseURL = process.env.BOWLINE_BASE_URL;
    if (!baseURL) throw unavailable(name, "BOWLINE_BASE_URL is not set.");
    const apiKey = process.env.BOWLINE_API_KEY;
    const create = exports.createOpenAICompatible as Compatible;
    const settings = { name: "openai-compatible", baseURL, includeUsage: true, ...(apiKey ? { apiKey } : {}) };
    return aiSdk(create(settings).languageModel(modelId));
  };
  const { id } = make();
  return { id, modelId, stream: (request, options) => make().stream(request, options) };
}
