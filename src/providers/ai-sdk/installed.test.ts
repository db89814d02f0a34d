import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { ask } from "../../../test/wire/ask.ts";
import { openaiCompatible } from "../../../test/wire/openai-compatible.ts";
import { serveWire } from "../../../test/wire/server.ts";
import { hasCode } from "../../model/errors.ts";
import { isProvider, type Provider } from "../provider.ts";
import { aiSdk } from "./adapter.ts";
import { installed } from "./installed.ts";

afterEach(() => vi.unstubAllEnvs());

test.each([
  ["anthropic/claude-sonnet-4-5", "anthropic.messages", "claude-sonnet-4-5"],
  ["openai/gpt-5-mini", "openai.responses", "gpt-5-mini"],
  ["google/gemini-2.5-flash", "google.generative-ai", "gemini-2.5-flash"],
])("E1 %s is found in the installed package, without a key", async (name, provider, modelId) => {
  expect(await installed()(name)).toMatchObject({ provider, modelId });
});

test("E1 the first call reports a missing key", async () => {
  vi.stubEnv("ANTHROPIC_API_KEY", undefined);
  vi.stubEnv("ANTHROPIC_AUTH_TOKEN", undefined);
  const model = await installed()("anthropic/claude-sonnet-4-5");
  const { failure } = await ask(isProvider(model!) ? model : aiSdk(model!));
  expect(failure).toMatchObject({ class: "auth" });
  expect(failure?.message).toContain("ANTHROPIC_API_KEY");
});

test("E1 a package that is not there is named, with the command that installs it", async () => {
  expect(await refusal("nobody-has-this/model")).toContain("npm install @ai-sdk/nobody-has-this");
});

test.each(["claude", "", "/model", "anthropic/", "../evil/model", "Up/model", "a.b/model"])(
  "the name %j is nobody's",
  async (name) => expect(await installed()(name)).toBeUndefined(),
);

test("E1 a package is looked for where the app is, by its instance whatever that is called", async () => {
  const from = await app(
    "acme-cloud",
    "export const create = () => {}; export const cloud = { languageModel: (id) => ({ id }) };",
  );
  expect(await installed({ from })("acme-cloud/some/model")).toEqual({ id: "some/model" });
});

test.each([
  ["exports no provider", "export const nothing = 1;"],
  ["does not load: Boom", "throw new Error('Boom');"],
  ["No region", "export const broken = { languageModel() { throw new Error('No region'); } };"],
])("a package of no use is refused: it %s", async (problem, source) => {
  const from = await app("broken", source);
  expect(await refusal("broken/model", { from })).toContain(problem);
});

test("E1 openai-compatible is the server at BOWLINE_BASE_URL, with the key of the moment", async () => {
  await using server = await serveWire([openaiCompatible.text, openaiCompatible.text]);
  vi.stubEnv("BOWLINE_BASE_URL", server.url);
  vi.stubEnv("BOWLINE_API_KEY", "");
  const model = (await installed()("openai-compatible/org/model")) as Provider;
  expect(model).toMatchObject({ id: "openai-compatible", modelId: "org/model" });
  expect((await ask(model)).parts).toEqual(openaiCompatible.text.parts);
  vi.stubEnv("BOWLINE_API_KEY", "new-key");
  await ask(model);
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, "Bearer new-key"]);
  expect(server.requests[0]?.body).toMatchObject({ model: "org/model", stream_options: { include_usage: true } });
});

test("without BOWLINE_BASE_URL there is no such server", async () => {
  vi.stubEnv("BOWLINE_BASE_URL", undefined);
  expect(await refusal("openai-compatible/model")).toContain("BOWLINE_BASE_URL is not set");
});

/** Why a name cannot be resolved. */
async function refusal(name: string, options?: Parameters<typeof installed>[0]): Promise<string | undefined> {
  try {
    await installed(options)(name);
  } catch (error) {
    if (hasCode(error, "provider.unavailable")) return error.details.problem;
    throw error;
  }
  return undefined;
}

/** Makes the folder of an app that has this package installed. */
async function app(vendor: string, source: string): Promise<string> {
  const from = await mkdtemp(join(tmpdir(), "bowline-app-"));
  onTestFinished(() => rm(from, { recursive: true }));
  const folder = join(from, "node_modules", "@ai-sdk", vendor);
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "package.json"),
    JSON.stringify({ name: `@ai-sdk/${vendor}`, type: "module", exports: "./index.js" }),
  );
  await writeFile(join(folder, "index.js"), source);
  return from;
}
