import type { SessionUpdate } from "@agentclientprotocol/sdk";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Transcript } from "../../src/cli/acp/transcript.ts";
import { createRuntime, defineTool, type SessionEvent } from "../../src/index.ts";
import type { Message } from "../../src/model/message.ts";
import type { Plugin } from "../../src/plugin.ts";
import { code } from "../../src/plugins/code/index.ts";
import { codeMode } from "../../src/protocols/code/index.ts";
import { type Provider, ProviderFailure } from "../../src/provider.ts";
import { demo } from "../../src/providers/demo.ts";
import { memory } from "../../src/stores/memory.ts";
import { both, calls, says, scripted, thinks } from "../../src/testing/index.ts";
import { Screen } from "./acp-client.ts";

/** Resolves when a second input was sent during the turn. */
const steered = Promise.withResolvers<unknown>();
const add = defineTool({
  name: "calculator",
  description: "Adds.",
  input: { type: "object", properties: { expression: { type: "string" } } },
  execute: async ({ expression }: { readonly expression?: string }, { output }) => {
    output("adding\n");
    if (expression === "steered") await steered.promise;
    return expression === "0" ? Promise.reject(new Error("Nothing to add.")) : 5;
  },
});

interface Recorded {
  readonly events: readonly SessionEvent[];
  readonly messages: readonly Message[];
}

/** The events of a session that answers these texts, and its messages. */
async function recorded(
  { model = demo(), plugins }: { readonly model?: Provider; readonly plugins?: readonly Plugin[] },
  texts: readonly string[],
): Promise<Recorded> {
  await using runtime = await createRuntime({ store: memory(), model, tools: [add], plugins });
  const session = await runtime.session();
  const events: SessionEvent[] = [];
  const over = new AbortController();
  const watching = (async () => {
    for await (const event of session.observe({ tree: true, signal: over.signal })) {
      events.push(event);
      if (events.filter((each) => each.kind === "committed" && each.by === "turn").length === texts.length) return;
    }
  })();
  for (const text of texts) {
    const turn = session.turn(text);
    if (text === "steer") steered.resolve(session.send("And this."));
    await turn.result();
  }
  await watching;
  const { messages } = await session.read();
  return { events, messages };
}

/** What a client has after the events. */
async function shownBy(show: (transcript: Transcript) => Promise<void>): Promise<Screen> {
  const screen = new Screen();
  await show(new Transcript(async (update: SessionUpdate) => screen.add({ sessionId: "s", update })));
  return screen;
}

const played = ({ events, messages }: Recorded) =>
  shownBy(async (transcript) => {
    for (const event of events)
      if (!event.fact) await transcript.preview(event);
      else if (event.kind === "accepted") await transcript.user(event.inputId, event.text ?? "");
      else if (event.kind === "committed" && event.by === "turn") {
        const own = messages.filter(({ id }) => id.startsWith(`${event.turnId}.`));
        await transcript.committed(event, own);
      }
  });

const failing = () => {
  let attempts = 0;
  return {
    ...{ id: "flaky", modelId: "test" },
    async *stream() {
      if (attempts++ % 2 === 0) {
        yield* says("Hello ", "wor").slice(0, -1);
        throw new ProviderFailure({ class: "network", message: "It broke." });
      }
      yield* says("Hello ", "you.");
    },
  };
};

const RUNS: { readonly [name: string]: () => Promise<Recorded> } = {
  "calls that work and fail": () =>
    recorded(
      {
        model: scripted(
          both(
            thinks("Well. ", says("I ", "add.")),
            calls("calculator", { expression: "1" }),
            calls("calculator", { expression: "0" }),
          ),
          both(says("Once ", "more."), calls("calculator", { expression: "2" })),
          thinks("So. ", says("It ", "is ", "5.")),
          says("Good", "bye."),
        ),
      },
      ["one", "two"],
    ),
  "an input that a running turn takes": () =>
    recorded({ model: scripted(calls("calculator", { expression: "steered" }), says("Both."), says("And?")) }, [
      "steer",
      "end",
    ]),
  "a repeated attempt": () => recorded({ model: failing() }, ["one", "two"]),
  code: () => recorded({ plugins: [codeMode, code] }, ["What is 2+3?", "What is 1+1?"]),
};

test.each(Object.keys(RUNS))(
  "E5 %s: a client shows the same live, after lost previews, and after a replay",
  async (name) => {
    const run = await (RUNS[name] as (typeof RUNS)[string])();
    const replayed = await shownBy((transcript) => transcript.history(run.messages));
    const [texts, callIds] = [
      replayed.shown.toSorted(),
      [...replayed.calls.keys()].filter((id) => !id.includes(".exec.")),
    ];
    const statuses = callIds.map((id) => replayed.calls.get(id)?.status);
    const requireSame = (screen: Screen): void => {
      expect(screen.shown.toSorted()).toEqual(texts);
      expect(callIds.map((id) => screen.calls.get(id)?.status)).toEqual(statuses);
      expect([...screen.calls.keys()].filter((id) => !id.includes(".exec.")).toSorted()).toEqual(callIds.toSorted());
      expect([...screen.calls.values()].filter(({ status }) => !["completed", "failed"].includes(status))).toEqual([]);
    };
    const live = await played(run);
    requireSame(live);
    const isKept = fc.array(fc.boolean(), { minLength: run.events.length, maxLength: run.events.length });
    await fc.assert(
      fc.asyncProperty(isKept, async (kept) => {
        const events = run.events.filter(({ fact }, at) => fact || kept[at]);
        requireSame(await played({ ...run, events }));
      }),
    );
    // Another process resumes the turn: all previews come again in a higher generation.
    const again = run.events.flatMap((event): SessionEvent[] =>
      event.fact ? [] : [{ ...event, key: { ...event.key, generation: event.key.generation + 1 } }],
    );
    const last = run.events.findLastIndex(({ kind }) => kind === "committed");
    const turnId = (run.events[last] as { readonly turnId?: string }).turnId;
    const repeated = again.filter((event) => !event.fact && event.turnId === turnId);
    const resumed = await played({ ...run, events: run.events.toSpliced(last, 0, ...repeated) });
    requireSame(resumed);
    if (name !== "a repeated attempt") expect(resumed.notices).toEqual([]);
  },
);
