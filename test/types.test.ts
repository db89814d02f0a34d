import { type } from "arktype";
import {
  createRuntime,
  definePlugin,
  defineTool,
  described,
  finish,
  hasCode,
  type JobId,
  type JobRecord,
  type Json,
  jsonSchema,
  type Message,
  type Plugin,
  type RuntimeOptions,
  type Session,
  type SessionEvent,
  type Tool,
  type TurnId,
  type TurnOutcome,
} from "bowline";
import {
  abortTurn,
  deny,
  emitEvent,
  enqueueMessages,
  type Failed,
  type JobContext,
  type JobState,
  type Jobs,
  point,
  replaceArgs,
  replaceResult,
  type Stopped,
  shortCircuit,
  type TaskJob,
  type ToolOutput,
} from "bowline/plugin";
import type { LanguageModel, ModelPart, Provider } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { all, NOTE, type Port, type Rule, SESSION, type SessionRow, WAIT, type WaitRow } from "bowline/stores/rules";
import { scripted } from "bowline/testing";
import * as v from "valibot";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { anthropic } from "./wire/anthropic.ts";
import { google } from "./wire/google.ts";
import { openai } from "./wire/openai.ts";

/**
 * What the compiler knows. The bodies are compiled, not run: a line that should not compile says so, and becomes an
 * error of `tsc` when it does.
 */
const compiled = (_: (session: Session) => unknown): void => {
  expect(true).toBe(true);
};

// ── Tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test("T1 a tool's arguments are typed by its schema: zod, arktype, JSON Schema by promise, and raw JSON Schema", () =>
  compiled(() => {
    defineTool({
      name: "a",
      description: "",
      input: z.object({ city: z.string(), days: z.number().default(3) }),
      execute: (input, { signal, attempt, idempotencyKey }) => {
        expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>();
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
        expectTypeOf(attempt).toEqualTypeOf<number>();
        expectTypeOf(idempotencyKey).toEqualTypeOf<string>();
        return input.city;
      },
    });
    defineTool({
      name: "a",
      description: "",
      input: type({ city: "string", "days?": "number" }),
      execute: (input) => {
        expectTypeOf(input.city).toEqualTypeOf<string>();
        expectTypeOf(input.days).toEqualTypeOf<number | undefined>();
      },
    });
    defineTool({
      name: "a",
      description: "",
      input: jsonSchema<{ city: string }>({ type: "object" }),
      execute: (input) => expectTypeOf(input).toEqualTypeOf<{ city: string }>(),
    });
    defineTool({
      name: "a",
      description: "",
      input: { type: "object", properties: { city: { type: "string" } } },
      execute: (input) => expectTypeOf(input).toEqualTypeOf<unknown>(),
    });
  }));

test("T1 a zod schema that transforms is typed by what it makes", () =>
  compiled(() => {
    defineTool({
      name: "a",
      description: "",
      input: z.object({ at: z.string().transform((words) => words.length) }),
      execute: ({ at }) => expectTypeOf(at).toEqualTypeOf<number>(),
    });
  }));

test("T1 a schema that cannot describe itself needs to be described", () =>
  compiled(() => {
    const schema = v.object({ city: v.string() });
    // @ts-expect-error a valibot schema has no JSON Schema
    defineTool({ name: "a", description: "", input: schema, execute: () => "" });
    defineTool({
      name: "a",
      description: "",
      input: described(schema, { type: "object" }),
      execute: (input) => expectTypeOf(input).toEqualTypeOf<{ city: string }>(),
    });
  }));

test("T1 a tool declares its return value, and can end the turn", () =>
  compiled(() => {
    const tool = defineTool({
      name: "a",
      description: "",
      input: z.object({}),
      output: z.object({ total: z.number() }),
      execute: () => (Math.random() > 2 ? finish({ done: true }) : { total: 1 }),
    });
    expectTypeOf(tool).toExtend<Tool>();
    defineTool({
      name: "a",
      description: "",
      input: z.object({}),
      output: z.object({ total: z.number() }),
      // @ts-expect-error the total is a number
      execute: () => ({ total: "one" }),
    });
    // @ts-expect-error a tool outside of a plugin has no state
    defineTool({ name: "a", description: "", input: z.object({}), execute: (_, { state }) => state });
    // @ts-expect-error there is no such policy
    defineTool({ name: "a", description: "", input: z.object({}), retry: "always", execute: () => 1 });
  }));

// ── Plugins ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const STATE = z.object({ calls: z.number().default(0) });

test("K16 a plugin's options and state are typed in its setup, its hooks and its tools", () =>
  compiled(() => {
    const plugin = definePlugin({
      id: "a/a",
      options: z.object({ max: z.number().default(3) }),
      state: STATE,
      open: ({ options }) => {
        expectTypeOf(options).toEqualTypeOf<{ max: number }>();
        return { socket: 1 };
      },
      close: (shared) => {
        expectTypeOf(shared).toEqualTypeOf<{ socket: number }>();
      },
      setup: ({ options, shared, session, tool }) => {
        expectTypeOf(options).toEqualTypeOf<{ max: number }>();
        expectTypeOf(shared).toEqualTypeOf<{ socket: number }>();
        expectTypeOf(session.isRoot).toEqualTypeOf<boolean>();
        return {
          beforeTurn: ({ state, input, session: reading }) => {
            expectTypeOf(state.get()).toEqualTypeOf<{ calls: number }>();
            expectTypeOf(input).toEqualTypeOf<Message>();
            expectTypeOf(reading.read().turns).toEqualTypeOf<number>();
            state.update(({ calls }) => ({ calls: calls + 1 }));
          },
          afterToolCall: ({ output }) => {
            expectTypeOf(output).toEqualTypeOf<ToolOutput>();
          },
          tools: [
            tool({
              name: "a",
              description: "",
              input: z.object({ n: z.number() }),
              execute: ({ n }, { state }) => {
                expectTypeOf(n).toEqualTypeOf<number>();
                return state.get().calls;
              },
            }),
          ],
        };
      },
    });
    expectTypeOf(plugin({ max: 1 })).toExtend<Plugin>();
    plugin({});
    // @ts-expect-error the maximum is a number
    plugin({ max: "many" });
    const list: readonly Plugin[] = [plugin, plugin({})];
    return list;
  }));

test("K16 a plugin without options is called without any, and one without a state has none", () =>
  compiled(() => {
    const plugin = definePlugin({
      id: "a/a",
      setup: () => ({
        // @ts-expect-error there is no state
        beforeTurn: ({ state }) => state,
      }),
    });
    plugin();
    // @ts-expect-error it takes none
    plugin({ max: 1 });
  }));

test("K10 a misspelt hook does not compile", () =>
  compiled(() => {
    // @ts-expect-error `beforeToolcall` is not a hook
    definePlugin({ id: "a/a", setup: () => ({ beforeToolcall: () => undefined }) });
    // @ts-expect-error it is not a hook among others either
    definePlugin({ id: "a/a", setup: () => ({ beforeTurn: () => undefined, onTurn: () => undefined }) });
  }));

test("K10 a directive that a hook must not give does not compile", () =>
  compiled(() => {
    definePlugin({
      id: "a/a",
      setup: () => ({ beforeTurn: () => [abortTurn("a", "b"), enqueueMessages("c"), emitEvent("d")] }),
    });
    definePlugin({
      id: "a/a",
      setup: () => ({ beforeToolCall: async () => [deny("a"), shortCircuit(1), replaceArgs({})] }),
    });
    definePlugin({
      id: "a/a",
      setup: () => ({ afterToolCall: [() => replaceResult(1), { order: "late", run: () => undefined }] }),
    });
    // @ts-expect-error a turn is not denied
    definePlugin({ id: "a/a", setup: () => ({ beforeTurn: () => deny("No.") }) });
    // @ts-expect-error it is too late to abort
    definePlugin({ id: "a/a", setup: () => ({ afterTurn: () => abortTurn("a", "b") }) });
    // @ts-expect-error a call is aborted, a turn is not, at a tool seam
    definePlugin({ id: "a/a", setup: () => ({ beforeToolCall: () => [abortTurn("a", "b")] }) });
    // @ts-expect-error it has run already
    definePlugin({ id: "a/a", setup: () => ({ afterToolCall: async () => shortCircuit(1) }) });
    // @ts-expect-error observers answer nothing
    definePlugin({ id: "a/a", setup: () => ({ lifecycle: () => emitEvent("a") }) });
    // @ts-expect-error the catalog is built without waiting
    definePlugin({ id: "a/a", setup: () => ({ toolCatalog: async () => ({ tool: "a", hide: true as const }) }) });
    // @ts-expect-error there is no such order
    definePlugin({ id: "a/a", setup: () => ({ beforeTurn: { order: "first", run: () => undefined } }) });
  }));

const pay = defineTool({
  name: "pay",
  description: "",
  input: z.object({ id: z.string(), cents: z.number().default(1), on: z.string().transform(Number).optional() }),
  execute: ({ cents }) => cents,
});
const mail = defineTool({ name: "mail", description: "", input: type({ to: "string" }), execute: () => 1 });
const raw = defineTool({ name: "raw", description: "", input: { type: "object" }, execute: () => 1 });

test("K10 a gate is typed by its tools: the input as the model sends it, told apart by name", () =>
  compiled(() => {
    definePlugin({
      id: "a/a",
      state: STATE,
      setup: () => ({
        beforeToolCall: {
          tools: [pay],
          order: "early",
          run({ call, state, sessionId }) {
            expectTypeOf(call.input).toEqualTypeOf<{
              id: string;
              cents?: number | undefined;
              on?: string | undefined;
            }>();
            expectTypeOf(call.name).toEqualTypeOf<"pay">();
            expectTypeOf(sessionId).toExtend<string>();
            expectTypeOf(state.get().calls).toEqualTypeOf<number>();
            return deny(call.input.id);
          },
        },
        afterToolCall: {
          tools: [pay, mail, raw, "other"],
          run: ({ call, output }) => {
            if (call.name === "pay") expectTypeOf(call.input.id).toEqualTypeOf<string>();
            if (call.name === "mail") expectTypeOf(call.input).toEqualTypeOf<{ to: string }>();
            if (call.name === "raw" || call.name === "other") expectTypeOf(call.input).toEqualTypeOf<Json>();
            expectTypeOf(output).toEqualTypeOf<ToolOutput>();
          },
        },
      }),
    });
    definePlugin({
      id: "a/a",
      state: STATE,
      setup: ({ tool, gate }) => {
        const own = tool({ name: "own", description: "", input: z.object({ n: z.number() }), execute: () => 1 });
        return {
          tools: [own],
          beforeToolCall: gate("beforeToolCall", {
            tools: [own],
            run: ({ call, state }) => {
              expectTypeOf(call.input).toEqualTypeOf<{ n: number }>();
              state.update((now) => now);
            },
          }),
          afterToolCall: [
            ({ call }) => void expectTypeOf(call.input).toEqualTypeOf<Json>(),
            gate("afterToolCall", {
              tools: [pay],
              run: ({ call }) => void expectTypeOf(call.name).toEqualTypeOf<"pay">(),
            }),
            gate("afterToolCall", {
              tools: [own],
              run: ({ call }) => void expectTypeOf(call.name).toEqualTypeOf<"own">(),
            }),
          ],
        };
      },
    });
    definePlugin({
      id: "a/a",
      setup: () => ({
        beforeToolCall: { run: ({ call }) => void expectTypeOf(call.input).toEqualTypeOf<Json>() },
        afterToolCall: ({ call }) => void expectTypeOf(call.input).toEqualTypeOf<Json>(),
      }),
    });
    const wrong = { tools: [pay] };
    // @ts-expect-error `pay` has no such argument
    definePlugin({ id: "a/a", setup: () => ({ beforeToolCall: { ...wrong, run: ({ call }) => void call.input.to } }) });
    // @ts-expect-error a result cannot be replaced before there is one
    definePlugin({ id: "a/a", setup: () => ({ beforeToolCall: { tools: [pay], run: () => replaceResult(1) } }) });
  }));

test("K10 state is read only where the table defines it, and in tools that do not declare that they write", () =>
  compiled(() => {
    definePlugin({
      id: "a/a",
      state: STATE,
      setup: ({ tool }) => ({
        beforeToolCall: ({ state }) => state.update((now) => now),
        checkpoint: ({ state }) => state.update((now) => now),
        afterTurn: ({ state }) => state.update((now) => now),
        prompt: ({ state }) => {
          // @ts-expect-error the prompt only reads
          state.update((now) => now);
          return { slot: "context", text: String(state.get().calls) };
        },
        // @ts-expect-error a stream hook only reads
        stream: ({ state }) => state.update((now) => now),
        // @ts-expect-error an observer only reads
        lifecycle: ({ state }) => state.update((now) => now),
        tools: [
          tool({
            name: "a",
            description: "",
            input: z.object({}),
            writes: true,
            execute: (_, { state }) => state.update(({ calls }) => ({ calls: calls + 1 })),
          }),
          tool({
            name: "b",
            description: "",
            input: z.object({}),
            // @ts-expect-error it did not say that it writes
            execute: (_, { state }) => state.update((now) => now),
          }),
        ],
      }),
    });
    definePlugin({
      id: "a/a",
      state: STATE,
      setup: () => ({
        // @ts-expect-error the state must fit its schema
        beforeTurn: ({ state }) => state.update(() => ({ calls: "one" })),
      }),
    });
  }));

test("K18 a hook is given the services of its row and no others", () =>
  compiled(() => {
    definePlugin({
      id: "a/a",
      setup: () => ({
        beforeTurn: ({ session, sessions }) => void [session.read(), sessions],
        prompt: ({ catalog }) => void catalog.list(),
        // @ts-expect-error the hot path has no session
        stream: ({ session }) => session,
        // @ts-expect-error nor has the build of the catalog
        toolCatalog: ({ catalog }) => catalog,
      }),
    });
  }));

test("K6 a protocol can be written against the door alone", () =>
  compiled(() => {
    definePlugin({
      id: "a/protocol",
      setup: () => ({
        protocolSession: {},
        protocolDriver: {
          preamble: ({ tools, read, triggers, prompt }) => {
            expectTypeOf(tools[0]?.name).toEqualTypeOf<string | undefined>();
            expectTypeOf(triggers[0]?.name).toEqualTypeOf<string | undefined>();
            expectTypeOf(prompt[0]?.text).toEqualTypeOf<string | undefined>();
            expectTypeOf(read(point<string>("a/words"))).toEqualTypeOf<readonly string[]>();
            return { tools, prompt: [] };
          },
          driver: {
            id: "a",
            version: 1,
            request: ({ system, messages, tools }) => ({ system, messages, tools }),
            onReply: ({ round }) => {
              expectTypeOf(round).toEqualTypeOf<number>();
              return { kind: "answer" };
            },
            onResults: () => ({ kind: "ask" }),
            onExec: () => ({ kind: "ask" }),
          },
        },
      }),
    });
    // @ts-expect-error a driver has a preamble
    definePlugin({ id: "a/half", setup: () => ({ protocolSession: {}, protocolDriver: { driver: {} } }) });
  }));

// ── Runtime and outcome ─────────────────────────────────────────────────────────────────────────────────────────────

test("S1 an outcome narrows by its kind, and every kind is handled", () =>
  compiled(() => {
    const told = (outcome: TurnOutcome): string => {
      switch (outcome.kind) {
        case "answered":
          expectTypeOf(outcome.message).toEqualTypeOf<Message>();
          return outcome.text;
        case "finished":
          expectTypeOf(outcome.by).toEqualTypeOf<"model" | "tool">();
          expectTypeOf(outcome.value).toEqualTypeOf<Json>();
          return "";
        case "stopped":
          expectTypeOf(outcome).toEqualTypeOf<Stopped>();
          expectTypeOf(outcome.by).toEqualTypeOf<"cancel" | "limit" | "plugin" | "incomplete" | "input">();
          return outcome.text;
        case "failed":
          expectTypeOf(outcome).toEqualTypeOf<Failed>();
          expectTypeOf(outcome.by).toEqualTypeOf<"provider" | "tool" | "plugin" | "runtime">();
          return outcome.code;
      }
    };
    return told;
  }));

test("S1 a typed output types the value of the turn", () =>
  compiled(async () => {
    const session = {} as Session;
    const typed = await session.turn("", { output: z.object({ coat: z.boolean() }) }).result();
    if (typed.outcome.kind === "finished") expectTypeOf(typed.outcome.value).toEqualTypeOf<{ coat: boolean }>();
    const ark = await session.turn("", { key: "a", output: type({ coat: "boolean" }) }).result();
    if (ark.outcome.kind === "finished") expectTypeOf(ark.outcome.value).toEqualTypeOf<{ coat: boolean }>();
    const promised = await session.turn("", { output: jsonSchema<{ n: 1 }>({ type: "object" }) }).result();
    if (promised.outcome.kind === "finished") expectTypeOf(promised.outcome.value).toEqualTypeOf<{ n: 1 }>();
    const plain = await session.turn("").result();
    if (plain.outcome.kind === "finished") expectTypeOf(plain.outcome.value).toEqualTypeOf<Json>();
    // @ts-expect-error a valibot schema cannot be shown to a model
    session.turn("", { output: v.object({ coat: v.boolean() }) });
  }));

test("S3 events narrow by their kind, and facts by `fact`", () =>
  compiled(() => {
    const told = (event: SessionEvent) => {
      if (event.fact)
        return expectTypeOf(event.kind).toEqualTypeOf<
          "accepted" | "withdrawn" | "committed" | "waiting" | "resolved" | "frame" | "gap"
        >();
      expectTypeOf(event.key.attempt).toEqualTypeOf<number>();
      if (event.kind === "text" || event.kind === "reasoning") expectTypeOf(event.delta).toEqualTypeOf<string>();
      if (event.kind === "plugin") expectTypeOf(event.payload).toEqualTypeOf<Json>();
    };
    return told;
  }));

test("S13 a code narrows the details of an error", () =>
  compiled(() => {
    const error: unknown = undefined;
    if (hasCode(error, "tool.unknown"))
      expectTypeOf(error.details).toEqualTypeOf<{ name: string; known: readonly string[] }>();
    // @ts-expect-error there is no such code
    return hasCode(error, "tool.unheard-of");
  }));

test("E1 models of the AI SDK and our own fit; a name needs a resolver", () =>
  compiled(() => {
    const store = memory();
    for (const wire of [anthropic, openai, google]) void createRuntime({ store, model: wire.model("") });
    void createRuntime({ store, model: scripted() });
    void createRuntime({
      store,
      model: "acme/large",
      models: (name) => (name === "acme/large" ? scripted() : undefined),
    });
    // @ts-expect-error a name alone means nothing
    void createRuntime({ store, model: "acme/large" });
    // @ts-expect-error a store is needed
    void createRuntime({ model: scripted() });
    // @ts-expect-error there is no such limit
    void createRuntime({ store, model: scripted(), limits: { roundMax: 1 } });
    const old = {
      specificationVersion: "v1",
      provider: "",
      modelId: "",
      doGenerate: async () => ({}),
      doStream: async () => ({ stream: 1 }),
    };
    // @ts-expect-error version 1 of the specification is too old
    void createRuntime({ store, model: old });
    expectTypeOf(scripted()).toExtend<Provider>();
    expectTypeOf(anthropic.model("")).toExtend<LanguageModel>();
    expectTypeOf<{ store: typeof store; model: Provider }>().toExtend<RuntimeOptions>();
  }));

test("E1 a provider can be written against the door alone", () =>
  compiled(() => {
    const provider: Provider = {
      id: "acme",
      modelId: "large",
      async *stream(request) {
        const part: ModelPart = { kind: "call", callId: "call_1", name: "ping", input: "{}" };
        yield [{ kind: "text", delta: request.system }, part];
        yield { kind: "finish", reason: "stop" };
      },
    };
    return provider;
  }));

test("D4 T9 an answer is typed by the kind of its wait, and a mistyped one does not compile", () =>
  compiled(async () => {
    const { waits } = await createRuntime({ store: memory(), model: scripted() });
    for (const wait of await waits.list()) {
      expectTypeOf(wait.arguments).toEqualTypeOf<Json>();
      if (wait.kind === "approval") {
        await waits.resolve(wait, { approved: true, args: { eur: 1 }, remember: true }, { by: "ann" });
        // @ts-expect-error the field is `approved`
        await waits.resolve(wait, { approve: true });
        // @ts-expect-error a value is no approval
        await waits.resolve(wait, { value: 1 });
      } else if (wait.kind === "interrupted") {
        await waits.resolve(wait, { approved: false, reason: "No." });
        // @ts-expect-error a call that was interrupted is run as it was, or not at all
        await waits.resolve(wait, { approved: true, args: {} });
      } else {
        await waits.resolve(wait, { value: 1 });
        await waits.resolve(wait, { error: "It burned down.", code: "store.burned" });
        // @ts-expect-error nobody is asked to approve it
        await waits.resolve(wait, { approved: true });
      }
    }
    // @ts-expect-error also by its id or its key
    await waits.resolve("key", { approve: true });
    await waits.resolve({ key: "key" }, { value: 1 });
    const session = await (await createRuntime({ store: memory(), model: scripted() })).session();
    for (const wait of (await session.read()).waits) await waits.resolve(wait, { approved: true });
    for await (const event of session.observe())
      if (event.kind === "waiting") await waits.resolve(event.wait, { value: 1 }, { by: "ann" });
    // @ts-expect-error a number names no wait
    await waits.resolve(7, { approved: true });
  }));

// ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("J1 J5 a job is begun with a function or with a task, and not with both or neither", () =>
  compiled(async (session: Session) => {
    const { jobs } = session;
    const spawned = await jobs.spawn({ label: "a" }, async (job) => {
      expectTypeOf(job).toEqualTypeOf<JobContext>();
      expectTypeOf(job.signal).toEqualTypeOf<AbortSignal>();
      expectTypeOf(job.jobs).toEqualTypeOf<Jobs>();
      expectTypeOf(await job.receive("x")).toEqualTypeOf<Json>();
      expectTypeOf(await job.receive<{ by: string }>("x")).toEqualTypeOf<{ by: string }>();
      // @ts-expect-error: a function is not recorded, so it has no durable sleep
      await job.sleep(5);
    });
    expectTypeOf(spawned).toEqualTypeOf<{ readonly id: JobId }>();
    expectTypeOf(await jobs.spawn({ label: "a", operation: "p.t", input: { n: 1 } })).toEqualTypeOf<{
      readonly id: JobId;
    }>();
    await jobs.spawn({ label: "a", operation: "p.t", notBefore: new Date(), wake: undefined });
    // @ts-expect-error: what is it to do?
    await jobs.spawn({ label: "a" });
    // @ts-expect-error: a job with a function has no input
    await jobs.spawn({ label: "a", input: 1 }, () => 1);
    // @ts-expect-error: a job needs a label
    await jobs.spawn({}, () => 1);
    // @ts-expect-error: the input is JSON
    await jobs.spawn({ label: "a", operation: "p.t", input: { at: new Date() } });
    // @ts-expect-error: there is no such wake
    await jobs.register({ label: "a", wake: "always" });
    // @ts-expect-error: a job does not end as running
    await jobs.complete("id", "running");
    const [record] = await jobs.await(["id"], { need: "any" });
    expectTypeOf(record?.state).toEqualTypeOf<JobState | undefined>();
    expectTypeOf(record?.result).toEqualTypeOf<Json | undefined>();
    const { jobId, turnId } = await session.sendAfter(5, "Hi", { at: "next-turn" });
    expectTypeOf(jobId).toEqualTypeOf<JobId>();
    expectTypeOf(turnId).toEqualTypeOf<TurnId>();
  }));

test("J5 a task may run as a job, and then has what a job has; queries can only read jobs", () =>
  compiled(() =>
    definePlugin({
      id: "a",
      setup: ({ task, query, command }) => ({
        operations: {
          t: task({
            run: async ({ job, jobs }) => {
              expectTypeOf(job).toEqualTypeOf<TaskJob | undefined>();
              expectTypeOf(jobs).toEqualTypeOf<Jobs>();
              await job?.sleep(new Date());
              expectTypeOf(await job?.call("tool", {})).toEqualTypeOf<Json | undefined>();
              // @ts-expect-error: it is only there when the task runs as a job
              await job.sleep(5);
            },
          }),
          c: command({
            run: async ({ jobs, ...rest }) => {
              expectTypeOf(jobs).toEqualTypeOf<Jobs>();
              // @ts-expect-error: a command is never a job
              rest.job;
            },
          }),
          q: query({
            run: async ({ jobs }) => {
              expectTypeOf(await jobs.list({ isLive: true })).toEqualTypeOf<readonly JobRecord[]>();
              // @ts-expect-error: a query changes nothing
              await jobs.cancel("id");
            },
          }),
        },
        prompt: async ({ jobs }) => {
          expectTypeOf(jobs).toEqualTypeOf<Jobs>();
        },
        request: (event) => {
          // @ts-expect-error: its row has no jobs
          event.jobs;
        },
      }),
    }),
  ));

// ── Stores ──────────────────────────────────────────────────────────────────────────────────────────────────────────

test("D5 a rule reads rows of its table, by an index that the table has", () =>
  compiled(() => {
    function* rule(db: Port): Rule<void> {
      expectTypeOf(yield* db.scan(WAIT, "turn", [7])).toEqualTypeOf<readonly WaitRow[]>();
      expectTypeOf(yield* db.get(SESSION, "key", 7)).toEqualTypeOf<SessionRow | undefined>();
      const [waits, session] = yield* all([db.scan(WAIT, "turn", [7]), db.get(SESSION, "id", "a")]);
      expectTypeOf(waits).toEqualTypeOf<readonly WaitRow[]>();
      expectTypeOf(session).toEqualTypeOf<SessionRow | undefined>();
      if (session !== undefined) expectTypeOf(db.update(SESSION, session, { wake: 0 })).toEqualTypeOf<SessionRow>();
      for (const table of [WAIT, NOTE]) db.removeAll(table, "turn", 7);
      // @ts-expect-error waits have no such index
      db.scan(WAIT, "turm", [7]);
      // @ts-expect-error notes are not found by session
      for (const table of [WAIT, NOTE]) db.removeAll(table, "session", 7);
      // @ts-expect-error a session has no such column
      if (session !== undefined) db.update(SESSION, session, { sleep: 0 });
    }
    return rule;
  }));
