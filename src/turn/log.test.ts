import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toolLoop } from "../../test/turn/drivers.ts";
import { type AnswerContent, opening } from "../../test/turn/play.ts";
import { call, gated, pass, replied, returned, settled } from "../../test/turn/tell.ts";
import type { Entry } from "../model/node.ts";
import type { Answer } from "./event.ts";
import { append, emptyLog, itemsOf, type Log } from "./log.ts";
import { isEnded, type TurnState } from "./state.ts";
import { begin, step } from "./step.ts";

describe("a log", () => {
  test("keeps what it holds, whatever is appended to it and to its heirs", () => {
    const growths = fc.array(
      fc.record({ from: fc.nat(), added: fc.array(fc.nat(), { maxLength: 3 }), isFrozen: fc.boolean() }),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(growths, (growths) => {
        const logs: { readonly log: Log<number>; readonly holds: readonly number[] }[] = [
          { log: emptyLog(), holds: [] },
        ];
        for (const { from, added, isFrozen } of growths) {
          const { log, holds } = logs[from % logs.length]!;
          if (isFrozen) Object.freeze(log.items);
          logs.push({ log: append(log, ...added), holds: [...holds, ...added] });
        }
        for (const { log, holds } of logs) {
          expect(itemsOf(log)).toEqual(holds);
          expect(log.length).toBe(holds.length);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("that grows in one line is never copied", () => {
    const first = append(emptyLog<number>(), 0);
    let log = first;
    for (let n = 1; n < 1_000; n++) log = append(log, n);
    expect(log.items).toBe(first.items);
    expect(itemsOf(log)).toBe(first.items);
    expect(itemsOf(first)).toEqual([0]);
  });
});

describe("a long turn", () => {
  const ROUND: readonly AnswerContent[] = [
    { kind: "prepared" },
    replied("Let me look.", call("search")),
    gated(pass()),
    returned("nine"),
    settled(1),
    { kind: "bounded" },
  ];

  /** Folds a turn of so many rounds, and counts how often an item of its log was looked at, and what else it held. */
  function fold(rounds: number): { readonly reads: number; readonly restBytesMax: number; readonly state: TurnState } {
    let reads = 0;
    let restBytesMax = 0;
    const counted = (items: readonly Entry[]): readonly Entry[] =>
      new Proxy([...items], {
        get(target, key, receiver) {
          if (typeof key === "string" && /^\d+$/.test(key)) reads++;
          return Reflect.get(target, key, receiver) as unknown;
        },
      });
    let { state } = begin(opening({ roundsMax: rounds }));
    state = { ...state, log: { ...state.log, items: counted(state.log.items) } };
    for (let at = 2_000; !isEnded(state); at++) {
      const effect = state.open[0]!;
      const said = effect.kind === "finalize" ? ({ kind: "finalized" } as const) : ROUND[(at - 2_000) % ROUND.length]!;
      state = step(toolLoop, state, { ...said, at, effect: effect.name } as Answer).state;
      if (at % 97 === 0)
        restBytesMax = Math.max(restBytesMax, JSON.stringify({ ...state, log: undefined, calls: undefined }).length);
    }
    return { reads, restBytesMax, state };
  }

  test("costs the same per round at its end as at its beginning", () => {
    const [short, long] = [fold(1_000), fold(4_000)];
    expect(short.state.log.length).toBe(2_001);
    expect(long.state.log.length).toBe(8_001);
    expect(long.reads / short.reads).toBeLessThan(4.1); // Nothing looks at the whole log in a round, or copies it.
    expect(long.restBytesMax).toBeLessThan(short.restBytesMax + 100); // What a step does copy does not grow.
  });

  test("of 5,000 rounds is folded", () => {
    const { state } = fold(5_000);
    expect(state.round).toBe(5_000);
    expect(state.phase).toMatchObject({ kind: "ended", outcome: { kind: "stopped", code: "limit.rounds" } });
  });
});
