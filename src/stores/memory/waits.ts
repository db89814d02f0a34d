import type { JobId, SessionId, TurnId, WaitId, WaitKey } from "../../model/ids.ts";
import { type WaitAbout, type WaitAnswer, type WaitedTurns, waitIdOf } from "../../model/wait.ts";
import type { Mail, NewWait, Store, StoredWait } from "../store.ts";
import { cursorOf, type Facts } from "./facts.ts";
import { isStill, type JobRows } from "./job-rows.ts";
import type { JobRow, Run, SessionRow, WaitRow } from "./rows.ts";
import type { Sessions } from "./sessions.ts";
import { stateOf, type Turns } from "./turns.ts";

/**
 * What open turns and jobs wait for, and what is told of it.
 *
 * 1. A wait that was asked is a fact, and so is its answer. One that is early is none yet; turns that are waited for are
 *    never one.
 * 2. Turns and jobs that are waited for are answered by nobody: whether they are over is read from their own rows.
 * 3. The answer to a wait of a job is an event of that job, written with it.
 */
export class Waits {
  /** The waits of open turns, and of jobs that are not over. */
  readonly #byKey = new Map<WaitKey, WaitRow>();
  readonly #byId = new Map<WaitId, WaitRow>();
  /** The facts that they were asked, also of what has ended: a list goes on after them. */
  readonly #askedAs = new Map<WaitId, number>();
  /** Those that somebody is asked about and nobody has answered, in the order of their facts. */
  readonly #asked = new Set<WaitRow>();
  readonly #facts: Facts;
  readonly #sessions: Sessions;
  readonly #turns: Turns;
  readonly #jobs: JobRows;

  constructor(facts: Facts, sessions: Sessions, turns: Turns, jobs: JobRows) {
    this.#facts = facts;
    this.#sessions = sessions;
    this.#turns = turns;
    this.#jobs = jobs;
  }

  add(by: Run | JobRow, waits: readonly NewWait[]): void {
    const [turn, job] = "turn" in by ? [by.turn, undefined] : [undefined, by];
    for (const wait of waits) {
      const row = this.#byKey.get(wait.key) ?? this.#new(by, wait);
      const isOwn = row.turn === turn && row.job === job;
      if (isOwn && row.asked === undefined && wait.isEarly === undefined) this.#ask(row, wait);
    }
  }

  #new(by: Run | JobRow, { key, effect, at, until, about }: NewWait): WaitRow {
    const blank = { asked: undefined, askedIn: undefined, answered: undefined, answer: undefined };
    const who =
      "turn" in by
        ? { session: by.turn.session, turn: by.turn, job: undefined }
        : { session: by.session, turn: undefined, job: by };
    const row: WaitRow = { id: waitIdOf(key), ...who, key, effect, at, until, about, ...blank };
    this.#byKey.set(key, row);
    this.#byId.set(row.id, row);
    if ("turn" in by) by.waits = [...(by.waits ?? []), row];
    else by.rare = { ...by.rare, waits: [...(by.rare?.waits ?? []), row] };
    return row;
  }

  /** The turn or the job has come to wait: an answer that came before is told after the question. */
  #ask(row: WaitRow, { effect, at, until, about }: NewWait): void {
    Object.assign(row, { effect, at, until, about });
    if (about.kind === "turns") return;
    row.asked = this.#facts.add(row);
    row.askedIn = row.session;
    this.#askedAs.set(row.id, row.asked);
    if (row.answer === undefined) this.#asked.add(row);
    else row.answered = this.#facts.add(row);
  }

  resolve(key: WaitKey, answer: WaitAnswer, now: number): Awaited<ReturnType<Store["waits"]["resolve"]>> {
    const row = this.#byKey.get(key);
    if (row === undefined || row.answer?.kind === "revoked") return { said: "unknown" };
    const isForNobody = row.about.kind === "turns" && answer.kind === "value";
    if (isForNobody) return { said: "unknown" };
    const { job } = row;
    const whose = job === undefined ? { sessionId: row.session.id } : { jobId: job.job.id };
    if (this.#answerTo(row) !== undefined) return { said: "already-resolved", ...whose };
    if (answer.kind === "value" && now >= row.until) return { said: "expired", ...whose };
    row.answer = answer;
    if (row.asked !== undefined) row.answered = this.#facts.add(row);
    this.#asked.delete(row);
    if (job === undefined) tell(row.session.run!, key, answer);
    else {
      this.#jobs.write(job, `wait/${row.id}`, { kind: "resolved", at: now, wait: row.id, answer });
      this.#jobs.wake(job);
    }
    return { said: "accepted", ...whose };
  }

  /** What was answered, in that order, and then the turns that are over (2). */
  resolved({ waits, resolved = NONE }: Run): NonNullable<Mail["resolved"]> {
    const over = waits?.filter((row) => row.answer === undefined && this.#isOver(row.about)) ?? [];
    return over.length === 0 ? resolved : [...resolved, ...over.map((row) => ({ key: row.key!, answer: OVER }))];
  }

  /** Whether one of these waits of a turn is answered. */
  isAnswered({ waits = [] }: Run, keys: ReadonlySet<WaitKey>): boolean {
    return waits.some((row) => keys.has(row.key!) && this.#answerTo(row) !== undefined);
  }

  /** Whether turns that a parked one waits for are over. */
  isOver({ waits, parked }: Run): boolean {
    return waits?.some((row) => parked?.waits.has(row.key!) && this.#isOver(row.about)) ?? false;
  }

  #answerTo({ answer, about }: WaitRow): WaitAnswer | undefined {
    return answer ?? (this.#isOver(about) ? OVER : undefined);
  }

  #isOver(about: WaitAbout | WaitedTurns): boolean {
    if (about.kind !== "turns") return false;
    const { turns, jobs = [], need } = about;
    return need === "all"
      ? turns.every(this.#hasEnded) && jobs.every(this.#isStill)
      : turns.some(this.#hasEnded) || jobs.some(this.#isStill);
  }

  readonly #isStill = (id: JobId): boolean => isStill(this.#jobs.byId.get(id));

  readonly #hasEnded = ({ turnId }: { readonly turnId: TurnId }): boolean => {
    const turn = this.#turns.byId.get(turnId);
    const state = turn === undefined ? "ended" : stateOf(turn);
    return state === "ended" || state === "withdrawn";
  };

  list({ session, tree, after, max }: Parameters<Store["waits"]["list"]>[0]): readonly StoredWait[] {
    const last = after === undefined ? 0 : this.#askedAs.get(after);
    if (last === undefined) return []; // Its session was deleted, or nobody was asked.
    const only = tree === undefined ? undefined : new Set(this.#sessions.tree(tree).map(({ id }) => id));
    const isMeant = ({ id }: SessionRow): boolean =>
      (session === undefined || id === session) && (only?.has(id) ?? true);
    const found: StoredWait[] = [];
    for (const row of this.#asked) {
      if (found.length >= max) break;
      if (row.asked! > last && isMeant(row.session)) found.push(this.#shown(row, row.about as WaitAbout));
    }
    return found;
  }

  get(id: WaitId): StoredWait | undefined {
    const row = this.#byId.get(id);
    return row === undefined || row.about.kind === "turns" ? undefined : this.#shown(row, row.about);
  }

  #shown(row: WaitRow, about: WaitAbout): StoredWait {
    const { id, key, session, turn, job, effect, at, until, asked, answer, answered } = row;
    return {
      id,
      key: key!,
      sessionId: session.id,
      path: this.#path(session),
      ...(turn === undefined ? { jobId: job!.job.id } : { turnId: turn.id }),
      effect,
      at,
      until,
      about,
      ...(asked === undefined ? {} : { askedAs: cursorOf(asked) }),
      ...(answer === undefined ? {} : { answer }),
      ...(answered === undefined ? {} : { answeredAs: cursorOf(answered) }),
    };
  }

  #path(session: SessionRow): readonly SessionId[] {
    const path = new Set<SessionId>();
    for (let id: SessionId | undefined = session.id; id !== undefined && !path.has(id); ) {
      path.add(id);
      id = this.#sessions.byId.get(id)?.parentId;
    }
    return [...path].reverse();
  }

  /** A job is handed over: whoever asks in its new session finds what it waits for. */
  move({ rare, session }: JobRow): void {
    for (const row of rare?.waits ?? []) if (row.answer === undefined) row.session = session;
  }

  /** Forgets of the waits of a turn or a job that is over what only one needs that is not. */
  end(waits: readonly WaitRow[] = []): void {
    for (const row of waits) {
      this.#byKey.delete(row.key!);
      this.#asked.delete(row);
      this.#byId.delete(row.id);
      row.key = undefined;
      if (row.answer?.kind === "value") {
        const { by } = row.answer;
        row.answer = { kind: "value", value: null, ...(by === undefined ? {} : { by }) };
      }
    }
  }

  forget(rows: readonly WaitRow[]): void {
    for (const { id } of rows) this.#askedAs.delete(id);
  }
}

function tell(run: Run, key: WaitKey, answer: WaitAnswer): void {
  run.resolved = [...(run.resolved ?? []), { key, answer }];
  if (run.parked?.waits.has(key)) run.parked.hasMail = true;
}

const NONE: NonNullable<Mail["resolved"]> = [];
const OVER: WaitAnswer = { kind: "value", value: null };
