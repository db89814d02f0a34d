/** Two workers that do two things to one turn at the same moment, again and again: whatever comes first, both must know. */
import type { Store } from "bowline";
import { type PostgresStore, postgres } from "bowline/stores/postgres";
import type { SessionId } from "../../src/model/ids.ts";
import { asSessionId, asWaitKey } from "../../src/model/ids.ts";
import type { Lease } from "../../src/stores/store.ts";
import {
  answering,
  begin,
  ben,
  ended,
  inputId,
  LAPSED,
  NOW,
  newSession,
  newWait,
  opening,
  slept,
} from "../../src/testing/cast.ts";
import { freshDatabase } from "../kit/shared-postgres.ts";
import { type MutantName, mutated } from "./mutants.ts";

/** How a race ended, in a few words, and what is wrong with that. */
interface Finish {
  readonly how: string;
  readonly wrong?: string;
}
type Race = (one: Store, two: Store, nth: number) => Promise<Finish>;

const FAR = NOW + 1_000_000_000;
const codeOf = (error: unknown): string => (error as { readonly code?: string }).code ?? String(error);

/** Lets the other begin a little sooner or later: up to two milliseconds. */
async function aMoment(): Promise<void> {
  for (const end = performance.now() + Math.random() * 2; performance.now() < end; )
    await new Promise((resolve) => setImmediate(resolve));
}
async function atOnce<A, B>(first: () => PromiseLike<A> | A, second: () => PromiseLike<B> | B): Promise<[A, B]> {
  const [a, b] = await Promise.all([aMoment().then(first), aMoment().then(second)]);
  return [a, b];
}
const tried = async <T>(call: () => PromiseLike<T> | T): Promise<T | string> => {
  try {
    return await call();
  } catch (error) {
    return codeOf(error);
  }
};

async function opened(store: Store, nth: number): Promise<{ readonly session: SessionId; readonly lease: Lease }> {
  const session = asSessionId(`s${nth}`);
  await store.create(newSession(session));
  return { session, lease: await begin(store, `hello ${nth}`, { to: session }) };
}

/** A turn ends by one statement, or step by step when it settles another list of inputs. */
const answered = ({ turnId }: Lease, nth: number) => ({
  ...ended({ turnId }, answering(turnId, "well")),
  inputs: nth % 2 === 0 ? [inputId(`hello ${nth}`)] : [],
});

const cancelOrCommit: Race = async (one, two, nth) => {
  const { lease } = await opened(one, nth);
  const end = answered(lease, nth);
  const request = { requestId: "stop", reason: "Enough.", at: NOW };
  const [committed, cancelled] = await atOnce(
    () => one.commit(lease, end),
    () => two.cancel(lease.turnId, request),
  );
  const how = `${cancelled.kind}, ${committed.kind}`;
  const isRight = cancelled.kind === "requested" ? committed.kind === "reopen" : committed.kind === "committed";
  if (!isRight) return { how, wrong: `the cancel was ${cancelled.kind}, and the turn ${committed.kind}` };
  if (committed.kind === "committed") return { how };
  const outcome = { kind: "stopped", by: "cancel", code: "turn.cancelled", reason: "Enough.", text: "" } as const;
  const again = await one.commit(lease, { ...end, outcome, cancel: "stop" });
  return again.kind === "committed" ? { how } : { how, wrong: "the folded cancel was not enough" };
};

const answerOrPark: Race = async (one, two, nth) => {
  const { session, lease } = await opened(one, nth);
  const key = asWaitKey(`wait ${nth}`);
  await one.append(lease, 1, [slept("a")], NOW, [newWait(key, { until: FAR })]);
  const request = { requestId: "stop", reason: "Enough.", at: NOW };
  const bring = async (): Promise<string> =>
    nth % 3 === 0
      ? (await two.cancel(lease.turnId, request)).kind
      : (await two.waits.resolve(key, { kind: "value", value: true }, NOW)).said;
  const [parked, said] = await atOnce(
    () => one.park(lease, { turnId: lease.turnId, wakeAt: FAR, waits: [key] }, NOW),
    bring,
  );
  const how = `${said}, ${parked.kind}`;
  if (said !== "accepted" && said !== "requested") return { how, wrong: `the answer was ${said}` };
  if (parked.kind === "mail") {
    const { cancel, resolved } = parked.mail;
    return cancel !== undefined || resolved !== undefined ? { how } : { how, wrong: "it stayed, for no mail" };
  }
  const { kind } = await two.open(session, ben, NOW, opening);
  return kind === "resumed" ? { how } : { how, wrong: `it is ${kind} for ever, though its answer is there` };
};

const appendOrTakeover: Race = async (one, two, nth) => {
  const { session, lease } = await opened(one, nth);
  const [appended, taken] = await atOnce(
    () => tried(() => one.append(lease, 1, [slept("a")], NOW)),
    () => tried(() => two.open(session, ben, LAPSED, opening)),
  );
  if (typeof taken === "string") return { how: taken, wrong: `the takeover failed: ${taken}` };
  if (taken.kind !== "resumed") return { how: taken.kind, wrong: `the session was ${taken.kind}` };
  const isSeen = taken.journal.length === 2;
  const how = `${typeof appended === "string" ? appended : "written"}, ${isSeen ? "seen" : "not seen"}`;
  if (typeof appended === "string" ? appended !== "lease.lost" || isSeen : !isSeen)
    return { how, wrong: `an event was ${how} by the next owner` };
  const next = await tried(() => two.append(taken.lease, taken.journal.length, [slept("b")], LAPSED));
  if (typeof next === "string") return { how, wrong: `the next owner cannot write: ${next}` };
  const { length } = await two.journal(lease.turnId, 0);
  return length === taken.journal.length + 1 ? { how } : { how, wrong: `the journal has ${length} events` };
};

const commitOrTakeover: Race = async (one, two, nth) => {
  const { session, lease } = await opened(one, nth);
  const [committed, taken] = await atOnce(
    () => tried(() => one.commit(lease, answered(lease, nth))),
    () => tried(() => two.open(session, ben, LAPSED, opening)),
  );
  if (typeof taken === "string") return { how: taken, wrong: `the takeover failed: ${taken}` };
  const how = `${typeof committed === "string" ? committed : committed.kind}, ${taken.kind}`;
  if (!["lease.lost, resumed", "committed, idle"].includes(how)) return { how, wrong: `both have it: ${how}` };
  if (taken.kind !== "resumed") return { how };
  const again = await tried(() => two.commit(taken.lease, answered(lease, nth)));
  return typeof again === "string" ? { how, wrong: `the next owner cannot commit: ${again}` } : { how };
};

export const RACES = {
  "a cancel and the commit": cancelOrCommit,
  "an answer and the parking": answerOrPark,
  "an append and the takeover": appendOrTakeover,
  "a commit and the takeover": commitOrTakeover,
} satisfies { readonly [name: string]: Race };
export type RaceName = keyof typeof RACES;

/** What each mutant must lose. */
export const CAUGHT_BY: readonly (readonly [MutantName, RaceName])[] = [
  ["cancel and commit without the lock", "a cancel and the commit"],
  ["park and answer without the lock", "an answer and the parking"],
  ["takeover and journal read as of one moment", "an append and the takeover"],
  ["journal read before the lock", "an append and the takeover"],
  ["fence by a read", "an append and the takeover"],
  ["fence by a read", "a commit and the takeover"],
];

export interface Raced {
  readonly races: number;
  /** How they ended, and how often. */
  readonly how: { readonly [how: string]: number };
  readonly wrong: readonly string[];
  /** How many statements of the mutant were other than the store's. */
  readonly changed: number;
}

const AT_ONCE = 4;

/** Runs so many races; a sample ends with the first that goes wrong. */
export async function raced(
  name: RaceName,
  times: number,
  mutant?: MutantName,
  { isSample = false } = {},
): Promise<Raced> {
  const url = await freshDatabase();
  const options = { clock: "caller", connections: AT_ONCE } as const;
  const workers = [1, 2].map(() => {
    if (mutant !== undefined) return mutated(url, mutant, options);
    const store: PostgresStore = postgres(url, options);
    return { store, changed: () => 0, close: async () => store.close() };
  });
  const [one, two] = workers.map(({ store }) => store) as [Store, Store];
  const how: { [how: string]: number } = {};
  const wrong: string[] = [];
  let begun = 0;
  const racer = async (): Promise<void> => {
    while (begun < times && !(isSample && wrong.length > 0)) {
      const finish = await RACES[name](one, two, begun++);
      how[finish.how] = (how[finish.how] ?? 0) + 1;
      if (finish.wrong !== undefined) wrong.push(finish.wrong);
    }
  };
  try {
    await one.load(asSessionId("none")); // Makes the tables.
    await Promise.all(Array.from({ length: AT_ONCE }, racer));
    const changed = workers.reduce((sum, worker) => sum + worker.changed(), 0);
    return { races: begun, how, wrong, changed };
  } finally {
    for (const worker of workers) await worker.close();
  }
}

export const rowOf = (name: string, { races, how, wrong }: Raced): string =>
  `${name.padEnd(62)} ${String(wrong.length).padStart(4)} of ${races} wrong   ${Object.entries(how)
    .sort(([, a], [, b]) => b - a)
    .map(([each, count]) => `${each}: ${count}`)
    .join("; ")}`;
