// Opens an image of a disk after a power cut, lets the agent go on from it, and says what was lost and what is wrong.
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Json } from "bowline";
import { type Durability, type SqliteStore, sqlite } from "bowline/stores/sqlite";
import { asBlobHash, asSessionId, asTurnId } from "../../src/model/ids.ts";
import type { Change, Segment, Store } from "../../src/stores/store.ts";
import { type PictureOfSession, type Remains, recordedIn, remainsOf } from "../../src/testing/crash/picture.ts";
import { ASKING, type Mark, open, play } from "./agent.ts";
import type { Cut } from "./cuts.ts";
import type { Image } from "./disk.ts";
import { lay } from "./record.ts";

/** What the recorded process left without a cut: every image must be a beginning of it, and lead to it. */
export interface Whole {
  readonly facts: readonly Change[];
  readonly sessions: ReadonlyMap<string, readonly Segment[]>;
  readonly picture: Json;
}

/** What was acknowledged before the cut and is not in the image. */
export interface Lost {
  readonly inputs: number;
  /** Commits of turns and changes, answers, cancels. */
  readonly commits: number;
  /** Answers of effects in journals, and forks. */
  readonly events: number;
}

export interface Verdict {
  /** The store opened and found no damage. */
  readonly isOpened: boolean;
  readonly lost: Lost;
  /** Effects whose answer had been recorded and that ran again. */
  readonly repeated: number;
  /** What breaks a promise. */
  readonly wrong: readonly string[];
}

type Began = Extract<Mark, { readonly kind: "began" }>;

/** What a power cut may cost. */
const MAY_LOSE: { readonly [S in Durability]: readonly (keyof Lost)[] } = {
  process: ["inputs", "commits", "events"],
  power: ["events"],
  "power-all": [],
};

/** A turn that waits for a person goes on when it was answered. When the answer was lost, it would wait for days. */
const STUCK_MS = 10_000;

const opened = (path: string): SqliteStore => sqlite(path, { durability: "process" });

/** Reads what the process has left, as it would be read without a cut. */
export async function wholeOf(left: Image, folder: string): Promise<Whole> {
  const store = opened(lay(left, folder));
  try {
    return {
      facts: await factsOf(store),
      sessions: await sessionsOf(store),
      picture: pictureOf(await remainsOf(store)),
    };
  } finally {
    store.close();
  }
}

/** Tries one image. When it is wrong as it is found, the agent is not let on it. */
export async function judge(cut: Cut, durability: Durability, whole: Whole, folder: string): Promise<Verdict> {
  const path = lay(cut.image, folder);
  const found = { isOpened: false, lost: { inputs: 0, commits: 0, events: 0 }, repeated: 0 };
  try {
    const seen = await look(path, cut, durability, whole);
    const { isOpened, lost } = seen;
    if (seen.wrong.length > 0) return { isOpened, lost, repeated: 0, wrong: seen.wrong };
    return { isOpened, lost, ...(await goOn(path, cut, durability, whole, seen)) };
  } catch (error) {
    return { ...found, wrong: [error instanceof Error ? (error.stack ?? error.message) : String(error)] };
  }
}

interface Seen extends Pick<Verdict, "isOpened" | "lost" | "wrong"> {
  /** Effects that are answered in the image, each as `turn effect`, and turns that have ended there. */
  readonly answered: ReadonlySet<string>;
  readonly ended: ReadonlySet<string>;
  readonly needsSomeone: boolean;
}

async function look(path: string, { marks }: Cut, durability: Durability, whole: Whole): Promise<Seen> {
  const store = opened(path);
  try {
    const damaged = await damage(store);
    const { answered, ended, journals } = await recordedIn(store);
    const wrong = [...damaged, ...(await beginning(store, whole)), ...(await missing(store, [...journals.values()]))];
    const lost = await lostIn(store, marks, answered);
    for (const kind of ["inputs", "commits", "events"] as const)
      if (lost[kind] > 0 && !MAY_LOSE[durability].includes(kind))
        wrong.push(`${lost[kind]} acknowledged ${kind} are lost`);
    const decided = durability === "process" ? [] : turnsOf(marks, "answered", "cancelled");
    const needsSomeone = await waitsForSomeone(store, decided);
    return { isOpened: damaged.length === 0, lost, wrong, answered, ended, needsSomeone };
  } finally {
    store.close();
  }
}

async function goOn(
  path: string,
  { marks }: Cut,
  durability: Durability,
  whole: Whole,
  { answered, ended, needsSomeone }: Seen,
): Promise<Pick<Verdict, "repeated" | "wrong">> {
  const began: Began[] = [];
  const tell = (mark: Mark): void => {
    if (mark.kind === "began") began.push(mark);
  };
  const wrong = needsSomeone ? [] : [...(await recovered(path, tell))];
  wrong.push(...(await playedOn(path, tell, whole)));
  for (const { turn, effect } of began)
    if (answered.has(`${turn} ${effect}`) || ended.has(turn)) wrong.push(`${effect} is in the image and ran again`);
  const recorded = new Set(marks.map((mark) => (mark.kind === "recorded" ? `${mark.turn} ${mark.effect}` : "")));
  const repeated = began.filter(({ turn, effect }) => recorded.has(`${turn} ${effect}`)).length;
  if (durability !== "power-all") return { repeated, wrong };
  if (repeated > 0) wrong.push(`${repeated} recorded effects ran again`);
  return { repeated, wrong: [...wrong, ...twice([...marks, ...began])] };
}

const turnsOf = (marks: readonly Mark[], ...kinds: readonly Mark["kind"][]): readonly string[] =>
  marks.flatMap((mark) => (kinds.includes(mark.kind) && "turn" in mark ? [mark.turn] : []));

async function damage(store: SqliteStore): Promise<readonly string[]> {
  return (await store.check({ deep: true })).map(({ item, problem }) => `${item}: ${problem}`);
}

/** What is there is how the whole history began: no fact out of order, no half turn. */
async function beginning(store: Store, whole: Whole): Promise<readonly string[]> {
  const facts = await factsOf(store);
  const wrong = isBeginning(facts, whole.facts) ? [] : ["its facts are no beginning of history"];
  for (const [id, segments] of await sessionsOf(store))
    if (!isBeginning(segments, whole.sessions.get(id) ?? [])) wrong.push(`session ${id} is not what it was`);
  return wrong;
}

const isBeginning = (some: readonly unknown[], all: readonly unknown[]): boolean =>
  isDeepStrictEqual(some, all.slice(0, some.length));

/** Every attachment that history or a journal names is there: a client that sends it again would hide its loss. */
async function missing(store: Store, journals: unknown): Promise<readonly string[]> {
  const text = JSON.stringify([journals, [...(await sessionsOf(store)).values()]]);
  const hashes = new Set(Array.from(text.matchAll(/"kind":"attachment","hash":"([^"]+)"/g), ([, hash]) => hash!));
  const wrong: string[] = [];
  for (const hash of hashes)
    if ((await store.blobs.get(asBlobHash(hash))) === undefined) wrong.push(`attachment ${hash} is missing`);
  return wrong;
}

async function lostIn(store: Store, marks: readonly Mark[], answered: ReadonlySet<string>): Promise<Lost> {
  const lost = { inputs: 0, commits: 0, events: 0 };
  const facts = await factsOf(store);
  const hasEnded = async (turn: string): Promise<boolean> => (await store.terminal(asTurnId(turn))) !== undefined;
  for (const mark of marks) {
    if (mark.kind === "accepted") lost.inputs += (await store.find(asTurnId(mark.turn))) === undefined ? 1 : 0;
    else if (mark.kind === "committed") lost.commits += (await hasEnded(mark.turn)) ? 0 : 1;
    else if (mark.kind === "changed")
      lost.commits += facts.some((fact) => "operation" in fact && fact.operation === mark.operation) ? 0 : 1;
    else if (mark.kind === "forked") lost.events += (await store.has(asSessionId(mark.session))) ? 0 : 1;
    else if (mark.kind === "recorded")
      lost.events += answered.has(`${mark.turn} ${mark.effect}`) || (await hasEnded(mark.turn)) ? 0 : 1;
  }
  return lost;
}

/** Whether a turn is open that only ends when someone decides, and nobody has. */
async function waitsForSomeone(store: Store, decided: readonly string[]): Promise<boolean> {
  for (const fact of await factsOf(store)) {
    if (fact.kind !== "accepted" || fact.turnId === undefined || !ASKING.some((key) => key === fact.key)) continue;
    if (!decided.includes(fact.turnId) && (await store.terminal(fact.turnId)) === undefined) return true;
  }
  return false;
}

/** Recovery alone ends every turn whose input is there; nobody sends anything again. */
async function recovered(path: string, tell: (mark: Mark) => void): Promise<readonly string[]> {
  const store = opened(path);
  const runtime = await open(store, tell);
  const isDone = await Promise.race([runtime.recover().then(() => true), sleep(STUCK_MS, false, { ref: false })]);
  const wrong = isDone ? leftOver(await remainsOf(store)) : [`recovery was not done after ${STUCK_MS} ms`];
  await runtime.close();
  return wrong;
}

/** The clients come back and send everything again, with the same keys: the end is that of the whole history. */
async function playedOn(path: string, tell: (mark: Mark) => void, whole: Whole): Promise<readonly string[]> {
  let store: SqliteStore | undefined;
  const runtime = await play(() => (store = opened(path)), tell);
  const remains = await remainsOf(store!);
  const wrong = [...(await damage(store!)), ...leftOver(remains)];
  await runtime.close();
  const picture = pictureOf(remains);
  if (!isDeepStrictEqual(picture, whole.picture))
    wrong.push(`the end is another: ${difference(picture, whole.picture)}`);
  return wrong;
}

/** What must not be in a store in which all is done. */
function leftOver({ wrong, inputs }: Remains): readonly string[] {
  const doubled = [...inputs].filter(([, count]) => count > 1).map(([input]) => `input ${input} is there twice`);
  return [...wrong.map(({ kind, problem }) => `${kind}: ${problem}`), ...doubled];
}

/** Calls of a tool that must not run twice, and did. */
function twice(marks: readonly Mark[]): readonly string[] {
  const seen = new Set<string>();
  return marks.flatMap((mark) => {
    if (mark.kind !== "began" || mark.once !== true) return [];
    const which = `${mark.turn} ${mark.effect}`;
    const isSecond = seen.has(which);
    seen.add(which);
    return isSecond ? [`${which} must not run twice, and did`] : [];
  });
}

async function factsOf(store: Store): Promise<readonly Change[]> {
  return store.changes(undefined, { max: 10_000 });
}

async function sessionsOf(store: Store): Promise<ReadonlyMap<string, readonly Segment[]>> {
  const found = new Map<string, readonly Segment[]>();
  for (const { id } of await store.list()) found.set(id, [...(await store.view(id))].reverse());
  return found;
}

/**
 * All sessions, with attachments and whether their bytes are there. A payment that was under way at the cut is paid or
 * unknown.
 */
function pictureOf({ picture: { sessions } }: Remains): Json {
  const messages = (session: PictureOfSession) =>
    session.messages.map((message) => (/^(paid|Unknown: )/.test(message.text) ? "paid or unknown" : message));
  return Object.fromEntries(
    Object.entries(sessions).map(([id, session]) => [id, { ...session, messages: messages(session) }]),
  ) as unknown as Json;
}

function difference(a: Json, b: Json): string {
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
  const at = [...left].findIndex((letter, index) => letter !== right[index]);
  return `${left.slice(Math.max(0, at - 60), at + 80)} instead of ${right.slice(Math.max(0, at - 60), at + 80)}`;
}
