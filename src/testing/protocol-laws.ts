// The promises of every protocol driver, as data: run them with any test runner. Turns are random, but the same in
// every run.
import assert from "node:assert/strict";
import { asCallId, asTurnId, nodeId } from "../model/ids.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { DEFAULT_LIMITS } from "../model/limits.ts";
import { callsOf, type Draft, type Message, type Part, type ToolCallPart, text } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import type { Reply } from "../model/request.ts";
import { OUTPUT_TOOL, projectOutput, statusOf, type ToolCall, type ToolOutput } from "../model/tool.ts";
import { NO_USAGE } from "../model/usage.ts";
import type { Decision, PlacedResult, ProtocolDriver, RequestView, RoundView } from "../turn/driver.ts";
import type { PlacedCall } from "../turn/effect.ts";
import type { CellOutput } from "../turn/event.ts";

/** A promise of every protocol's driver. `check` throws when it is broken. */
export interface ProtocolLaw {
  readonly law: string;
  check(driver: ProtocolDriver): void;
}

const TURNS = 100;
const ROUNDS_MAX = 6;

const KINDS: ReadonlySet<string> = new Set<Decision["kind"]>([
  "calls",
  "cell",
  "answer",
  "finish",
  "ask",
  "retry",
  "switchFrame",
  "end",
]);

/** Random numbers that are the same in every run (mulberry32). */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A number from 0 to `sides - 1`. */
  roll(sides: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  }

  isLucky(oneIn: number): boolean {
    return this.roll(oneIn) === 0;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.roll(items.length)] as T;
  }

  some<T>(max: number, make: (index: number) => T): readonly T[] {
    return Array.from({ length: this.roll(max + 1) }, (_, index) => make(index));
  }
}

// ── Model replies and tool results ───────────────────────────────────────────────────────────────────────────────────

const reply = (finish: Reply["finish"], ...parts: readonly Part[]): Reply => ({
  parts,
  finish,
  usage: NO_USAGE,
  route: "law/model",
});

const calling = (id: string, name: string, more: Partial<ToolCallPart> = {}): ToolCallPart => ({
  kind: "toolCall",
  callId: asCallId(id),
  name,
  input: {},
  ...more,
});

const SEARCH = calling("call_1", "search", { input: { q: "tigers" } });
const MALFORMED = calling("call_2", "search", { malformed: '{"q": "tig' });
const THOUGHT: Part = { kind: "reasoning", text: "Hm.", made: { route: "law/model", data: { signature: "s" } } };

/** Replies of every kind and with every ending. */
const REPLIES: readonly (readonly [what: string, reply: Reply])[] = [
  ["nothing", reply("stop")],
  ["white space", reply("stop", text(" \n"))],
  ["a thought and no word", reply("stop", THOUGHT)],
  ["text", reply("stop", text("Nine kinds."))],
  ["a call", reply("calls", SEARCH)],
  ["text and calls", reply("calls", THOUGHT, text("Let me look."), SEARCH, calling("call_3", "fetch"))],
  ["calls with one id", reply("calls", SEARCH, SEARCH)],
  ["calls, and says it stopped", reply("stop", SEARCH)],
  ["no call, and says there is one", reply("calls")],
  ["a malformed call", reply("calls", MALFORMED)],
  ["a typed result", reply("calls", calling("call_4", OUTPUT_TOOL, { input: { kinds: 9 } }))],
  ["text cut by the limit", reply("length", text("Nine ki"))],
  ["a call cut by the limit", reply("length", MALFORMED)],
  ["nothing, cut by the limit", reply("length")],
  ["a refusal", reply("refused", text("I will not."))],
  ["a refusal without a word", reply("refused")],
  ["a refusal with a call", reply("refused", SEARCH)],
  ["an aborted text", reply("aborted", text("Nine"))],
  ["an aborted nothing", reply("aborted")],
  ["an ending of another kind", reply("other", text("Nine"))],
];

const OUTPUTS: readonly ToolOutput[] = [
  { kind: "value", value: "Nine kinds." },
  { kind: "value", value: { kinds: 9 } },
  { kind: "value", value: null },
  { kind: "failure", failure: { class: "failed", code: "tool.failed", message: "It broke." } },
  { kind: "failure", failure: { class: "arguments", code: "tool.arguments", message: "q is missing" } },
  { kind: "failure", failure: { class: "denied", code: "tool.denied", message: "Not allowed." } },
  { kind: "cancelled", reason: "The turn was stopped." },
  { kind: "unknown", reason: "It was interrupted." },
];

const CELL_STATES: readonly CellOutput["state"][] = ["done", "threw", "stalled", "stopped"];
const SCHEMA: JsonObject = { type: "object", properties: { kinds: { type: "number" } } };

function anyPart(dice: Dice): Part {
  switch (dice.roll(5)) {
    case 0:
      return text(dice.pick(["Nine.", "", "\n", "run it", '{"kinds":9}', "```ts\nawait search()\n```"]));
    case 1:
      return THOUGHT;
    default: {
      const id = `call_${dice.roll(4)}`; // Ids come from the provider and may repeat.
      const malformed = dice.isLucky(6) ? { malformed: "{" } : {};
      return calling(id, dice.pick(["search", "fetch", "nobody_knows_it", OUTPUT_TOOL]), malformed);
    }
  }
}

const anyReply = (dice: Dice): Reply =>
  dice.isLucky(3)
    ? dice.pick(REPLIES)[1]
    : reply(
        dice.pick(["stop", "calls", "calls", "calls", "length", "refused", "aborted", "other"]),
        ...dice.some(5, () => anyPart(dice)),
      );

const resultsOf = (calls: readonly PlacedCall[], outputOf: (index: number) => ToolOutput): readonly PlacedResult[] =>
  calls.map(({ at, call }, index) => {
    const output = outputOf(index);
    return { at, call, output, parts: projectOutput(output) };
  });

const cellOutput = (state: CellOutput["state"], finish?: Json): CellOutput => ({
  state,
  parts: [text("nine")],
  ...(finish === undefined ? {} : { finish }),
});

// ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const TURN = asTurnId("trn_law");

const messageAt = (index: number, draft: Draft): Message => ({ id: nodeId(TURN, index), ...draft });
const entryOf = (message: Message): Entry => ({ at: 1, kind: "message", message });
const HELLO: Draft = { role: "user", parts: [text("How many kinds of tiger?")] };
const WORK: readonly Draft[] = [
  HELLO,
  { role: "assistant", parts: [SEARCH] },
  {
    role: "tool",
    parts: [{ kind: "toolResult", callId: SEARCH.callId, name: "search", status: "ok", parts: [text("nine")] }],
  },
];

function viewOf(drafts: readonly Draft[], more: Partial<RoundView> = {}): RoundView {
  const log = drafts.map((draft, index) => entryOf(messageAt(index, draft)));
  return { round: 1, memo: null, log, limits: DEFAULT_LIMITS, ...more };
}

/** Situations in which a reply may come: at the start, after work, with a requested typed result. */
const VIEWS: readonly (readonly [when: string, view: RoundView])[] = [
  ["at first", viewOf([HELLO])],
  ["after work", viewOf(WORK, { round: 2 })],
  ["with a typed result asked for", viewOf([HELLO], { output: SCHEMA })],
  ["after work, with a typed result asked for", viewOf(WORK, { round: 2, output: SCHEMA })],
];

/** How laws call a driver. */
type Asking = <Q extends "request" | "onReply" | "onResults" | "onExec">(
  question: Q,
  ...about: Parameters<ProtocolDriver[Q]>
) => ReturnType<ProtocolDriver[Q]>;

/** Calls a function of the driver twice, on frozen input, and asserts that both answers are equal. */
const twice =
  (driver: ProtocolDriver): Asking =>
  (question, ...about) => {
    const before = JSON.stringify(about);
    const ask = driver[question].bind(driver) as (...args: unknown[]) => ReturnType<ProtocolDriver[typeof question]>;
    const [first, second] = [ask(...deepFreeze(about)), ask(...about)];
    assert.deepEqual(first, second, `${question} answers differently the second time`);
    assert.equal(JSON.stringify(about), before, `${question} changed what it was given`);
    return first;
  };

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}

function requireDecision(decision: Decision, where: string): Decision {
  assert.ok(KINDS.has(decision?.kind), `${where}: ${JSON.stringify(decision)} is no decision`);
  assert.deepEqual(JSON.parse(JSON.stringify(decision)), decision, `${where}: the decision is not plain JSON`);
  return decision;
}

/** Plays one turn of random replies and results, calling the driver in the order of the machine. */
function playTurn(
  seed: number,
  ask: Asking,
  seen: (reply: Reply, results: readonly PlacedResult[], decision: Decision) => void,
) {
  const dice = new Dice(seed);
  const output = dice.isLucky(3) ? { output: SCHEMA } : {};
  const drafts: Draft[] = [HELLO];
  let memo: Json = null;
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const view = (): RoundView => viewOf(drafts, { round, memo, ...output });
    const follow = (where: string, decision: Decision): Decision => {
      requireDecision(decision, where);
      memo = decision.memo ?? memo;
      drafts.push(...(decision.add ?? []));
      return decision;
    };
    ask("request", requestView(view()));
    const said = anyReply(dice);
    if (said.parts.length > 0) drafts.push({ role: "assistant", parts: said.parts });
    let decision = follow("onReply", ask("onReply", view(), said));
    if (decision.kind === "calls") {
      const results = resultsOf(decision.calls, () => dice.pick(OUTPUTS));
      decision = follow("onResults", ask("onResults", view(), said, results));
      seen(said, results, decision);
    } else if (decision.kind === "cell") {
      const calls = dice.some(3, (index): PlacedCall => ({ at: `${index}`, call: callOf(SEARCH) }));
      const results = resultsOf(calls, () => dice.pick(OUTPUTS));
      const made = cellOutput(dice.pick(CELL_STATES), dice.isLucky(4) ? { kinds: 9 } : undefined);
      decision = follow("onExec", ask("onExec", view(), said, made, results));
    }
    if (decision.kind !== "ask" && decision.kind !== "retry") return;
  }
}

const callOf = ({ callId, name, input }: ToolCallPart): ToolCall => ({ id: callId, name, input });

const requestView = (view: RoundView): RequestView => ({
  ...view,
  system: "Be brief.",
  messages: view.log.flatMap((entry) => (entry.kind === "message" ? [entry.message] : [])),
  tools: [{ name: "search", description: "Looks things up.", inputSchema: { type: "object" } }],
  settings: { temperature: 0 },
});

/** Asserts that each call of the reply has its result, in call order and with the right status. */
function requirePaired(said: Reply, results: readonly PlacedResult[], decision: Decision): void {
  const shown = (decision.add ?? []).flatMap(({ role, parts }) =>
    parts.flatMap((part) => (part.kind === "toolResult" ? [{ role, part }] : [])),
  );
  const calls = callsOf(said.parts);
  assert.deepEqual(
    shown.map(({ part }) => [part.callId, part.name]),
    calls.map((call) => [call.callId, call.name]),
    "the results shown are not those of the calls made",
  );
  shown.forEach(({ role, part }, index) => {
    assert.equal(role, "tool");
    const result = results.find(({ at }) => at === String(index));
    const isItsOwn = result?.call.id === part.callId && result.call.name === part.name;
    if (isItsOwn) assert.equal(part.status, statusOf(result.output), `of ${JSON.stringify(result.output)}`);
  });
}

// ── The laws ────────────────────────────────────────────────────────────────────────────────────────────────────────

export const protocolLaws: readonly ProtocolLaw[] = [
  {
    law: "a driver has an id, and a version that counts from 1",
    check({ id, version }) {
      assert.ok(typeof id === "string" && id.trim() !== "");
      assert.ok(Number.isSafeInteger(version) && version >= 1);
    },
  },
  {
    law: "every reply leads to a decision, however the model ended it",
    check(driver) {
      for (const [when, view] of VIEWS) {
        for (const [what, said] of REPLIES) {
          requireDecision(twice(driver)("onReply", view, said), `${what} ${when}`);
        }
      }
    },
  },
  {
    law: "the same question on the same view has the same answer, and changes nothing",
    check(driver) {
      for (const [, view] of VIEWS) twice(driver)("request", requestView(view));
      for (let seed = 1; seed <= TURNS; seed++) playTurn(seed, twice(driver), () => {});
    },
  },
  {
    law: "an answer does not depend on what was asked in between",
    check(driver) {
      const decisions = (): readonly Decision[] =>
        VIEWS.flatMap(([, view]) => REPLIES.map(([, said]) => driver.onReply(view, said)));
      const before = decisions();
      for (let seed = 1; seed <= TURNS; seed++) playTurn(seed, twice(driver), () => {});
      assert.deepEqual(decisions(), before);
    },
  },
  {
    law: "calls are placed apart from each other",
    check(driver) {
      for (const [when, view] of VIEWS) {
        for (const [what, said] of REPLIES) {
          const decision = driver.onReply(view, said);
          if (decision.kind !== "calls") continue;
          const places = decision.calls.map(({ at }) => at);
          assert.equal(new Set(places).size, places.length, `${what} ${when}: ${places.join(", ")}`);
          for (const place of places) assert.match(place, /^\d+(\.\d+)*$/, `${what} ${when}`);
        }
      }
    },
  },
  {
    law: "every call of a reply is shown one result, in call order, with its status",
    check(driver) {
      for (let seed = 1; seed <= TURNS; seed++) playTurn(seed, twice(driver), requirePaired);
    },
  },
  {
    law: "every call is shown its result also when all of them came to the same",
    check(driver) {
      const said = reply("calls", SEARCH, calling("call_3", "fetch"), calling("call_4", OUTPUT_TOOL), MALFORMED);
      for (const [when, view] of VIEWS) {
        const decision = driver.onReply(view, said);
        if (decision.kind !== "calls") continue;
        const after = { ...view, memo: decision.memo ?? view.memo };
        for (const output of OUTPUTS) {
          const results = resultsOf(decision.calls, () => output);
          const next = requireDecision(twice(driver)("onResults", after, said, results), `${output.kind} ${when}`);
          requirePaired(said, results, next);
        }
      }
    },
  },
  {
    law: "a round that has had its work asks for no more of it",
    check(driver) {
      for (let seed = 1; seed <= TURNS; seed++) {
        playTurn(seed, twice(driver), (_said, _results, { kind }) => assert.ok(kind !== "calls" && kind !== "cell"));
      }
    },
  },
];
