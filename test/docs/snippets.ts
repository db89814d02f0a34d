import { globSync, readFileSync } from "node:fs";

/** A block of TypeScript of the README or the docs. */
export interface Snippet {
  readonly page: string;
  /** Of the first line of its code. */
  readonly line: number;
  readonly code: string;
  /** Marked `ts run`: a whole program. */
  readonly runs: boolean;
  /** What a runnable program prints: the `text` block after it. */
  readonly prints: string | undefined;
}

const BLOCK = /^```(\w+)( run)?\n(.*?)^```$/gms;

export const snippetsOf = (page: string): readonly Snippet[] => {
  const text = readFileSync(page, "utf8");
  const blocks = Array.from(text.matchAll(BLOCK), ({ 1: language = "", 2: run, 3: code = "", index, 0: whole }) => ({
    language,
    code,
    runs: run !== undefined,
    line: text.slice(0, index).split("\n").length + 1,
    start: index,
    end: index + whole.length,
  }));
  return blocks.flatMap(({ language, code, runs, line, end }, index) => {
    if (language !== "ts") return [];
    const next = blocks[index + 1];
    const follows = next?.language === "text" && text.slice(end, next.start).trim() === "";
    return [{ page, line, code, runs, prints: runs && follows ? next.code : undefined }];
  });
};

/**
 * `docs/stores.md` quotes pieces of a store of the tests, which `stores.test.ts` compares. `docs/hooks.md` is generated
 * from types of the sources.
 */
export const pages = ["README.md", ...globSync("docs/*.md")]
  .map((page) => page.replaceAll("\\", "/"))
  .filter((page) => page !== "docs/stores.md" && page !== "docs/hooks.md")
  .sort();
export const snippets = pages.flatMap(snippetsOf);

const codes = new Set(
  Array.from(readFileSync("docs/errors.md", "utf8").matchAll(/^### (\S+)$/gm), ([, code = ""]) => code),
);

/** Names such as `session.tools.set` that the text of a page quotes, with the line of each. */
export const quotedNames = pages.flatMap((page) =>
  readFileSync(page, "utf8")
    .replace(/^```[\s\S]*?^```$/gm, (block) => block.replace(/[^\n]/g, ""))
    .split("\n")
    .flatMap((text, index) =>
      Array.from(text.matchAll(/`((?:session|runtime|limits|usage)(?:\.\w+)+)(?![\w…])/g), ([, name = ""]) => ({
        page,
        line: index + 1,
        name,
      })).filter(({ name }) => !codes.has(name)),
    ),
);

/** What fragments may use without declaring it. */
export const PRELUDE = `import { type JsonSchema, type Limits, type Model, type Runtime, type Session, type Store, type Usage, defineTool } from "bowline";
import { definePlugin, type Plugin } from "bowline/plugin";
import type { ProtocolDriver, Preamble } from "./types.ts";
import { z } from "zod";

const payTool = defineTool({
  name: "pay",
  description: "Pays.",
  input: z.object({ id: z.string(), cents: z.number() }),
  execute: () => "paid",
});
const anyTool = defineTool({ name: "any", description: "Any.", input: { type: "object" }, execute: () => "" });
const anyPlugin = definePlugin({ id: "acme/any", setup: () => ({}) });
type Options = { readonly signal?: AbortSignal; readonly idempotencyKey?: string };
interface Manifest { readonly name: string; readonly description: string }

declare global {
  const runtime: Runtime;
  const session: Session;
  const store: Store;
  const model: Model;
  const limits: Limits;
  const usage: Usage;
  const tools: (typeof anyTool)[];
  const plugins: Plugin[];
  const turnId: string;
  const signal: AbortSignal;
  const key: string;
  const photo: Uint8Array;
  const longText: string;
  const prices: { [item: string]: number };
  const request: Request;
  const pool: import("./types.ts").Pool;
  const pay: typeof payTool;
  const search: typeof anyTool;
  const read: typeof anyTool;
  const reports: typeof anyPlugin;
  const refunds: typeof anyPlugin;
  const driver: ProtocolDriver;
  const preamble: Preamble;
  const bank: {
    pay(id: string, cents: number, options: Options): Promise<{ receipt: string }>;
    refund(order: string, euros: number, options: Options): Promise<string>;
  };
  const camera: { shoot(page: string): Promise<Uint8Array | undefined> };
  const shop: { order(title: string, options: Options): Promise<string> };
  const folders: { list(path: string): string[] };
  const farm: { start(job: { scene: string; idempotencyKey: string; webhook: string }): Promise<void> };
  const ci: { cancel(build: number, reason?: string): void };
  const client: {
    manifests(signal: AbortSignal): Promise<Manifest[]>;
    describe(name: string): Promise<{ about: string; schema: JsonSchema } | undefined>;
    call(name: string, input: unknown): Promise<string>;
    onChange(changed: () => void): () => void;
  };
  function token(): Promise<string>;
  function isFraud(order: string, signal: AbortSignal): Promise<boolean>;
  function signedIn(request: unknown): string;
  function startAgent(recover?: "auto" | "never"): Promise<Runtime>;
  function countFiles(signal: AbortSignal): Promise<number>;
  function findSources(topic: string): Promise<string[]>;
  function download(month: string): Promise<number[]>;
  function toolsFor(session: string): Promise<(typeof anyTool)[]>;
  function push(event: unknown): void;
  function test(title: string, run: () => unknown): void;
  const assert: typeof import("node:assert/strict");
}
`;

export const TYPES = `export type { ProtocolDriver } from "bowline/protocol";
import type { definePlugin } from "bowline/protocol";
import type { postgres } from "bowline/stores/postgres";
export type Pool = Exclude<Parameters<typeof postgres>[0], string>;
type Slots = ReturnType<Parameters<typeof definePlugin>[0]["setup"]>;
export type Preamble = NonNullable<NonNullable<Slots["protocolDriver"]>["preamble"]>;
`;
