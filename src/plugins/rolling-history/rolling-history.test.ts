import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  attach,
  createRuntime,
  definePlugin,
  defineTool,
  jsonSchema,
  type Message,
  type Plugin,
  type Runtime,
  type RuntimeOptions,
  type Session,
  switchFrame,
} from "bowline";
import { type ModelPart, type ModelRequest, type Part, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, ends, type Scripted, says, scripted } from "bowline/testing";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { sample } from "../../../test/kit/size.ts";
import { cutOf } from "./cut.ts";
import { type RollingHistoryOptions, rollingHistory } from "./index.ts";
import { prune } from "./prune.ts";
import { earlierIn } from "./summary.ts";
import { tokensIn, tokensOf, tokensOfRequest } from "./tokens.ts";

// ── A model with a window ───────────────────────────────────────────────────────────────────────────────────────────

type ModelAnswer = readonly ModelPart[] | ProviderFailure;
interface Playing {
  /** Tokens. A longer request fails with an overflow. */
  readonly window?: number;
  /** The window for summaries, in tokens. Default: the same. */
  readonly summariesMax?: number;
  readonly reply?: (request: ModelRequest, asked: number) => ModelAnswer;
  readonly summary?: (prompt: string, asked: number) => ModelAnswer;
  /** The tokens that the model reports for a request. */
  readonly reports?: (tokens: number) => number;
}
interface Windowed extends Scripted {
  /** Requests of the conversation. */
  readonly turns: ModelRequest[];
  /** Prompts for summaries. */
  readonly summaries: string[];
  /** Summaries, counting one that is written in parts once. */
  compactions: number;
  overflows: number;
  summaryOverflows: number;
}

const isForSummary = ({ system }: ModelRequest): boolean => system.startsWith("You write a summary");
/** Counts tokens by itself: a test must not trust the estimate of the plugin that it tests. */
const sizeOf = ({ system, tools, messages }: Pick<ModelRequest, "system" | "tools" | "messages">): number =>
  JSON.stringify([system, tools, messages.map(({ parts }) => parts)]).length / 4 +
  1_200 * messages.flatMap(({ parts }) => attachmentsIn(parts)).length;

function windowed(playing: Playing = {}): Windowed {
  const { window = Infinity, summariesMax = window, reply, summary, reports = (tokens) => tokens } = playing;
  const turns: ModelRequest[] = [];
  const summaries: string[] = [];
  const play = (request: ModelRequest): ModelAnswer => {
    const size = sizeOf(request);
    if (size > (isForSummary(request) ? summariesMax : window)) {
      if (!isForSummary(request)) model.overflows++;
      else model.summaryOverflows++;
      return new ProviderFailure({ class: "context-overflow", message: `${Math.ceil(size)} tokens are too long.` });
    }
    let said: ModelAnswer;
    if (isForSummary(request)) {
      summaries.push(wordsIn(request.messages.at(-1)));
      if (!/^Part (?!1 )\d+ of/m.test(summaries.at(-1) as string)) model.compactions++;
      said = (summary ?? ((_, asked) => says(`Summary ${asked}.`)))(summaries.at(-1) as string, summaries.length);
    } else {
      turns.push({ ...request, messages: [...request.messages] });
      said = (reply ?? ((_, asked) => says(`Answer ${asked}.`)))(request, turns.length);
    }
    if (said instanceof ProviderFailure) return said;
    const usage = { input: reports(Math.ceil(size)), output: 5, cacheRead: 0, cacheWrite: 0 };
    return said.map((part) =>
      part.kind === "finish" ? { ...part, usage: { ...usage, reasoning: 0, unknownCalls: 0 } } : part,
    );
  };
  const replies = Array.from({ length: 2_000 }, () => play);
  const model: Windowed = Object.assign(scripted(...replies), {
    turns,
    summaries,
    compactions: 0,
    overflows: 0,
    summaryOverflows: 0,
  });
  return model;
}

const wordsIn = (message: Message | undefined): string =>
  (message?.parts ?? []).map((part) => (part.kind === "text" ? part.text : "")).join("\n");
const attachmentsIn = (parts: readonly Part[]): readonly Part[] =>
  parts.flatMap((part) => ("parts" in part ? attachmentsIn(part.parts) : part.kind === "attachment" ? [part] : []));
const long = (tokens: number, word = "word"): string =>
  `${word} `.repeat(Math.ceil((tokens * 4) / (word.length + 1))).trim();
const picture = (name = "a.png") => attach(new Uint8Array(2_000), { mediaType: "image/png", name });

/** Calls whose results do not come right after them, in order. */
function unpairedIn(messages: readonly Message[]): readonly string[] {
  const idsOf = (message: Message | undefined, kind: "toolCall" | "toolResult"): readonly string[] =>
    (message?.parts ?? []).flatMap((part) => (part.kind === kind ? [part.callId] : []));
  return messages.flatMap((message, index) => {
    const asked = idsOf(message, "toolCall");
    const given = idsOf(messages[index + 1], "toolResult");
    const came = idsOf(message, "toolResult");
    const from = idsOf(messages[index - 1], "toolCall");
    return `${asked}` === `${given}` && `${came}` === `${from}` ? [] : [message.id];
  });
}

const EMPTY = jsonSchema<object>({ type: "object" });
const read = defineTool({
  name: "read",
  description: "Reads a page.",
  input: jsonSchema<{ readonly page: number }>({ type: "object", properties: { page: { type: "integer" } } }),
  execute: ({ page }) => `Page ${page}: ${long(200, `p${page}`)}`,
});
/** A model that reads one page after the other up to `pages`, then answers. */
const reads =
  (pages: number) =>
  ({ messages }: ModelRequest): ModelAnswer => {
    const page = Math.max(0, ...messages.flatMap(({ parts }) => parts.flatMap(pageOf))) + 1;
    const text = wordsIn(messages[0]);
    const done = Math.max(page - 1, Number(/read up to page (\d+)/.exec(text)?.[1] ?? 0));
    return done >= pages ? says(`Read ${done} pages.`) : calls("read", { page: done + 1 }, `call_${done + 1}`);
  };
const pageOf = (part: Part): readonly number[] =>
  part.kind === "toolCall" ? [Number((part.input as { page: number }).page)] : [];
/** A summary of the pages in the prompt and in the summary before. */
const remembersPages = (prompt: string): ModelAnswer => {
  const pages = [...prompt.matchAll(/"page":(\d+)|read up to page (\d+)/g)].map(([, a, b]) => Number(a ?? b));
  return says(`The assistant has read up to page ${Math.max(0, ...pages)}.`);
};

interface World extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly session: Session;
}
const SMALL: RollingHistoryOptions = { window: 4_000, reserve: 1_000, tail: 800 };

type More = Partial<Omit<RuntimeOptions, "model">>;
async function open(model: Scripted, options: RollingHistoryOptions, more: More = {}) {
  const { plugins = [], ...others } = more;
  const runtime = await createRuntime({
    store: memory(),
    model,
    plugins: [rollingHistory(options), ...plugins],
    ...others,
  });
  return { runtime, session: await runtime.session("s"), [Symbol.asyncDispose]: () => runtime.close() } satisfies World;
}

const ask = async (session: Session, ...inputs: readonly Parameters<Session["turn"]>[0][]) => {
  const results = [];
  for (const input of inputs) results.push(await session.turn(input).result());
  return results;
};
const repeat = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index + 1));
const framesOf = async (session: Session): Promise<number> =>
  (await session.history({ max: 10_000 })).filter(({ kind }) => kind === "frame").length;
const textsOf = (messages: readonly Message[]): readonly string[] => messages.map(wordsIn);
const isSummary = (message: Message | undefined): boolean =>
  message?.origin?.kind === "plugin" && wordsIn(message).startsWith("[This is a summary of the conversation so far");

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
const file = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "bowline-rolling-"));
  folders.push(folder);
  return join(folder, "agent.db");
};

// ── Stories ─────────────────────────────────────────────────────────────────────────────────────────────────────────

describe("below the thresholds", () => {
  test("K8 nothing happens: requests, history and usage are as they are without the plugin", async () => {
    const play = async (plugins: readonly Plugin[]) => {
      const model = windowed({ reply: (_, asked) => (asked === 2 ? calls("read", { page: 1 }) : says("Yes.")) });
      const runtime = await createRuntime({ store: memory(), model, plugins, tools: [read] });
      const session = await runtime.session("s");
      await ask(session, "Hello.", ["Look.", picture()], "Read.", "And?", "Well?");
      const { messages, usage, ledger } = await session.read();
      const frames = await framesOf(session);
      await runtime.close();
      const shown = model.requests.map(({ messages: sent, ...rest }) => ({ ...rest, sent: sent.map(plain) }));
      return { shown, usage, ledger, frames, kept: messages.map(plain) };
    };
    const plain = ({ role, parts }: Message) => ({ role, parts });
    expect(await play([rollingHistory])).toEqual(await play([]));
  });

  test("K8 a short conversation changes no state", async () => {
    await using world = await open(windowed(), {}, { tools: [read] });
    const { fingerprint } = world.session;
    await ask(world.session, ...repeat(5, (n) => `${n}: ${long(100)}`));
    expect(world.session.fingerprint).toBe(fingerprint);
  });

  test("E3 what the next request takes can be asked for, tools and system prompt included", async () => {
    const model = windowed({ reports: () => 0 });
    const instructions = long(300);
    await using world = await open(model, SMALL, { tools: [read], instructions });
    expect(await world.session.query(rollingHistory, "measure")).toEqual({ tokens: 0, window: 4_000, share: 0 });
    await ask(world.session, "Hello.");
    const { tokens, window, share } = await world.session.query(rollingHistory, "measure");
    expect(tokens).toBeGreaterThan(330);
    expect(tokens).toBeLessThan(sizeOf(model.turns[0] as ModelRequest) + 20);
    expect(share).toBe(tokens / window);
  });

  test("E3 what the provider reports counts for what was sent, and an estimate for the rest", async () => {
    const model = windowed({ reports: (tokens) => tokens * 3 });
    await using world = await open(model, SMALL);
    await ask(world.session, long(100));
    const sent = Math.ceil(sizeOf(model.turns[0] as ModelRequest));
    const { tokens } = await world.session.query(rollingHistory, "measure");
    expect(tokens).toBeGreaterThan(sent * 3);
    expect(tokens).toBeLessThan(sent * 3 + 20);
  });

  test.each([0, 10])("E3 a report of %i tokens for a long request is not believed", async (reported) => {
    await using world = await open(windowed({ reports: () => reported }), SMALL);
    await ask(world.session, long(500));
    expect((await world.session.query(rollingHistory, "measure")).tokens).toBeGreaterThan(500);
  });
});

describe("attachments", () => {
  test("K8 at 60 % of the window those before the last two turns are only named, and history keeps them", async () => {
    const model = windowed();
    await using world = await open(model, { window: 10_000, reserve: 1_000 });
    await ask(world.session, ...repeat(5, (n) => [`Picture ${n}.`, picture(`${n}.png`)]), "What did you see?");
    const counts = model.turns.map(({ messages }) => messages.flatMap(({ parts }) => attachmentsIn(parts)).length);
    expect(counts).toEqual([1, 2, 3, 4, 2, 1]);
    expect(textsOf(model.turns[4]?.messages ?? [])[0]).toBe(
      'Picture 1.\n[An attachment was here: image/png "1.png", 2000 bytes. It is no longer shown.]',
    );
    const { messages } = await world.session.read();
    expect(messages.flatMap(({ parts }) => attachmentsIn(parts))).toHaveLength(5);
    expect(model.summaries).toEqual([]);
    expect(await framesOf(world.session)).toBe(0);
  });

  test("K8 the same messages are sent in each round of a turn, also after a restart; nothing is pruned twice", async () => {
    const path = file();
    const model = windowed({
      reply: (_, asked) => (asked === 5 || asked === 6 ? calls("read", { page: asked }) : says("Seen.")),
    });
    const options = { window: 10_000, reserve: 1_000 };
    const first = await open(model, options, { store: sqlite(path), tools: [read] });
    await ask(first.session, ...repeat(5, (n) => [`Picture ${n}.`, picture()]));
    const [five, six, seven] = model.turns.slice(4).map(({ messages }) => messages);
    expect(six?.slice(0, five?.length)).toEqual(five);
    expect(seven?.slice(0, six?.length)).toEqual(six);
    await first.runtime.close();
    await using later = await open(model, options, { store: sqlite(path), tools: [read] });
    await later.session.turn("Go on.").result();
    const eight = model.turns[7]?.messages ?? [];
    expect(eight.slice(0, 6)).toEqual(seven?.slice(0, 6));
    expect(eight.flatMap(({ parts }) => attachmentsIn(parts))).toHaveLength(1);
  });

  test("K8 attachments of results are named too, and the newest stay until they are seen", async () => {
    const shoot = defineTool({
      name: "shoot",
      description: "Shoots.",
      input: EMPTY,
      execute: () => picture("shot.png"),
    });
    const model = windowed({
      reply: ({ messages }) => (messages.at(-1)?.role === "user" ? calls("shoot") : says("Ok.")),
    });
    await using world = await open(model, { window: 10_000, reserve: 1_000 }, { tools: [shoot] });
    await ask(world.session, ...repeat(8, (n) => `Shot ${n}.`));
    const counts = model.turns.map(({ messages }) => messages.flatMap(({ parts }) => attachmentsIn(parts)).length);
    expect(counts.slice(0, 10)).toEqual([0, 1, 1, 2, 2, 3, 3, 4, 4, 2]);
    expect(counts.slice(-2)).toEqual([1, 2]);
    expect(model.turns.flatMap(({ messages }) => unpairedIn(messages))).toEqual([]);
    expect(model.summaries).toEqual([]);
  });

  test("K8 keepTurns and pruneAt say which and when", async () => {
    const model = windowed();
    await using world = await open(model, { window: 10_000, reserve: 1_000, keepTurns: 1, pruneAt: 0.3 });
    await ask(world.session, ...repeat(4, (n) => [`Picture ${n}.`, picture()]));
    const counts = model.turns.map(({ messages }) => messages.flatMap(({ parts }) => attachmentsIn(parts)).length);
    expect(counts).toEqual([1, 2, 1, 1]);
  });
});

describe("compaction", () => {
  test("K8 S8 at the start of a turn a summary replaces all but the latest messages, in a new frame", async () => {
    const model = windowed({ window: 4_000 });
    await using world = await open(model, SMALL);
    const results = await ask(world.session, ...repeat(8, (n) => `${n}: ${long(500)}`));
    expect(results.map(({ outcome }) => outcome.kind)).toEqual(repeat(8, () => "answered"));
    expect(model.overflows).toBe(0);
    expect(model.compactions).toBeGreaterThanOrEqual(1);
    expect(await framesOf(world.session)).toBe(model.compactions);
    const { messages, frame } = await world.session.read();
    expect(frame).toBeDefined();
    expect(isSummary(messages[0])).toBe(true);
    expect(wordsIn(messages[0])).toContain("Summary ");
    expect(textsOf(messages).at(-2)).toMatch(/^8: /);
    const sent = model.turns.find((request) => isSummary(request.messages[0]))?.messages ?? [];
    expect(sent.slice(1).map(({ origin }) => origin?.kind)).toEqual(sent.slice(1).map(() => "carried"));
    expect(model.summaries[0]).toMatch(/^The conversation:\n\n<conversation>\nuser: 1: word/);
    expect(model.requests.filter(isForSummary).every(({ tools }) => tools.length === 0)).toBe(true);
  });

  test("K8 in the middle of a tool loop no call is parted from its result, and the turn continues and answers", async () => {
    const model = windowed({ window: 4_000, reply: reads(40), summary: remembersPages });
    await using world = await open(model, SMALL, { tools: [read], limits: { roundsMax: 200 } });
    const [result] = await ask(world.session, "Read all pages, then say how many there were.");
    expect(result?.outcome).toMatchObject({ kind: "answered", text: "Read 40 pages." });
    expect(result?.issues ?? []).toEqual([]);
    expect(model.overflows).toBe(0);
    expect(model.summaries.length).toBeGreaterThan(1);
    expect(model.turns.flatMap(({ messages }) => unpairedIn(messages))).toEqual([]);
    const { messages } = await world.session.read();
    expect(unpairedIn(messages)).toEqual([]);
    // The user's request is in every call in its own words, not only summarised.
    expect(model.turns.every(({ messages: sent }) => textsOf(sent).join().includes("Read all pages, then say"))).toBe(
      true,
    );
    expect(isSummary(messages[0])).toBe(true);
    expect(wordsIn(messages[0])).toMatch(/working on:\]\nRead all pages, then say how many there were\.$/);
  });

  test("K8 the turn at work is carried whole while it is not too long", async () => {
    const model = windowed({ reply: reads(4), window: 4_000, summary: remembersPages });
    await using world = await open(model, { ...SMALL, tail: 100 }, { tools: [read] });
    await world.session.append(repeat(5, (n) => ({ kind: "message", role: "user", text: `${n}: ${long(450)}` })));
    const [result] = await ask(world.session, "Read.");
    expect(result?.outcome).toMatchObject({ kind: "answered", text: "Read 4 pages." });
    expect(model.compactions).toBe(1);
    const { messages } = await world.session.read();
    expect(messages[0]?.parts).toHaveLength(1);
    expect(textsOf(messages)[1]).toBe("Read.");
    expect(messages.map(({ role }) => role).slice(1, 4)).toEqual(["user", "assistant", "tool"]);
  });

  test("S8 on demand: session.compact() makes a frame, returns its id, and the next turn continues in it", async () => {
    const model = windowed();
    await using world = await open(model, { window: 4_000 });
    expect(await world.session.compact()).toEqual({ kind: "nothing" });
    await ask(world.session, "Hi.");
    expect(await world.session.compact()).toEqual({ kind: "nothing" });
    await ask(world.session, ...repeat(3, (n) => `${n}: ${long(400)}`));
    const before = (await world.session.read()).messages;
    const compacted = await world.session.compact();
    const { frame, messages } = await world.session.read();
    expect(compacted).toEqual({ kind: "compacted", frame });
    expect(isSummary(messages[0])).toBe(true);
    expect(tokensIn(messages)).toBeLessThan(tokensIn(before));
    expect(textsOf(messages).slice(1)).toEqual(textsOf(before).slice(-2));
    await ask(world.session, "And now?");
    expect(textsOf(model.turns.at(-1)?.messages ?? [])).toEqual([...textsOf(messages), "And now?"]);
  });

  test("S8 what was answered is not handed on as under way; what was stopped is", async () => {
    const model = windowed({ reply: reads(12), window: 2_000, summary: remembersPages });
    await using world = await open(model, { window: 20_000, auto: false }, { tools: [read] });
    const [stopped] = await ask(world.session, "Read it.");
    expect(stopped?.outcome).toMatchObject({ kind: "answered" }); // The provider reported an overflow, which was compacted away.
    expect((await world.session.compact()).kind).toBe("compacted");
    expect((await world.session.read()).messages[0]?.parts).toHaveLength(1);

    const failing = windowed({
      reply: reads(12),
      window: 2_000,
      summary: (_, asked) => (asked === 1 ? says("") : says("S.")),
    });
    await using other = await open(failing, { window: 20_000, auto: false }, { tools: [read] });
    const [ended] = await ask(other.session, "Read it.");
    expect(ended?.outcome).toMatchObject({ kind: "stopped", code: "limit.context" });
    expect((await other.session.compact()).kind).toBe("compacted");
    expect(wordsIn((await other.session.read()).messages[0])).toMatch(
      /S\.\n\[The user's latest message.*\]\nRead it\.$/,
    );
  });

  test("K8 a provider's overflow triggers it once, and the turn continues", async () => {
    const model = windowed({ window: 2_500 });
    await using world = await open(model, {}); // The plugin takes the window to be 128,000 tokens.
    const results = await ask(world.session, ...repeat(6, (n) => `${n}: ${long(450)}`));
    expect(results.map(({ outcome }) => outcome.kind)).toEqual(repeat(6, () => "answered"));
    expect(model.overflows).toBe(model.compactions);
    expect(model.overflows).toBeGreaterThanOrEqual(1);
    expect(textsOf((await world.session.read()).messages).at(-2)).toMatch(/^6: /);
  });

  test("K8 auto: false leaves it to the app and to the provider", async () => {
    const model = windowed({ window: 6_000 });
    await using world = await open(model, { ...SMALL, auto: false }, { tools: [read] });
    await ask(world.session, ...repeat(10, (n) => `${n}: ${long(500)}`));
    expect(model.summaries).toEqual([]);
    expect((await world.session.query(rollingHistory, "measure")).share).toBeGreaterThan(1);
    expect((await world.session.compact()).kind).toBe("compacted");
    while ((await world.session.compact()).kind === "compacted"); // Ends when nothing is left to compact.
    const { compactions } = model;
    expect(compactions).toBeLessThan(4);
    await ask(world.session, ...repeat(12, (n) => `${n}: ${long(500)}`));
    expect([model.overflows, model.compactions]).toEqual([1, compactions + 1]);
  });

  test("S8 a summary that another version wrote is read without the heading it had there", () => {
    const text =
      "[A summary of the conversation so far, which takes the place of all messages.]\n\nThey agreed [at last].";
    const origin = { kind: "plugin", plugin: "bowline/rolling-history" } as const;
    const message = { id: "trn_1.0", role: "user", parts: [{ kind: "text", text }], origin } as unknown as Message;
    expect(earlierIn([message])?.summary).toBe("They agreed [at last].");
  });

  test("S8 a second summary is made of the first and what came since", async () => {
    const model = windowed({ summary: (_, asked) => says(`The code word ${asked} is kept.`) });
    await using world = await open(model, SMALL);
    await ask(world.session, ...repeat(14, (n) => `${n}: ${long(500)}`));
    expect(model.summaries.length).toBeGreaterThanOrEqual(2);
    const [first, second] = model.summaries;
    expect(first).not.toContain("<summary>");
    expect(second).toContain("<summary>\nThe code word 1 is kept.\n</summary>");
    expect(second).not.toContain("user: 1: word");
    expect(second).not.toContain("a summary of the conversation so far");
    expect(second).toContain("the summary so far and the conversation together");
    const { messages } = await world.session.read();
    expect(textsOf(messages).filter((text) => text.includes("The code word"))).toHaveLength(1);
  });

  test("S8 old frames stay readable, and read() shows the new one", async () => {
    const model = windowed();
    await using world = await open(model, SMALL);
    await ask(world.session, ...repeat(8, (n) => `${n}: ${long(500)}`));
    const nodes = await world.session.history({ max: 1_000 });
    const said = nodes.flatMap((node) => (node.kind === "message" ? [wordsIn(node.message)] : []));
    for (const n of repeat(8, (each) => each)) expect(said.some((text) => text.startsWith(`${n}: `))).toBe(true);
    expect(nodes.find(({ kind }) => kind === "frame")).toMatchObject({ reason: "compaction" });
    const { messages } = await world.session.read();
    expect(textsOf(messages).some((text) => text.startsWith("1: "))).toBe(false);
  });

  test("K8 what summaries cost is booked under compaction", async () => {
    const model = windowed();
    await using world = await open(model, SMALL);
    await ask(world.session, ...repeat(8, (n) => `${n}: ${long(500)}`));
    await world.session.compact();
    const { ledger } = await world.session.read();
    const row = ledger.find(({ source }) => source === "compaction");
    expect(row?.calls).toBe(model.summaries.length);
    expect(row?.usage.input).toBeGreaterThan(model.summaries.length * 500);
    expect(ledger.find(({ source }) => source === "turn")?.calls).toBe(8);
  });

  test("K8 another model can summarise, with separate instructions", async () => {
    const model = windowed();
    const other = windowed({ summary: () => says("By the other.") });
    const models = (name: string) => (name === "other" ? other : undefined);
    const options = { ...SMALL, model: "other", instructions: "Name every ship." };
    await using world = await open(model, options, { models });
    await ask(world.session, ...repeat(8, (n) => `${n}: ${long(500)}`));
    expect(model.summaries).toEqual([]);
    expect(other.turns).toEqual([]);
    expect(other.summaries[0]).toMatch(/Name every ship\.$/);
    expect(wordsIn((await world.session.read()).messages[0])).toContain("By the other.");
  });

  test("K8 instructions of one compaction are in its summary's prompt after those of the plugin, and in no later one", async () => {
    const model = windowed();
    await using world = await open(model, { ...SMALL, auto: false, instructions: "Name every ship." });
    for (const instructions of ["Keep the captain's orders.", undefined]) {
      await ask(world.session, ...repeat(4, (n) => `${n}: ${long(500)}`));
      expect((await world.session.compact({ instructions })).kind).toBe("compacted");
    }
    expect(model.summaries[0]).toMatch(/Name every ship\.\n\nKeep the captain's orders\.$/);
    expect(model.summaries.at(-1)).toMatch(/Name every ship\.$/);
  });
});

describe("when it goes wrong", () => {
  const FAILS = new ProviderFailure({ class: "auth", message: "No key." });

  test("K8 a summary that does not shrink ends typed, after three tries with less each time", async () => {
    const summary = (): ModelAnswer => says(long(4_000, "blah"));
    const model = windowed({ window: 2_500, summariesMax: Infinity, summary });
    await using world = await open(model, {});
    const results = await ask(world.session, ...repeat(6, (n) => `${n}: ${long(450)}`));
    const { outcome, issues } = results.at(-1) as (typeof results)[number];
    expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.context" });
    expect(issues).toMatchObject([{ plugin: "bowline/rolling-history", code: "compact.useless" }]);
    expect(model.summaries.length % 3).toBe(0);
    const words = model.summaries.slice(0, 3).map((prompt) => Number(/at most (\d+) words/.exec(prompt)?.[1]));
    expect(words[0]).toBeGreaterThan(400);
    expect(words.map((count) => Math.round((words[0] as number) / count))).toEqual([1, 2, 4]);
    // Nothing is lost, and the session goes on once a summary succeeds.
    const { messages } = await world.session.read();
    expect(textsOf(messages).filter((text) => /^\d: /.test(text))).toHaveLength(6);
  });

  test("K8 a summary that fails before the window is full is reported, and the turn continues without it", async () => {
    const model = windowed({ summary: () => FAILS });
    await using world = await open(model, SMALL);
    const results = await ask(world.session, ...repeat(8, (n) => `${n}: ${long(500)}`));
    expect(results.map(({ outcome }) => outcome.kind)).toEqual(repeat(8, () => "answered"));
    const issues = results.flatMap((result) => result.issues ?? []);
    expect(issues[0]).toMatchObject({ plugin: "bowline/rolling-history", code: expect.stringMatching(/./) });
    expect(issues[0]?.message).toContain("No key.");
    expect((await world.session.read()).frame).toBeUndefined();
  });

  test("K8 one that fails is not tried again before the conversation has grown", async () => {
    const model = windowed({
      summary: () => FAILS,
      reply: (_, asked) => (asked % 10 === 0 ? says("Ok.") : calls("tick")),
    });
    const tick = defineTool({ name: "tick", description: "Ticks.", input: EMPTY, execute: () => "tock" });
    await using world = await open(model, { window: 20_000, reserve: 1_000 }, { tools: [tick] });
    await world.session.append(repeat(20, () => ({ kind: "message", role: "user", text: long(1_000) })));
    await ask(world.session, "Tick ten times.");
    expect(model.summaries).toHaveLength(1);
  });

  test("K8 a summary that fails when the window is full ends typed, and nothing is lost", async () => {
    const model = windowed({ window: 2_500, summary: () => FAILS });
    await using world = await open(model, {});
    const results = await ask(world.session, ...repeat(6, (n) => `${n}: ${long(450)}`));
    expect(results.at(-1)?.outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.context" });
    expect(results.at(-1)?.issues?.[0]?.message).toContain("No key.");
    expect((await world.session.read()).frame).toBeUndefined();
    await expect(world.session.compact()).rejects.toThrow(/No key/);
  });

  test.each<readonly [string, ModelAnswer]>([
    ["returns nothing", says("")],
    ["refuses", ends("refused", "I will not.")],
  ])("K8 a model that %s has made no summary", async (_, said) => {
    const model = windowed({ window: 2_500, summary: () => said });
    await using world = await open(model, {});
    const results = await ask(world.session, ...repeat(6, (n) => `${n}: ${long(450)}`));
    expect(results.at(-1)?.outcome).toMatchObject({ code: "limit.context" });
    expect(results.at(-1)?.issues?.[0]?.message).toContain("gave no summary");
  });

  test("K8 a summary that was cut off counts, and states that it was cut off", async () => {
    const model = windowed({ summary: () => ends("length", "So far the") });
    await using world = await open(model, SMALL);
    await ask(world.session, ...repeat(8, (n) => `${n}: ${long(500)}`));
    expect(wordsIn((await world.session.read()).messages[0])).toMatch(/So far the\n\[The summary ends here .*\]$/);
  });

  test("K8 a turn that is cancelled while it is compacted ends so, and nothing is changed", async () => {
    const begun = Promise.withResolvers<void>();
    const model = windowed();
    const slow = {
      id: "slow",
      modelId: "test",
      async *stream(_: ModelRequest, { signal }: { readonly signal: AbortSignal }): AsyncIterable<ModelPart> {
        begun.resolve();
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
        throw new ProviderFailure({ class: "cancelled", message: "Aborted." });
      },
    };
    await using world = await open(model, { ...SMALL, model: "slow" }, { models: () => slow });
    await world.session.append(repeat(8, () => ({ kind: "message", role: "user", text: long(450) })));
    const turn = world.session.turn("Well?");
    await begun.promise;
    await world.session.cancel(await turn.id);
    expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    expect((await world.session.read()).frame).toBeUndefined();
    expect(model.turns).toEqual([]);
  });

  test("K8 what does not fit one call is summarised in parts, each with the summary of those before", async () => {
    const model = windowed({ window: 3_000 });
    await using world = await open(model, { window: 3_000, reserve: 500 });
    await world.session.append(repeat(20, (n) => ({ kind: "message", role: "user", text: `${n}: ${long(300)}` })));
    const [result] = await ask(world.session, "Well?");
    expect(result?.outcome.kind).toBe("answered");
    expect(model.overflows).toBe(0);
    expect(model.summaries.length).toBeGreaterThan(2);
    expect(model.summaries[0]).toContain(`Part 1 of ${model.summaries.length} of the conversation`);
    expect(model.summaries[1]).toContain("<summary>\nSummary 1.\n</summary>");
  });

  test("K8 parts are bounded: of far too much the oldest is left out, with a note", async () => {
    const model = windowed({ window: 3_000 });
    await using world = await open(model, { window: 3_000, reserve: 500 });
    await world.session.append(repeat(120, (n) => ({ kind: "message", role: "user", text: `${n}: ${long(300)}` })));
    const [result] = await ask(world.session, "Well?");
    expect(result?.outcome.kind).toBe("answered");
    expect(model.summaries).toHaveLength(8);
    expect(model.summaries[0]).toContain("[The beginning of the conversation is left out: it is too long.]");
    expect(model.summaries.join()).toContain("user: 115: word");
  });

  test("K8 a summary that overflows itself is made of smaller parts", async () => {
    const model = windowed({ window: 2_500, summariesMax: 1_500 });
    await using world = await open(model, {});
    await world.session.append(repeat(12, (n) => ({ kind: "message", role: "user", text: `${n}: ${long(300)}` })));
    const [result] = await ask(world.session, "Well?");
    expect(result?.outcome.kind).toBe("answered");
    expect([model.overflows, model.summaryOverflows, model.summaries.length]).toEqual([1, 1, 3]);
    const tiny = windowed({ window: 2_500, summariesMax: 400 });
    await using other = await open(tiny, {});
    await other.session.append(repeat(20, (n) => ({ kind: "message", role: "user", text: `${n}: ${long(300)}` })));
    expect((await ask(other.session, "Well?"))[0]?.outcome).toMatchObject({ code: "limit.context" });
    expect([tiny.overflows, tiny.summaryOverflows]).toEqual([1, 4]);
  });

  test("K8 of one input that is too long by itself the model sees excerpts beside its summary", async () => {
    const model = windowed({ window: 4_000 });
    await using world = await open(model, SMALL);
    const [result] = await ask(world.session, `First words. ${long(8_000)} Last words.`);
    expect(result?.outcome.kind).toBe("answered");
    const [seed] = model.turns[0]?.messages ?? [];
    expect(wordsIn(seed)).toMatch(/First words\..*characters left out.*Last words\.$/s);
    expect(model.summaries.length).toBeGreaterThan(1);
  });

  test("K8 a long input that the model has not seen yet is not summarised while it fits", async () => {
    const model = windowed({ window: 4_000 });
    await using world = await open(model, SMALL);
    await ask(world.session, "Hello.", long(3_200));
    expect(model.summaries).toEqual([]);
    expect(tokensOf(model.turns[1]?.messages.at(-1) as Message)).toBeGreaterThan(3_000);
    await ask(world.session, long(2_500));
    expect(tokensOf(model.turns[2]?.messages.at(-1) as Message)).toBeGreaterThan(2_400);
  });

  test("K8 a long result that the model has not seen yet is carried as it is", async () => {
    const dump = defineTool({ name: "dump", description: "Dumps.", input: EMPTY, execute: () => long(1_500, "dump") });
    const model = windowed({
      window: 4_000,
      reply: ({ messages }) => (messages.at(-1)?.role === "tool" ? says("Seen.") : calls("dump")),
    });
    await using world = await open(model, { ...SMALL, tail: 200 }, { tools: [dump] });
    await world.session.append(repeat(3, () => ({ kind: "message", role: "user", text: long(500) })));
    await ask(world.session, "Dump.");
    const sent = model.turns.at(-1)?.messages ?? [];
    expect(isSummary(sent[0])).toBe(true);
    expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(wordsIn(sent[0])).toMatch(/working on:\]\nDump\.$/);
    expect(tokensOf(sent.at(-1) as Message)).toBeGreaterThan(1_400);
  });

  test("K8 tools that fill the window alone are not compacted away, again and again", async () => {
    const model = windowed();
    const instructions = long(5_000);
    await using world = await open(model, SMALL, { instructions });
    await ask(world.session, ...repeat(6, (n) => `${n}: ${long(100)}`));
    expect(model.summaries.length).toBeLessThan(3);
  });
});

describe("across restarts and forks", () => {
  test("S8 a new process continues in the frame, has the length of its requests, and updates the summary", async () => {
    const path = file();
    const model = windowed({ window: 4_000, reports: () => 0 });
    const instructions = long(1_000);
    const first = await open(model, SMALL, { store: sqlite(path), instructions });
    await ask(first.session, ...repeat(6, (n) => `${n}: ${long(400)}`));
    const before = await first.session.read();
    const measured = await first.session.query(rollingHistory, "measure");
    expect(isSummary(before.messages[0])).toBe(true);
    await first.runtime.close();

    await using later = await open(model, SMALL, { store: sqlite(path), instructions });
    expect((await later.session.read()).messages).toEqual(before.messages);
    const again = await later.session.query(rollingHistory, "measure");
    expect(Math.abs(again.tokens - measured.tokens)).toBeLessThan(40);
    const told = model.summaries.length;
    const results = await ask(later.session, ...repeat(6, (n) => `again ${n}: ${long(400)}`));
    expect(results.map(({ outcome }) => outcome.kind)).toEqual(repeat(6, () => "answered"));
    expect(model.summaries.length).toBeGreaterThan(told);
    expect(model.summaries[told]).toContain(`<summary>\nSummary ${told}.\n</summary>`);
    expect(model.overflows).toBe(0);
  });

  test("S8 the next process resumes a turn that was left in the middle of a long loop, in its frame", async () => {
    const path = file();
    const left = Promise.withResolvers<void>();
    const stuck = windowed({
      window: 4_000,
      summary: remembersPages,
      reply: reads(40),
    });
    const hanging = defineTool({
      name: "read",
      description: "Reads a page.",
      input: jsonSchema<{ readonly page: number }>({ type: "object", properties: { page: { type: "integer" } } }),
      execute: ({ page }) => {
        if (page !== 25) return `Page ${page}: ${long(200)}`;
        left.resolve();
        return new Promise<never>(() => {});
      },
    });
    const limits = { roundsMax: 200 };
    const first = await open(stuck, SMALL, { store: sqlite(path), tools: [hanging], limits });
    first.session
      .turn("Read all pages.", { key: "k" })
      .result()
      .catch(() => {});
    await left.promise;
    expect(stuck.summaries.length).toBeGreaterThan(0);
    await first.runtime.close({ graceMs: 0 });

    const model = windowed({ window: 4_000, reply: reads(40), summary: remembersPages });
    await using later = await open(model, SMALL, { store: sqlite(path), tools: [read], limits });
    const { outcome } = await later.session.turn("Read all pages.", { key: "k" }).result();
    expect(outcome).toMatchObject({ kind: "answered", text: "Read 40 pages." });
    expect(isSummary(model.turns[0]?.messages[0])).toBe(true);
    expect(model.turns.flatMap(({ messages }) => unpairedIn(messages))).toEqual([]);
    expect(model.overflows).toBe(0);
  });

  test("S8 a fork before the frame has the whole conversation, one after it the summary; each goes its own way", async () => {
    const model = windowed();
    await using world = await open(model, SMALL);
    const results = await ask(world.session, ...repeat(4, (n) => `${n}: ${long(400)}`));
    const before = (await world.session.read()).head as string;
    expect(results.every(({ outcome }) => outcome.kind === "answered")).toBe(true);
    await world.session.compact();
    const early = await world.session.fork({ at: before });
    const late = await world.session.fork();
    expect(textsOf((await early.read()).messages)[0]).toMatch(/^1: /);
    expect((await early.read()).messages).toHaveLength(8);
    expect(isSummary((await late.read()).messages[0])).toBe(true);
    await ask(early, "Early?");
    expect(model.turns.at(-1)?.messages).toHaveLength(9);
    await ask(late, ...repeat(6, (n) => `late ${n}: ${long(500)}`));
    expect(model.summaries.at(-1)).toContain("<summary>");
    expect((await world.session.read()).messages).toHaveLength((await late.history({ max: 1 })).length + 2);
  });

  test("S8 what other plugins keep, and the session's tools, survive a compaction", async () => {
    const counter = definePlugin({
      id: "test/counter",
      state: {
        "~standard": {
          version: 1,
          vendor: "test",
          validate: (given: unknown) => ({ value: { turns: (given as { turns?: number }).turns ?? 0 } }),
        },
      },
      setup: ({ query }) => ({
        beforeTurn: ({ state }) => void state.update(({ turns }) => ({ turns: turns + 1 })),
        operations: { turns: query({ run: ({ state }) => state.get().turns }) },
      }),
    });
    const hidden = defineTool({ name: "hidden", description: "Hides.", input: EMPTY, execute: () => "found" });
    const model = windowed();
    await using world = await open(model, SMALL, { plugins: [counter], tools: [read, hidden] });
    await ask(world.session, "Begin.");
    await world.session.tools.set("hidden", "off");
    await ask(world.session, ...repeat(8, (n) => `${n}: ${long(500)}`));
    expect(model.summaries.length).toBeGreaterThan(0);
    expect(await world.session.query(counter, "turns")).toBe(9);
    expect(model.turns.at(-1)?.tools.map(({ name }) => name)).toEqual(["read"]);
  });

  test("S8 a frame that was opened for a task keeps the task", async () => {
    const hand = defineTool({
      name: "hand",
      description: "Hands over.",
      input: EMPTY,
      execute: () => switchFrame("Read all pages of the book."),
    });
    const model = windowed({
      window: 4_000,
      summary: remembersPages,
      reply: (request, asked) => (asked === 1 ? calls("hand") : reads(30)(request)),
    });
    await using world = await open(model, SMALL, { tools: [read, hand], limits: { roundsMax: 200 } });
    const [result] = await ask(world.session, "Begin.");
    expect(result?.outcome).toMatchObject({ kind: "answered", text: "Read 30 pages." });
    expect(model.summaries.length).toBeGreaterThan(1);
    for (const { messages } of model.turns.slice(1))
      expect(textsOf(messages).join()).toContain("Read all pages of the");
  });
});

describe("options", () => {
  test.each<readonly [object, RegExp]>([
    [{ window: 10 }, /window must be a whole number from 1000/],
    [{ window: "big" }, /window/],
    [{ window: 2_000, reserve: 2_000 }, /reserve must be a whole number from 0 to 1999/],
    [{ window: 2_000, reserve: 500, tail: 1_501 }, /tail must be a whole number from 0 to 1500/],
    [{ pruneAt: 0 }, /pruneAt/],
    [{ pruneAt: 1.1 }, /pruneAt/],
    [{ keepTurns: 0 }, /keepTurns/],
    [{ auto: "yes" }, /auto/],
    [{ model: "" }, /model/],
    [{ instructions: 7 }, /instructions/],
    [{ windows: 1 }, /there is no field windows/],
  ])("K8 %o is refused", (options, problem) => {
    expect(() => rollingHistory(options as RollingHistoryOptions)).toThrow(problem);
  });

  test("K8 all of them have a default, also for a small window", () => {
    expect(() => rollingHistory({})).not.toThrow();
    expect(() => rollingHistory({ window: 1_000 })).not.toThrow();
  });
});

// ── Laws ────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Turned {
  readonly words: number;
  readonly pictures: number;
  /** The number of calls in each round before the answer. */
  readonly rounds: readonly number[];
  readonly result: number;
  readonly compacts: boolean;
}
const turned: fc.Arbitrary<Turned> = fc.record({
  words: fc.integer({ min: 1, max: 700 }),
  pictures: fc.integer({ min: 0, max: 2 }),
  rounds: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 6 }),
  result: fc.integer({ min: 1, max: 150 }),
  compacts: fc.boolean(),
});

test("K8 S8 after any compaction the request is paired, smaller and within the window, and every turn is answered", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(turned, { minLength: 1, maxLength: 8 }),
      fc.record({ tail: fc.integer({ min: 0, max: 2_000 }), keepTurns: fc.integer({ min: 1, max: 3 }) }),
      async (turns, { tail, keepTurns }) => {
        const window = 12_000;
        let left: number[] = [];
        const fetch = defineTool({
          name: "fetch",
          description: "Fetches.",
          input: jsonSchema<{ readonly size: number }>({ type: "object" }),
          execute: ({ size }) => (size % 5 === 0 ? picture() : long(size, "got")),
        });
        let now = turns[0] as Turned;
        const model = windowed({
          window,
          reply: () => {
            const count = left.shift();
            if (count === undefined) return says("Done.");
            return both(...repeat(count, (n) => calls("fetch", { size: now.result + n })));
          },
        });
        await using world = await open(
          model,
          { window, reserve: 4_500, tail, keepTurns },
          { tools: [fetch], limits: { roundsMax: 100 } },
        );
        for (const turn of turns) {
          now = turn;
          left = [...turn.rounds];
          const { outcome } = await world.session
            .turn([long(turn.words), ...repeat(turn.pictures, (n) => picture(`${n}`))])
            .result();
          expect(outcome).toMatchObject({ kind: "answered" });
          if (!turn.compacts) continue;
          const before = await world.session.read();
          const { kind } = await world.session.compact();
          const after = await world.session.read();
          expect(unpairedIn(after.messages)).toEqual([]);
          if (kind === "compacted") expect(tokensIn(after.messages)).toBeLessThan(tokensIn(before.messages));
          else expect(after.messages).toEqual(before.messages);
        }
        expect(model.overflows).toBe(0);
        for (const { messages } of model.turns) expect(unpairedIn(messages)).toEqual([]);
      },
    ),
    { numRuns: sample(20, 60) },
  );
}, 60_000);

test("K8 wherever it cuts, what follows is whole, and what the user said last is carried or handed on", () => {
  const conversation = fc
    .array(
      fc.oneof(
        fc.record({ kind: fc.constant("said" as const), tokens: fc.integer({ min: 1, max: 400 }) }),
        fc.record({
          kind: fc.constant("worked" as const),
          calls: fc.integer({ min: 1, max: 3 }),
          tokens: fc.integer({ min: 1, max: 400 }),
        }),
        fc.record({ kind: fc.constant("answered" as const), tokens: fc.integer({ min: 1, max: 50 }) }),
      ),
      { minLength: 1, maxLength: 30 },
    )
    .map((steps) =>
      steps
        .flatMap((step): readonly Pick<Message, "role" | "parts">[] => {
          const parts: readonly Part[] = [{ kind: "text", text: long(step.tokens) }];
          if (step.kind === "said") return [{ role: "user", parts }];
          if (step.kind === "answered") return [{ role: "assistant", parts }];
          const ids = repeat(step.calls, (n) => `c${n}` as never);
          return [
            { role: "assistant", parts: ids.map((callId) => ({ kind: "toolCall", callId, name: "x", input: {} })) },
            {
              role: "tool",
              parts: ids.map((callId) => ({ kind: "toolResult", callId, name: "x", status: "ok", parts: [] })),
            },
          ];
        })
        .map((message, index) => ({ ...message, id: `m.${index}` as Message["id"] })),
    );
  const size = fc.integer({ min: 0, max: 3_000 });
  fc.assert(
    fc.property(conversation, fc.record({ tail: size, turn: size, last: size, summary: size }), (messages, room) => {
      const { at, request } = cutOf(messages, 0, room, undefined);
      expect(at).toBeGreaterThanOrEqual(0);
      expect(at).toBeLessThanOrEqual(messages.length);
      expect(messages[at]?.role).not.toBe("tool");
      expect(unpairedIn(messages.slice(at))).toEqual([]);
      const last = messages.findLastIndex(({ role }) => role === "user");
      const isAnswered = messages.at(-1)?.role === "assistant" && unpairedIn(messages).length === 0;
      if (last >= 0 && last < at && !isAnswered) expect(request).toBe(messages[last]?.parts);
      else expect(request).toEqual([]);
    }),
    { numRuns: sample(150, 500) },
  );
});

test("K8 pruning changes nothing but older attachments, and is the same each time", () => {
  const attachment = { kind: "attachment", hash: "h" as never, mediaType: "image/png", bytes: 9 } as const;
  const message = fc.record({
    role: fc.constantFrom("user" as const, "assistant" as const),
    count: fc.integer({ min: 0, max: 2 }),
  });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 20 }), fc.integer({ min: 1, max: 3 }), (given, keep) => {
      const messages = given.map(
        ({ role, count }, index): Message => ({
          id: `m.${index}` as Message["id"],
          role,
          parts: [{ kind: "text", text: "Hi." }, ...repeat(count, () => attachment)],
        }),
      );
      const pruned = prune(messages, keep);
      expect(pruned.map(({ id, role, parts }) => [id, role, parts.length])).toEqual(
        messages.map(({ id, role, parts }) => [id, role, parts.length]),
      );
      expect(tokensIn(pruned)).toBeLessThanOrEqual(tokensIn(messages));
      for (const [index, each] of prune(messages, keep).entries()) expect(each).toBe(pruned[index]);
      expect(prune(pruned, keep)).toBe(pruned);
    }),
  );
});

test("E3 an estimate counts system, tools and messages", () => {
  const tools = [{ name: "read", description: long(100), inputSchema: {} }];
  const messages: readonly Message[] = [
    { id: "m.0" as Message["id"], role: "user", parts: [{ kind: "text", text: long(50) }] },
    {
      id: "m.1" as Message["id"],
      role: "user",
      parts: [
        { kind: "attachment", hash: "h" as never, mediaType: "image/png", bytes: 5_000_000 },
        { kind: "attachment", hash: "h" as never, mediaType: "text/plain", bytes: 4_000 },
      ],
    },
  ];
  const whole = tokensOfRequest({ system: long(200), tools, messages });
  expect(whole).toBeGreaterThan(200 + 100 + 50 + 1_200 + 1_000);
  expect(whole).toBeLessThan(200 + 100 + 50 + 1_200 + 1_000 + 40);
});
