import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sample } from "../../test/kit/size.ts";
import { cellLoop, toolLoop } from "../../test/turn/drivers.ts";
import {
  asked,
  droppedIn,
  type Game,
  isAnswer,
  type Moment,
  opening,
  type Played,
  play,
  tightLimits,
} from "../../test/turn/play.ts";
import { hasCode } from "../model/errors.ts";
import { asEffectName } from "../model/ids.ts";
import { callsOf, type Part } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import type { ProtocolDriver } from "./driver.ts";
import { type Effect, type EffectKind, GRACE } from "./effect.ts";
import type { Answer, TurnEvent } from "./event.ts";
import { itemsOf, type Log } from "./log.ts";
import { isEnded, type Step, type TurnState } from "./state.ts";
import { begin, step } from "./step.ts";

// What holds in every turn, whatever its effects answer and in whatever order, with cancels and crashes in between.

const bytes = fc.noBias(fc.uint8Array({ maxLength: 200, size: "max" }));
const calm = fc.record({ answers: bytes, order: bytes, isStormy: fc.constant(false) });
const stormy = fc.record({ answers: bytes, order: bytes, isStormy: fc.constant(true) });

const playGame = (driver: ProtocolDriver, game: Game): Played =>
  play(driver, opening(tightLimits(game.answers), (game.answers[0] ?? 0) % 3 === 1 ? { merges: true } : {}), game);

/** `RUNS=100000 npx vitest run src/turn/laws.test.ts` looks longer. */
const numRuns = Number(process.env.RUNS ?? sample(150, 500));
const everyTurn = (driver: ProtocolDriver, holds: (played: Played) => void, runs = numRuns): void =>
  fc.assert(
    fc.property(stormy, (game) => {
      holds(playGame(driver, game));
    }),
    { numRuns: runs },
  );

describe.each([
  { protocol: "tool calls", driver: toolLoop },
  { protocol: "code cells", driver: cellLoop },
])("with $protocol", ({ driver }) => {
  test("no turn is ever stuck: until it has ended something is open, and answering what is open ends it", () => {
    everyTurn(driver, ({ first, moments, state }) => {
      for (const { state } of [first, ...moments.map(({ after }) => after)])
        expect(isEnded(state)).toBe(state.open.length === 0);
      expect(isEnded(state)).toBe(true);
    });
  });

  test("every call has exactly one result, in call order, right after the reply that made it, however the turn ends", () => {
    everyTurn(driver, ({ state }) => expect(mispaired(itemsOf(state.log))).toEqual([]));
  });

  test("what was appended with an answer is in the log once, in the order of the answers", () => {
    everyTurn(driver, ({ moments, state }) => {
      const appended = moments.flatMap(({ event }) =>
        isAnswer(event) || event.kind === "applied" ? (event.appends ?? []) : [],
      );
      const marks = itemsOf(state.log).flatMap((entry) => (entry.kind === "plugin" ? [entry.body] : []));
      expect(marks).toEqual(appended.flatMap(({ nodes }) => nodes.map((node) => node.kind === "plugin" && node.body)));
    });
  });

  test("never two effects are open that may write plugin state", () => {
    everyTurn(driver, (played) => {
      for (const open of openSets(played)) expect(open.filter(mayWrite).length, listed(open)).toBeLessThanOrEqual(1);
    });
  });

  test("T6 no more calls are open than the limit allows, and a serial one is alone", () => {
    everyTurn(driver, (played) => {
      const serial = new Set(played.moments.flatMap(({ after }) => alone(after.state)));
      for (const open of openSets(played)) {
        const calls = open.filter(({ kind }) => kind === "call");
        expect(calls.length).toBeLessThanOrEqual(played.opened.limits.parallelCallsMax);
        if (calls.some(({ name }) => serial.has(name))) expect(listed(calls)).not.toContain(",");
      }
    });
  });

  test("an effect's name is never used twice in a turn", () => {
    everyTurn(driver, (played) => {
      const names = asked(played).map(({ name }) => name);
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    });
  });

  test("what is open is what was asked for, less what was answered and what was dropped", () => {
    everyTurn(driver, (played) => {
      for (const { before, event, after } of played.moments) {
        const gone = new Set([...after.dropped, ...(isAnswer(event) ? [event.effect] : [])]);
        expect(after.state.open).toEqual([...before.open.filter(({ name }) => !gone.has(name)), ...after.effects]);
        for (const name of after.dropped) expect(before.open.map((effect) => effect.name)).toContain(name);
      }
      const answered = played.moments.flatMap(({ event }) => (isAnswer(event) ? [event.effect] : []));
      const all = asked(played).map(({ name }) => name);
      expect([...answered, ...droppedIn(played)].toSorted()).toEqual(all.toSorted());
    });
  });

  test("a turn that winds down settles open effects and starts no others", () => {
    everyTurn(driver, (played) => {
      for (const { after } of played.moments) {
        if (after.state.winding === undefined) continue;
        const begun = after.effects.filter(
          ({ kind, name }) => name !== GRACE && !["respond", "settle", "finalize"].includes(kind),
        );
        expect(listed(begun)).toBe("");
      }
    });
  });

  test("the first reason to stop stands, and only a crash loop overrides it", () => {
    everyTurn(driver, ({ moments, state }) => {
      const wound = moments.find(({ after }) => after.state.winding !== undefined);
      if (wound === undefined || codeOf(state) === "turn.crash-loop") return;
      expect(outcomeOf(state)).toMatchObject(
        wound.event.kind === "cancelled"
          ? { kind: "stopped", by: "cancel" }
          : { code: wound.after.state.winding?.ending.code },
      );
    });
  });

  test("step is pure: it changes no argument, and repeats give the same result", () => {
    everyTurn(
      driver,
      ({ moments }) => {
        for (const { before, event, after } of moments) {
          const frozen = deepFreeze(copyOf(before));
          const again = [step(driver, frozen, deepFreeze(event)), step(driver, frozen, event)];
          for (const each of again) expect(jsonOf(each)).toBe(jsonOf(after));
        }
      },
      150,
    );
  });

  test("a fold over the recorded events gives the same state and effects", () => {
    everyTurn(
      driver,
      ({ opened, first, moments }) => {
        let state = asStored(opened, begin).state;
        expect(jsonOf(begin(opened))).toBe(jsonOf({ ...first, state }));
        for (const { event, after } of moments) {
          const again = asStored(event, (event) => step(driver, state, event));
          expect(jsonOf(again)).toBe(jsonOf(after));
          state = again.state;
        }
      },
      300,
    );
  });

  test("a state that was stored and read back continues the same way", () => {
    everyTurn(
      driver,
      ({ first, moments }) => {
        let state = JSON.parse(jsonOf(first.state)) as TurnState;
        for (const { event, after } of moments) {
          const again = step(driver, state, event);
          expect(jsonOf(again)).toBe(jsonOf(after));
          state = JSON.parse(jsonOf(again.state)) as TurnState;
        }
      },
      300,
    );
  });

  test("an answer to nothing open, a second answer and an answer of the wrong kind diverge", () => {
    everyTurn(
      driver,
      ({ moments }) => {
        for (const { before, event, after } of moments) {
          const unchanged = jsonOf(before);
          diverges(driver, before, { kind: "slept", at: event.at, effect: asEffectName("r999.call.9") });
          diverges(driver, before, { kind: "called", at: event.at, effect: asEffectName("r999.exec"), calls: [] });
          for (const effect of before.open) for (const wrong of wrongAnswers(effect)) diverges(driver, before, wrong);
          expect(jsonOf(before)).toBe(unchanged);
          if (isAnswer(event)) diverges(driver, after.state, event);
          for (const effect of after.dropped)
            diverges(driver, after.state, { kind: "failed", at: event.at, effect, error: LATE });
        }
      },
      50,
    );
  });
});

test("S1 games reach every outcome that a turn can have", () => {
  const games = fc.sample(stormy, { numRuns: 1_500, seed: 7 });
  const reached = [toolLoop, cellLoop].flatMap((driver) =>
    games.map((game) => kindOf(outcomeOf(playGame(driver, game).state))),
  );
  expect([...new Set(reached)].toSorted()).toEqual(ALL_ENDINGS);
});

test("T6 whatever order results come in, the log and the outcome are the same", () => {
  const games = fc.tuple(calm, bytes);
  fc.assert(
    fc.property(games, ([played, otherOrder]) => {
      const game: Game = { ...played, isSilent: true }; // What calls append stands in the order of their results.
      const [one, other] = [game, { ...game, order: otherOrder }].map((each) => playGame(toolLoop, each).state) as [
        TurnState,
        TurnState,
      ];
      expect(untimed(other)).toEqual(untimed(one));
    }),
    { numRuns },
  );
});

test("each result of a cell's calls is reported once, in the order in which the code made the calls", () => {
  everyTurn(cellLoop, (played) => {
    for (const { made, told } of cellsOf(played)) expect(told).toEqual(made);
  });
});

test("P9 a cell is given what it waits for one by one, each once, in the order in which it was ready", () => {
  everyTurn(cellLoop, (played) => {
    const { given, ready } = deliveriesOf(played);
    const cells = new Set(given.map((each) => each.split(" ")[0]));
    for (const cell of cells) {
      const own = (all: readonly string[]): readonly string[] => all.filter((each) => each.startsWith(`${cell} `));
      // A cell that was ended early was not given the last of them.
      expect(own(given)).toEqual(own(ready).slice(0, own(given).length));
    }
  });
});

test("a cancel that arrives when the turn has ended, before its commit, makes it a cancelled one", () => {
  fc.assert(
    fc.property(calm, (game) => {
      const { state } = playGame(toolLoop, game);
      const cancelled = step(toolLoop, state, {
        kind: "cancelled",
        at: 9_999,
        requestId: "req_1",
        reason: "too late, almost",
      });
      expect(cancelled).toMatchObject({ effects: [], dropped: [] });
      if (state.winding === undefined)
        expect(outcomeOf(cancelled.state)).toMatchObject({ kind: "stopped", by: "cancel" });
      expect(itemsOf(cancelled.state.log)).toEqual(itemsOf(state.log));
    }),
    { numRuns: sample(100, 300) },
  );
});

// ── Looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const ALL_ENDINGS = [
  "answered",
  "failed by plugin",
  "failed by provider",
  "failed by runtime",
  "failed by tool",
  "finished by model",
  "finished by tool",
  "stopped by cancel",
  "stopped by incomplete",
  "stopped by input",
  "stopped by limit",
  "stopped by plugin",
];
const kindOf = (outcome: TurnOutcome): string =>
  outcome.kind === "answered" ? outcome.kind : `${outcome.kind} by ${outcome.by}`;

function outcomeOf(state: TurnState): TurnOutcome {
  if (!isEnded(state)) throw new Error("The turn has not ended.");
  return state.phase.outcome;
}
const codeOf = (state: TurnState): string | undefined => {
  const outcome = outcomeOf(state);
  return "code" in outcome ? outcome.code : undefined;
};

const openSets = ({ first, moments }: Played): readonly (readonly Effect[])[] => [
  first.state.open,
  ...moments.map(({ after }) => after.state.open),
];
const listed = (effects: readonly Effect[]): string => effects.map(({ name }) => name).join(", ");

const WRITERS: readonly EffectKind[] = [
  "prepare",
  "respond",
  "gate",
  "settle",
  "exec",
  "boundary",
  "compact",
  "finalize",
];
const mayWrite = (effect: Effect): boolean =>
  WRITERS.includes(effect.kind) || (effect.kind === "call" && effect.writes === true);

/** The open calls that must not run beside another. */
function alone({ phase, open }: TurnState): readonly string[] {
  if (phase.kind !== "working") return [];
  const serial = phase.work.calls
    .filter(({ policy }) => policy?.isSerial === true || policy?.writes === true)
    .map(({ at }) => at);
  return open.flatMap((effect) => (effect.kind === "call" && serial.includes(effect.at) ? [effect.name] : []));
}

/** Where the calls of a reply are not followed at once by their results, and by nothing else. */
function mispaired(log: readonly Entry[]): readonly string[] {
  const problems: string[] = [];
  let owed: readonly string[] = [];
  for (const entry of log) {
    const parts: readonly Part[] = entry.kind === "message" ? entry.message.parts : [];
    const given = parts.flatMap((part) => (part.kind === "toolResult" ? [part.callId] : []));
    if (given.join() !== owed.join()) problems.push(`${owed.join()} got ${given.join()}`);
    owed = callsOf(parts).map(({ callId }) => callId);
  }
  return owed.length === 0 ? problems : [...problems, `${owed.join()} got nothing`];
}

const untimed = (state: TurnState): unknown => ({
  outcome: outcomeOf(state),
  // The trail of a call says when somebody was asked.
  log: JSON.parse(JSON.stringify(itemsOf(state.log), (key, value) => (key === "at" ? 0 : value))) as unknown,
  usage: state.usage,
  inputs: state.inputs,
  memo: state.memo,
});

/** Of every cell that came to its end: the calls it made, and those the protocol was told of. */
function cellsOf({
  moments,
}: Played): readonly { readonly made: readonly string[]; readonly told: readonly string[] }[] {
  const isOver = ({ event, after }: Moment): boolean =>
    event.kind === "executed" && after.state.memo !== null && Array.isArray(after.state.memo);
  return moments.filter(isOver).map(({ event, after }) => {
    const cell = cellIn((event as Answer).effect);
    return {
      made: moments.flatMap(({ event }) =>
        event.kind === "called" && cellIn(event.effect) === cell ? event.calls.map(({ at }) => at) : [],
      ),
      told: (after.state.memo as readonly string[]).map((line) => line.split(" ")[0] ?? ""),
    };
  });
}

/** `r2.exec`, of an effect of that cell. */
const cellIn = (effect: string): string | undefined => /^r\d+\.exec/.exec(effect)?.[0];

/** What the cells of a turn were given, and what there was to give, in order. */
function deliveriesOf(played: Played): { readonly given: readonly string[]; readonly ready: readonly string[] } {
  const given = asked(played).flatMap((effect) =>
    effect.kind === "exec" && effect.deliver !== undefined
      ? [`${cellIn(effect.name)} ${effect.deliver.at} ${effect.deliver.output?.kind ?? "slept"}`]
      : [],
  );
  const ready = played.moments.flatMap(({ before, event }) => {
    const effect = before.open.find(({ name }) => isAnswer(event) && name === event.effect);
    const cell = cellIn(effect?.name ?? "");
    if (effect?.kind === "settle" && event.kind === "settled")
      return effect.results.map(
        ({ at, output }, index) => `${cell} ${at} ${(event.results[index]?.output ?? output).kind}`,
      );
    const slept = /\.sleep\.(\d+)$/.exec(effect?.name ?? "")?.[1];
    return slept === undefined ? [] : [`${cell} ${slept} slept`];
  });
  return { given, ready };
}

// ── Copying and comparing ───────────────────────────────────────────────────────────────────────────────────────────

const jsonOf = (value: Step | TurnState): string => JSON.stringify(trimmed(value));
/** A log's list is shared and may have grown since: only its own length counts. */
function trimmed<T extends Step | TurnState>(value: T): T {
  if ("state" in value) return { ...value, state: trimmed(value.state) };
  const { log, calls } = value;
  const own = <Item>(of: Log<Item>): Log<Item> => ({ items: itemsOf(of), length: of.length });
  return { ...value, log: own(log), ...(calls === undefined ? {} : { calls: own(calls) }) };
}
const copyOf = (state: TurnState): TurnState => JSON.parse(jsonOf(state)) as TurnState;
const asStored = <T, R>(value: T, then: (value: T) => R): R => then(JSON.parse(JSON.stringify(value)) as T);

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const each of Object.values(value)) deepFreeze(each);
  }
  return value;
}

// ── Wrong answers ───────────────────────────────────────────────────────────────────────────────────────────────────

const LATE = { class: "runtime", code: "late", message: "Too late." } as const;

/** Besides `failed`, which answers anything. */
const RIGHT: { readonly [K in EffectKind]: readonly Answer["kind"][] } = {
  prepare: ["prepared"],
  ask: ["replied"],
  respond: ["responded"],
  gate: ["gated"],
  settle: ["settled"],
  boundary: ["bounded"],
  compact: ["compacted"],
  finalize: ["finalized"],
  call: ["returned", "deferred", "interrupted"],
  exec: ["executed", "called"],
  wait: ["resolved"],
  sleep: ["slept"],
};
const KINDS = [...new Set(Object.values(RIGHT).flat())];

const wrongAnswers = (effect: Effect): readonly TurnEvent[] =>
  KINDS.filter((kind) => !RIGHT[effect.kind].includes(kind)).map(
    (kind) => ({ kind, at: 1, effect: effect.name, calls: [] }) as Answer,
  );

function diverges(driver: ProtocolDriver, state: TurnState, event: TurnEvent): void {
  try {
    step(driver, state, event);
  } catch (error) {
    expect(hasCode(error, "turn.diverged"), String(error)).toBe(true);
    return;
  }
  expect.fail(`${event.kind} was taken in ${state.phase.kind}`);
}
