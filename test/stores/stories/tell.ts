/** How a random story is told to several stores, and how their answers are compared. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Store } from "../../../src/stores/store.ts";
import { sample } from "../../kit/size.ts";

/** Something that happens. A teller is a store and what it gave out. */
export type Step<Teller> = (teller: Teller, nth: number) => unknown;

export interface Stories<Teller> {
  begin(store: Store): Promise<Teller>;
  readonly story: fc.Arbitrary<readonly Step<Teller>[]>;
  /** Fields of answers that each store numbers in its own way. */
  readonly hidden: ReadonlySet<string>;
  /** The answers to everything that can be asked. Of lists, one is chosen by number. */
  ask(teller: Teller, chosen: number): Promise<Asked>;
}
/** All facts, so that cursors of them can be compared, and all else. */
export interface Asked {
  readonly facts: readonly { readonly cursor: string }[];
  readonly [what: string]: unknown;
}

export interface Telling {
  /** Stores that are empty. */
  stores(): Promise<readonly Store[]>;
  readonly runs: number;
  /** Everything is asked after so many steps, and at the end. */
  readonly askedEvery: number;
  /** Facts have other numbers in some store, in the same order, and it may say `pending` where others do not. */
  readonly hasOwnNumbers?: true;
  readonly seed?: number;
}

const LIMIT_MS = sample(20_000, 90_000);

/** Tells stories to stores, and compares all answers with those of the first store. */
export async function tellStories<Teller>(stories: Stories<Teller>, telling: Telling): Promise<void> {
  const { runs: numRuns, askedEvery, hasOwnNumbers = false, seed } = telling;
  const property = fc.asyncProperty(stories.story, fc.nat(12), async (steps, chosen) => {
    const stores = await telling.stores();
    const tellers: readonly Teller[] = await Promise.all(stores.map((store) => stories.begin(store)));
    const compare = async (tell: (teller: Teller) => Promise<unknown>): Promise<void> => {
      const [first, ...others] = await Promise.all(tellers.map(tell));
      for (const [at, other] of others.entries()) assert.deepEqual(other, first, stores[at + 1]!.kind);
    };
    for (const [nth, step] of steps.entries()) {
      await compare(async (teller) => {
        const told = await answer(() => step(teller, nth), stories.hidden);
        return hasOwnNumbers ? withRanks(told, []) : told;
      });
      if (nth % askedEvery !== askedEvery - 1 && nth !== steps.length - 1) continue;
      await compare(async (teller) => {
        const asked = await stories.ask(teller, chosen);
        return hasOwnNumbers
          ? withRanks(
              asked,
              asked.facts.map(({ cursor }) => Number(cursor)),
            )
          : asked;
      });
    }
    for (const store of stores) {
      const { check } = store as Store & { readonly check?: () => unknown };
      if (check !== undefined) assert.deepEqual(await check.call(store), [], store.kind);
      await store.close();
    }
  });
  // A story that fails is told again and again to find a shorter one: at the limit, the shortest so far is reported.
  await fc.assert(property, { numRuns, interruptAfterTimeLimit: LIMIT_MS, ...(seed === undefined ? {} : { seed }) });
}

// ── Steps ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export const step = <Teller>(name: string, run: Step<Teller>): Step<Teller> =>
  Object.assign(run, { [fc.toStringMethod]: () => name });

/** One of a list; undefined where that is empty. */
export const at = <T>(list: readonly T[], nth: number): T | undefined => list[nth % (list.length || 1)];

export interface Weighted<Teller> {
  readonly weight: number;
  readonly arbitrary: fc.Arbitrary<Step<Teller>>;
}
export const storyOf = <Teller>(steps: readonly Weighted<Teller>[], maxLength: number) =>
  fc.array(fc.oneof(...steps), { maxLength, size: "max" });

// ── Answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const NOTHING: ReadonlySet<string> = new Set();

/** The answer of a call as JSON, or the code of its error. */
export async function answer(act: () => unknown, hidden = NOTHING): Promise<unknown> {
  try {
    const told = (await act()) ?? null;
    return JSON.parse(JSON.stringify(told, (key, value) => (hidden.has(key) ? undefined : value)));
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === undefined) throw error;
    return { code };
  }
}

/** The answers to many calls, which are made side by side. */
export async function answers(acts: readonly (() => unknown)[], hidden = NOTHING): Promise<readonly unknown[]> {
  return Promise.all(acts.map((act) => answer(act, hidden)));
}

/** The fields that name facts. */
const CURSORS: ReadonlySet<string> = new Set(["cursor", "latest", "askedAs", "answeredAs"]);

/** The same answer, with the places of facts among all facts instead of their numbers. */
function withRanks(told: unknown, facts: readonly number[]): unknown {
  const rank = (cursor: number): string => `fact ${facts.filter((each) => each <= cursor).length}`;
  const text = JSON.stringify(told, (key, value) => {
    if (key === "pending") return undefined;
    return CURSORS.has(key) ? rank(Number(value)) : value;
  });
  return JSON.parse(text);
}
