// What plugins are given cannot be changed in place: neither the conversation nor an outcome nor a bill.
import { definePlugin, defineTool, type Message, type Plugin, type Store, type TelemetryEvent } from "bowline";
import type { HookName } from "bowline/plugin";
import type { Provider } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { call, end, endInCalls, text } from "../kit/models.ts";
import { STORES } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";
import { open } from "../kit/worlds.ts";

/** All hooks that are given anything besides services. */
const SEEING = [
  "context",
  "compact",
  "toolCatalog",
  "beforeTurn",
  "checkpoint",
  "afterTurn",
  "request",
  "stream",
  "response",
  "streamFinished",
  "beforeToolCall",
  "afterToolCall",
  "projectResult",
  "config",
  "lifecycle",
  "prompt",
] as const satisfies readonly HookName[];

type Fields = { [field: string]: unknown };
const isThing = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !(value instanceof AbortSignal);

/** Every object that can be reached, each once, with the path to it. */
function reachable(from: unknown): readonly (readonly [path: string, thing: Fields])[] {
  const found = new Map<Fields, string>();
  const walk = (value: unknown, path: string): void => {
    if (!isThing(value) || found.has(value)) return;
    found.set(value, path);
    for (const [field, each] of Object.entries(value)) walk(each, `${path}.${field}`);
  };
  walk(from, "");
  return [...found].map(([thing, path]) => [path, thing]);
}

const CHANGES: readonly ((thing: Fields, field: string) => unknown)[] = [
  (thing, field) => (thing[field] = "forged"),
  (thing, field) => delete thing[Object.hasOwn(thing, field) ? field : (Object.keys(thing)[0] ?? absent())],
  (thing) => (Array.isArray(thing) ? thing.push("forged") : Object.assign(thing, { forged: true })),
  (thing) => Object.setPrototypeOf(thing, { forged: true }),
  (thing, field) => Object.defineProperty(thing, field, { get: () => "forged" }),
];

const absent = (): never => {
  throw new TypeError("There is nothing to delete.");
};

/** Tries every change on every object of the data that it is given, also of what it can read. Says which took effect. */
function meddle(event: object, change: (typeof CHANGES)[number]): readonly string[] {
  const {
    session,
    catalog,
    sessions,
    signal: _,
    ...seen
  } = event as Fields & {
    session?: { read(): object };
    catalog?: { list(): object };
  };
  void sessions;
  const data = Object.entries({ ...seen, read: session?.read(), tools: seen.tools ?? catalog?.list() }).filter(
    ([field, value]) => isThing(value) && !SERVICES.has(field),
  );
  const changed: string[] = [];
  for (const [path, thing] of reachable(Object.fromEntries(data))) {
    // The event itself and the list of a request's messages are the handler's own.
    if (path === "" || path === ".request.messages") continue;
    for (const field of [...Object.keys(thing), "more"])
      try {
        change(thing, field);
        changed.push(`${path}.${field}`);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
  }
  return changed;
}
const SERVICES = new Set([
  "graph",
  "jobs",
  "complete",
  "membership",
  "blobs",
  "trace",
  "monitors",
  "triggers",
  "state",
]);

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({ at: z.object({ page: z.number() }) }),
  execute: ({ at }) => ({ found: [{ page: at.page }] }),
});

/** What a provider in this process gives is shared with whoever made it. */
const model = (): Provider => {
  let asked = 0;
  return {
    id: "shared",
    modelId: "test",
    async *stream() {
      asked++;
      if (asked % 2 === 0) return yield [text("Two pages."), end];
      yield text("Hm.");
      yield call("look", { at: { page: asked } }, `call_${asked}`);
      yield endInCalls;
    },
  };
};

/** Two turns with a call each, a change of the config, and a compaction that nobody makes. */
async function told(store: Store, plugin: Plugin) {
  await using world = await open(model(), {
    store,
    plugins: [plugin],
    tools: [look],
    settings: { providerOptions: { shared: { deep: { value: 1 } } } },
  });
  const { session, runtime } = world;
  const results: unknown[] = [];
  for (const input of ["One.", "Two."]) {
    const { turnId: _, outcome, ...rest } = await session.turn(input).result();
    results.push(nameless(outcome), rest);
  }
  await session.configure({ settings: { temperature: 0.5 } });
  await session.compact();
  const view = await session.read();
  const { ledger, usage } = await runtime.sessions.usage(session.id);
  return {
    results,
    messages: nameless(view.messages),
    config: view.config,
    usage: [view.usage, view.ledger, usage, ledger.map(({ sessionId: _, ...row }) => row)],
  };
}
/** Without ids, which are made anew in every run. */
const nameless = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, each) => (key === "id" || key === "origin" ? undefined : each)));

describe.each(STORES)("on %s", (_, make) => {
  test.each(SEEING)(
    "K1 whatever `%s` tries to change in place stays as it is: history, outcome, usage",
    async (hook) => {
      let heard = 0;
      const idle = definePlugin({ id: "a/idle", setup: () => ({ [hook]: () => plain(hook) }) as object });
      const untouched = await told(make(), idle);
      for (const change of CHANGES) {
        const changed: string[] = [];
        const handler = (event: object) => {
          heard++;
          changed.push(...meddle(event, change));
          return plain(hook);
        };
        const meddler = definePlugin({ id: "a/meddler", setup: () => ({ [hook]: handler }) as object });
        expect(await told(make(), meddler)).toEqual(untouched);
        expect(changed).toEqual([]);
      }
      expect(heard).toBeGreaterThan(0);
    },
  );
});
/** The one hook that must answer. */
const plain = (hook: HookName): unknown => (hook === "projectResult" ? [{ kind: "text", text: "Shown." }] : undefined);

// ── Who did it ──────────────────────────────────────────────────────────────────────────────────────────────────────

// biome-ignore lint/suspicious/noExplicitAny: forgers do not ask for types
type Forged = any;
const FORGERIES: { readonly [hook: string]: (event: Forged) => void } = {
  context: ({ context }) => void (context.messages[0].parts[0].text = "forged"),
  request: ({ request }) => void (request.messages[0].parts[0].text = "forged"),
  response: ({ reply }) => void (reply.usage.input = 0),
  beforeTurn: ({ input }) => void input.parts.push({}),
  checkpoint: ({ session }) => void session.read().messages.pop(),
  afterTurn: ({ report }) => void (report.usage.input = 0),
  beforeToolCall: ({ call: given }) => void (given.input.at.page = 7),
  afterToolCall: ({ output }) => void (output.value.found = []),
  lifecycle: ({ event }) => {
    if ("report" in event) event.report.outcome.text = "forged";
  },
};

test.each(Object.keys(FORGERIES))(
  "K1 a change in place in `%s` throws, and the error names its plugin",
  async (hook) => {
    const traces: TelemetryEvent[] = [];
    const forger = definePlugin({ id: "a/forger", setup: () => ({ [hook]: FORGERIES[hook] }) as object });
    await using world = await open(model(), {
      plugins: [forger],
      tools: [look],
      telemetry: onEvent((record) => void traces.push(record)),
    });
    const { outcome, issues } = await world.session.turn("One.").result();
    const said = JSON.stringify([outcome, issues, traces]);
    expect(said).toMatch(new RegExp(`a/forger failed in ${hook}: Cannot (assign|add|delete)`));
  },
);

// ── What else they can read ─────────────────────────────────────────────────────────────────────────────────────────

test("K1 a request's list of messages is the handlers' own; the messages in it are not", async () => {
  const adds = definePlugin({
    id: "a/adds",
    setup: () => ({
      request: ({ request }) => {
        (request.messages as Message[]).unshift({ ...(request.messages[0] as Message), id: "extra" as Message["id"] });
      },
    }),
  });
  const replies = scripted(says("One."), says("Two."));
  await using world = await open(replies, { plugins: [adds] });
  await world.session.turn("Go.").result();
  await world.session.turn("Go on.").result();
  expect(replies.requests.map(({ messages }) => messages.length)).toEqual([2, 4]);
  expect((await world.session.read()).messages).toHaveLength(4);
});

test("K1 tools that a `context` hook lends stay alive: they may change what they hold", async () => {
  const counter = { ...look, name: "count", calls: 0, run: () => ++counter.calls };
  const lends = definePlugin({
    id: "a/lends",
    setup: () => ({ context: ({ context }) => ({ ...context, tools: [...(context.tools ?? []), counter] }) }),
  });
  const sees = definePlugin({ id: "b/sees", setup: () => ({ context: () => {} }) });
  const input = { at: { page: 1 } };
  await using world = await open(scripted(calls("count", input), calls("count", input), says("Done.")), {
    plugins: [lends, sees],
  });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered" });
  expect(counter.calls).toBe(2);
});

test("K1 what an app configures with stays the app's: a hook that is shown it freezes a copy", async () => {
  const settings = { providerOptions: { shared: { deep: { value: 1 } } } };
  const sees = definePlugin({
    id: "a/sees",
    setup: () => ({ request: () => {}, config: () => {}, lifecycle: () => {} }),
  });
  await using world = await open(scripted(says("One.")), { plugins: [sees], settings });
  const own = { settings: { temperature: 1, stopSequences: ["x"] } };
  const session = await world.runtime.session("own", { config: own });
  const patch = { settings: { ...own.settings, topP: 1 } };
  await session.configure(patch);
  await session.turn("Go.").result();
  for (const [, thing] of reachable([settings, own, patch])) expect(Object.isFrozen(thing)).toBe(false);
});

test("K1 the usage of a completion that a tool asked for is billed as it was", async () => {
  const asks = defineTool({
    name: "asks",
    description: "Asks.",
    input: z.object({}),
    execute: async (_, { complete }) => {
      const reply = await complete.reply({ messages: [{ role: "user", parts: [{ kind: "text", text: "Hm?" }] }] });
      (reply.usage as { output: number }).output = 0;
    },
  });
  await using world = await open(scripted(calls("asks"), says("Yes."), says("Done.")), { tools: [asks] });
  await world.session.turn("Go.").result();
  const { ledger } = await world.session.read();
  expect(ledger?.find(({ source }) => source === "direct")?.usage.output).toBeGreaterThan(0);
});

test("K1 handlers see the whole conversation however it grows and whichever code froze it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom("read", "plain", "compact"), { maxLength: 6 }), async (turns) => {
      let reads = false;
      const reader = definePlugin({
        id: "a/reader",
        setup: () => ({
          checkpoint: ({ session }) => void (reads && session.read()),
          compact: ({ messages }) =>
            messages.length > 3 ? [{ role: "user", parts: [{ kind: "text", text: "…" }] }] : [],
        }),
      });
      await using world = await open(model(), { plugins: [reader], tools: [look], store: memory() });
      let length = 0;
      for (const turn of turns) {
        reads = turn === "read";
        if (turn === "compact") length = (await world.session.compact()).kind === "compacted" ? 1 : length;
        else length += (await world.session.turn("Go.").result()).outcome.kind === "answered" ? 4 : Number.NaN;
        expect((await world.session.read()).messages).toHaveLength(length);
      }
    }),
    { numRuns: 40 },
  );
});
