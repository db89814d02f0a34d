// long: one contract
import type { Segment, ViewPage } from "../graph/segment.ts";
import type { Awaitable } from "../model/awaitable.ts";
import type { SessionConfig } from "../model/config.ts";
import type { Preview } from "../model/event.ts";
import type {
  BlobHash,
  Cursor,
  EffectName,
  InputId,
  JobCursor,
  JobId,
  NodeId,
  SessionId,
  TurnId,
  WaitId,
  WaitKey,
} from "../model/ids.ts";
import type { JobEvent, JobKind, JobRecord, NewJob } from "../model/job.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { Draft } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import type { CancelAnswer, CancelRequest, TurnOutcome } from "../model/outcome.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { Delivery, NewOccurrence, Occurrence, Subscription } from "../model/trigger.ts";
import type { Spent, Usage } from "../model/usage.ts";
import type { WaitAbout, WaitAnswer, WaitedTurns, WaitKind } from "../model/wait.ts";
import type { Opened, PluginState, TurnEvent } from "../turn/event.ts";

export type { Segment, ViewPage } from "../graph/segment.ts";
export type { CancelAnswer, CancelRequest } from "../model/outcome.ts";

/** A plugin's state as last committed. `revision` counts its changes. */
export interface PluginSnapshot extends PluginState {
  readonly version: string;
  readonly revision: number;
}
export type PluginSnapshots = { readonly [plugin: string]: PluginSnapshot };
/** The options of plugins for one session, by plugin id, as they were given: JSON, and not yet parsed. */
export type SessionOptions = { readonly [plugin: string]: Json };

export interface NewSession {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** The session's own settings; for all others the runtime's hold. */
  readonly config: Partial<SessionConfig>;
  readonly at: number;
  /** With it, an existing session of this id is the error `session.exists` and not the answer. */
  readonly isNew?: true;
  /** Plugin states to begin with. In a fork they replace the copied states of the same plugins. */
  readonly plugins?: PluginSnapshots;
  /** A fork without options of its own has those of its origin. */
  readonly options?: SessionOptions;
}

export interface StoredSession {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** The session that this one was forked from, and the node where it begins. */
  readonly origin?: { readonly sessionId: SessionId; readonly at?: NodeId };
  readonly createdAt: number;
  readonly config: Partial<SessionConfig>;
  /** Counts commits: the head moves with it and with nothing else. */
  readonly revision: number;
  readonly head?: NodeId;
  readonly plugins: PluginSnapshots;
  /** Left out when there are none. */
  readonly options?: SessionOptions;
  readonly usage: Usage;
  /** The usage by source and model, a row each. */
  readonly ledger: readonly Spent[];
  readonly turns: number;
  /** The turn that is open, whoever holds it. */
  readonly openTurn?: TurnId;
}

export interface NewInput {
  readonly id: InputId;
  readonly sessionId: SessionId;
  /** The turn this input opens, unless a running turn takes it at a boundary. An injected one opens none. */
  readonly turnId: TurnId;
  readonly key?: string;
  readonly message: Draft;
  /**
   * `boundary`: a running turn may take it; else it is the next turn. `injected`: a running turn, or else the next one,
   * takes it at a boundary; it opens no turn itself.
   */
  readonly place: "boundary" | "turn" | "injected";
  /** What the caller asks of the turn that this input opens, besides an answer. */
  readonly wants?: TurnWants;
  /** Hash of what the caller sent. The same key with another hash is `input.conflict`. */
  readonly hash: string;
  readonly at: number;
}
export interface TurnWants {
  readonly prompt?: readonly PromptPart[];
  /** JSON Schema of a typed result. */
  readonly output?: JsonObject;
  readonly unwraps?: true;
  /** Input for plugins, by the id of the extension. */
  readonly extensions?: JsonObject;
}
export interface PendingInput extends NewInput {
  /** Ascends with acceptance in one session, not without gaps. */
  readonly seq: number;
}

/**
 * Nodes that were to be appended, or something that was paid, while a turn was open. That turn takes them in at a
 * boundary, or its commit keeps them.
 */
export interface PendingAppend {
  readonly id: InputId;
  readonly operation: string;
  /** As they would be after the head, with the ids of the operation. */
  readonly entries: readonly Entry[];
  readonly spent?: readonly Spent[];
  readonly seq: number;
}

export interface Owner {
  readonly id: string;
  /** host, boot, pid and start time, so that on one machine a dead holder is proven dead. */
  readonly process: string;
}
/**
 * The right to go on with a turn, for a while. A store may run on another machine with another clock, so it answers no
 * times but durations: the host adds `heldMs` to the time before it sent the call; past that nothing outward starts. That
 * time is the `now` which it gave with the call, and for `accept` the input's `at`.
 */
export interface Lease {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** Every takeover adds 1; writes of an older generation change nothing. */
  readonly generation: number;
  readonly owner: Owner;
  /** How long it holds without being renewed, counted from before the call that took it was sent. */
  readonly heldMs: number;
  /** The session's revision, read in the write that took the lease: the turn runs on that head. */
  readonly revision: number;
  /**
   * How many sweeps of blobs were begun before this lease was taken; absent if none was. What a turn under
   * the same count has put is there, and stays until this turn ends.
   */
  readonly sweeps?: number;
}

/** What else a turn begins with, as it is in the write that opens it. */
export interface Standing extends Pick<StoredSession, "plugins" | "options"> {
  /** Injected inputs wait for the turn. */
  readonly hasInjected?: true;
}
/**
 * Makes the first event of a turn from an input and the session's own config as it is now; the store adds the
 * generation. Pure: it may run inside a transaction, and again.
 */
export type Opening = (
  input: NewInput,
  config: Partial<SessionConfig>,
  standing: Standing,
) => Omit<Opened, "generation">;

/** The answer to an acceptance. The input is durable before anyone is given it. */
export type Receipt =
  | {
      readonly kind: "opened";
      readonly inputId: InputId;
      readonly turnId: TurnId;
      readonly lease: Lease;
      readonly opened: Opened;
    }
  | { readonly kind: "queued"; readonly inputId: InputId; readonly turnId: TurnId }
  /** The same key and content came before: as this input, for this turn. */
  | { readonly kind: "known"; readonly inputId: InputId; readonly turnId: TurnId };

export type OpenAnswer =
  /** A turn was open and nobody holds it any more: fold the journal and go on. */
  | { readonly kind: "resumed"; readonly lease: Lease; readonly journal: readonly TurnEvent[] }
  /** The open turn is parked and has no mail: nothing was taken. It has some at `wakeAt`, if not before. */
  | { readonly kind: "parked"; readonly turnId: TurnId; readonly wakeAt: number }
  /** The oldest waiting input became a turn. */
  | { readonly kind: "opened"; readonly lease: Lease; readonly opened: Opened }
  /** Somebody has it, and the lease still holds for so long, at least. */
  | { readonly kind: "busy"; readonly holder: Owner; readonly forMs: number }
  | { readonly kind: "idle" };

/** How long the lease holds after a write under it, and what the store knows besides. */
export interface Appended {
  /** Counted from before the call was sent. */
  readonly heldMs: number;
  /**
   * Whether something waits for a boundary of this turn: inputs or appends that it could claim there, or has claimed.
   * Inputs that would open turns of their own need not be counted: whoever merges them asks. Left out where the store does
   * not know without looking.
   */
  readonly pending?: boolean;
}

/** What came for a turn since it last looked. */
export interface Mail extends Appended {
  readonly cancel?: CancelRequest;
  /** Every mail names all answered waits of the turn; the receiver drops those it has folded. */
  readonly resolved?: readonly { readonly key: WaitKey; readonly answer: WaitAnswer }[];
  /** Somebody in another process follows the turn: what it shows is wanted there (`live`). */
  readonly isFollowed?: true;
}

/** What a turn waits for. The row is written with the event that made it, or earlier inside the effect. */
export interface NewWait {
  readonly key: WaitKey;
  readonly effect: EffectName;
  /** When it was asked, and until when it can be answered. */
  readonly at: number;
  readonly until: number;
  readonly about: WaitAbout | WaitedTurns;
  /**
   * The turn has not come to wait yet. It can be answered, so that an answer which comes first is not lost; it is listed,
   * and a fact, once it is given again without this.
   */
  readonly isEarly?: true;
}

/** A wait of an open turn, or of a job that is not over, that somebody is asked about. */
export interface StoredWait {
  readonly id: WaitId;
  readonly key: WaitKey;
  readonly sessionId: SessionId;
  /** From the root of its tree to its session, both included. */
  readonly path: readonly SessionId[];
  /** Either of these two. */
  readonly turnId?: TurnId;
  readonly jobId?: JobId;
  readonly effect: EffectName;
  readonly at: number;
  readonly until: number;
  readonly about: WaitAbout;
  /** The fact that it was asked; left out while it is early. */
  readonly askedAs?: Cursor;
  readonly answer?: WaitAnswer;
  /** The fact that it was answered. */
  readonly answeredAs?: Cursor;
}

/** A turn that does nothing but wait, and gives up its lease. */
export interface ParkedTurn {
  readonly turnId: TurnId;
  /** The earliest time at which one of its waits or sleeps is over. */
  readonly wakeAt: number;
  /** The waits that are open. An answer to any other one was folded, or is not wanted any more. */
  readonly waits: readonly WaitKey[];
  /** The cancel that the turn has folded. */
  readonly cancel?: string;
}
export type ParkAnswer =
  | { readonly kind: "parked" }
  /** Something came first: nothing was released. */
  | { readonly kind: "mail"; readonly mail: Mail };

// ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The right of a process to go on with a job. Its end in time is that of the process: see `jobs.renew`. */
export interface JobLease {
  readonly jobId: JobId;
  /** Every claim adds 1; writes of an older generation change nothing. */
  readonly generation: number;
  readonly owner: Owner;
}

/** An event under its key, which counts once in a job: a second event of that key is not written. */
export interface KeyedEvent {
  readonly key: string;
  readonly event: JobEvent;
}
export interface StoredJobEvent extends KeyedEvent {
  /** 1 for `spawned`; ascends by 1. */
  readonly seq: number;
}

export interface StoredJob {
  readonly record: JobRecord;
  /** How many events there are. */
  readonly seq: number;
  /** The latest of them in the order of all events of jobs. */
  readonly cursor: JobCursor;
}

export interface ClaimedJob extends StoredJob {
  readonly lease: JobLease;
  readonly events: readonly StoredJobEvent[];
  /** It is bound to an owner that is gone: all that may be written is that it was abandoned. */
  readonly isOrphan?: true;
}

/** What else is written with events of a job. */
export interface JobWrites {
  /** What the job waits for, to be listed and answered. The answer becomes an event of the job. */
  readonly waits?: readonly NewWait[];
  /**
   * Inputs for the session that has the job now, whatever they say; accepted in this write and told as `woke`. They open no turn here, are not counted by
   * `pendingMax`, and need a key of their own: one whose key is known, whatever its content, is neither accepted nor told
   * again. One that cannot be accepted is told as `lost`, and nothing fails; but when the bytes of an attachment are not
   * there, the write throws `store.swept`.
   */
  readonly wakes?: readonly NewInput[];
  /** No more wakes than this are accepted in the life of the job. */
  readonly wakesMax?: number;
  /** Gives up the lease: the job only waits. */
  readonly parks?: ParkedJob;
  /** Lines that the job says. They are no events: no fold and no feed tells of them, and old ones are dropped. */
  readonly says?: Saying;
}

/** A line that a job has said, for example one that the command of a monitor has printed. */
export interface JobLine {
  /** Counts up from 1 in the job, with gaps where lines were dropped. */
  readonly n: number;
  readonly at: number;
  /** What the command prints, its errors, or what its watcher says about it. */
  readonly channel: "out" | "err" | "note";
  readonly text: string;
}
export interface Saying {
  /** Those with a number that is not above the last one of the job were said before, and are passed over. */
  readonly lines: readonly JobLine[];
  /** The newest so many lines of the job are kept, taken or not. */
  readonly max: number;
}
/** What is left of what a job has said. */
export interface JobLines {
  /** Oldest first. */
  readonly lines: readonly JobLine[];
  /** The number of the last line that somebody took; 0 before. */
  readonly taken: number;
}

/** A job that does nothing but wait. Only rerunnable ones are parked: nobody could go on with another. */
export interface ParkedJob {
  /** How many events its holder has seen: if there are more, or a job that it awaits is over, nothing is released. */
  readonly seen: number;
  /** When it is to go on, if nothing comes before; left out where only an event can wake it. */
  readonly due?: number;
  /** It goes on when these jobs are over or idle: one of them, or all. */
  readonly awaits?: { readonly jobs: readonly JobId[]; readonly need: "any" | "all" };
}

export interface JobAppended {
  /** The events that stand under the keys that were sent, in that order: those sent, or those that were first. */
  readonly events: readonly StoredJobEvent[];
  readonly cursor: JobCursor;
  /** How many events there are. */
  readonly seq: number;
  /** Whether the job was parked, where that was asked. */
  readonly isParked?: boolean;
}

export interface JobsPage {
  /** Of one session; left out for all. */
  readonly session?: SessionId;
  /** Only those that are not over. */
  readonly isLive?: true;
  readonly visibility?: "hidden" | "managed";
  readonly kind?: JobKind;
  /** Only jobs that were made after this one. */
  readonly after?: JobId;
  readonly max: number;
}

// ── Other processes ─────────────────────────────────────────────────────────────────────────────────────────────────

/** A part of what a running turn shows. */
export interface Shown {
  /**
   * `first`: all that the turn has shown so far. `more`: what came since. `again`: nothing new, but all of it, so that
   * whoever comes now has few parts to read.
   */
  readonly part: "first" | "more" | "again";
  readonly previews: readonly Preview[];
  /** Something was left out before these: there was too much of it. */
  readonly isCut?: true;
}
export interface ShownRow extends Shown {
  readonly n: number;
}
/** What the open turn of a session shows now. */
export interface ShownTurn {
  readonly rows: readonly ShownRow[];
  /** The number of the newest part; left out when the open turn shows nothing, or there is none. */
  readonly last?: number;
  /** Whether more may come: a turn is open or waits to be opened; it is parked; or there is none. */
  readonly has: "turn" | "parked" | "nothing";
}

/** What another process did. Of a session: `fact` is anything that `changes` tells, `followed` that somebody follows it. */
export type Hint =
  | {
      readonly kind: "session";
      readonly sessionId: SessionId;
      readonly what: "input" | "cancel" | "resolved" | "fact" | "preview" | "followed";
    }
  | { readonly kind: "jobs" }
  /** Anything: hints may have been lost. */
  | { readonly kind: "all" };

// ── Triggers ────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface NewDelivery extends Delivery {
  /** Of the subscription: its revision alone could be that of another one, which was made under the same id since. */
  readonly incarnation: string;
  /** The job that it is, of the id `jobId`. */
  readonly job?: NewJob;
}

/** A subscription goes on to its next time, or its next commit. */
export interface MovedTrigger {
  readonly sessionId: SessionId;
  readonly id: string;
  readonly incarnation: string;
  /** What it waits for was read at this revision: by another one, `to` could be no time of it. */
  readonly revision: number;
  /** Where it must stand, and where it then stands: both fields are compared, and both are set. */
  readonly from: Pick<Subscription, "next" | "after">;
  readonly to: Pick<Subscription, "next" | "after">;
}

export type OccurAnswer =
  | { readonly kind: "occurred" | "known"; readonly occurrence: Occurrence }
  | { readonly kind: "stale" };

/** What becomes of something that is sent to a job by others than its holder. */
export interface JobSent {
  /** `known`: an event of this key was there. `over`: it had ended. `bound`: only its holder may say this. */
  readonly said: "accepted" | "known" | "over" | "bound" | "unknown";
  /** As it stands now; left out when it is unknown. */
  readonly job?: StoredJob;
}

/** What is to be done in a store, for whoever looks. */
export interface Agenda {
  /**
   * Sessions with work that nobody holds: a turn whose lease has lapsed, inputs that wait to open one, a parked turn with
   * mail: a cancel, an answer to an open wait, turns that have ended, or its time has come.
   */
  readonly sessions: readonly SessionId[];
  /** The earliest time at which a parked turn, a schedule, or a job that was asked about has something to do by itself. */
  readonly next?: number;
  /** There are jobs to claim, of those that were asked about. */
  readonly hasJobs?: true;
  /** Schedules are due; `next` tells of those that will be. */
  readonly hasSchedules?: true;
  /** Some enabled subscription waits for commits. */
  readonly hasCommits?: true;
  /** The latest event of a job. */
  readonly jobs?: JobCursor;
  /** The cursor of the latest fact, as `latest()` answers it. */
  readonly latest?: Cursor;
  /** How many sessions were ever deleted. */
  readonly gone: number;
}

export interface EndedTurn {
  readonly turnId: TurnId;
  readonly at: number;
  readonly outcome: TurnOutcome;
  readonly entries: readonly Entry[];
  readonly plugins: PluginSnapshots;
  /** The usage of the whole turn, nested calls included. */
  readonly usage: Usage;
  readonly spent: readonly Spent[];
  /** The inputs that the turn settles, exactly. Others that it claimed go back to the queue. */
  readonly inputs: readonly InputId[];
  /** The head the turn ran on. */
  readonly base?: NodeId;
  /** The cancel that the turn has folded; another one that is waiting reopens it. */
  readonly cancel?: string;
  /** Operations that are part of the turn. */
  readonly parts?: readonly PartOperation[];
  /** The session's own settings, where operations changed them while the turn waited. A turn beside the path sets none. */
  readonly config?: Partial<SessionConfig>;
  /** Jobs that were begun by answers of which no append tells: the commit writes them. */
  readonly spawns?: readonly JobSpawn[];
}

/** A job that is begun with something else. */
export interface JobSpawn {
  readonly job: NewJob;
  /** Of a job that is bound to its owner: that owner. It holds the job from the beginning, under generation 1. */
  readonly owner?: Owner;
}

/** An operation that is part of a turn or of another change: a repeat finds its receipt, and does nothing. */
export interface PartOperation {
  readonly operation: string;
  readonly receipt: Json;
}

export type CommitAnswer =
  | Committed
  /** A cancel came that the turn has not folded. Fold it and commit again. */
  | { readonly kind: "reopen"; readonly cancel: CancelRequest };

export interface Committed {
  readonly kind: "committed";
  readonly revision: number;
  readonly head?: NodeId;
  readonly cursor: Cursor;
  /** Set when the head had moved meanwhile: the turn was kept beside the path, up to this node, and the head stayed. */
  readonly branch?: NodeId;
}

export interface Terminal {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly at: number;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  readonly committed: Committed;
}

/** A change of a session between turns: appended nodes, a command's state, a new config. */
export interface SessionChange {
  readonly sessionId: SessionId;
  /** The same operation with the same content again is answered as the first time; other content is `append.conflict`. */
  readonly operation: string;
  readonly at: number;
  /** The kind of change, for observers; `command` unless given. */
  readonly by?: ChangedBy;
  /** The revision that the change was worked out on; without it the change holds on any. */
  readonly base?: number;
  /** A node that must be on the active path; else the change is `stale`. */
  readonly requires?: NodeId;
  readonly entries?: readonly Entry[];
  /** The states of plugins that changed; the others stay. */
  readonly plugins?: PluginSnapshots;
  readonly config?: Partial<SessionConfig>;
  readonly spent?: readonly Spent[];
  /** Kept with the operation, for a repeat. */
  readonly receipt?: Json;
  readonly parts?: readonly PartOperation[];
  /**
   * Of a change that has entries or `spent` alone: while a turn is open it is kept and waits (`PendingAppend`), if no more than
   * this wait with it; else `input.full`.
   */
  readonly queueMax?: number;
  /** Jobs that begin with the change. */
  readonly spawns?: readonly JobSpawn[];
}
export type ChangeAnswer =
  | Committed
  /** A turn is open: only its lease moves the head. */
  | { readonly kind: "busy" }
  /** It waits for the open turn, or that turn has taken it. */
  | { readonly kind: "queued" }
  /** The session has moved since `base`, or left the required node, or an append of this name was part of something else. */
  | { readonly kind: "stale"; readonly revision: number };

/** What is known of an operation: a change, one that waits, or a part of a turn or of another change. */
export type FoundOperation =
  | { readonly kind: "done"; readonly committed?: Committed; readonly receipt?: Json }
  | { readonly kind: "queued" };

export type ChangedBy = "append" | "configure" | "compact" | "command" | "completion";

/** One input, by its id or the caller's key; or this one and all that came after it. */
export type InputRef = { readonly id: InputId } | { readonly key: string } | { readonly from: InputId };
/** The answer for one input. Only one that waits can be withdrawn; its key is then free again. */
export interface Withdrawal {
  readonly inputId: InputId;
  /** Left out for an injected input. */
  readonly turnId?: TurnId;
  readonly answer: "withdrawn" | "taken" | "ended";
}

export interface FoundTurn {
  readonly sessionId: SessionId;
  /**
   * `parked`: it is open and only waits. `taken`: another open turn has claimed its input. `ended`: also when another
   * turn settled its input.
   */
  readonly state: "waiting" | "open" | "parked" | "taken" | "ended" | "withdrawn";
}

/**
 * A fact: something durable that happened to a session, and its place in the order of all facts. That of an injected
 * input has no `turnId`: it opens no turn.
 */
export type Change = { readonly cursor: Cursor; readonly sessionId: SessionId } & (
  | { readonly kind: "accepted"; readonly turnId?: TurnId; readonly inputId: InputId; readonly key?: string }
  | ({ readonly kind: "committed"; readonly nodes: readonly NodeId[]; readonly frames?: readonly NodeId[] } & (
      | {
          readonly by: "turn";
          readonly turnId: TurnId;
          readonly outcome: TurnOutcome;
          readonly usage: Usage;
          readonly branch?: NodeId;
        }
      | { readonly by: ChangedBy; readonly operation: string }
    ))
  /** An open turn, or a job, waits for somebody's answer: `turnId` or `jobId` is given. */
  | {
      readonly kind: "waiting";
      readonly turnId?: TurnId;
      readonly jobId?: JobId;
      readonly wait: WaitId;
      readonly effect: EffectName;
      readonly about: WaitAbout;
      readonly until: number;
    }
  | {
      readonly kind: "resolved";
      readonly turnId?: TurnId;
      readonly jobId?: JobId;
      readonly wait: WaitId;
      readonly effect: EffectName;
      readonly wants: WaitKind;
      readonly how: WaitAnswer["kind"];
      readonly by?: string;
    }
);

/** What one session of a tree has spent. */
export interface Booked extends Spent {
  readonly sessionId: SessionId;
}

/**
 * A store keeps sessions and their turns. All writes under a lease check its generation in the same step and throw
 * `lease.lost` when it moved; all are idempotent by the key named. A synchronous member may answer without a promise.
 */
export interface Store {
  readonly kind: string;
  /** Whether a killed process loses nothing. */
  readonly isDurable: boolean;
  /** Throws what keeps the store from being used, such as a server that refuses. */
  ready?(): Awaitable<void>;
  /**
   * Tells what other processes did, so that this one looks at once and not at its next poll; the answer ends it. Hints may
   * be lost, come late or twice, and be about what this process did itself: whoever relies on one polls too.
   */
  hints?(listener: (hint: Hint) => void): () => void;

  /** Idempotent by id: an existing session is answered as it is. Throws `session.deleted` for a used id. */
  create(session: NewSession): Awaitable<StoredSession>;
  /** The session as last committed; undefined if there is none, also when it was deleted. */
  load(id: SessionId): Awaitable<StoredSession | undefined>;
  /** Whether `load` would answer a session. It reads nothing of it, so a session that is damaged is there. */
  has(id: SessionId): Awaitable<boolean>;
  /** Sessions by id, ascending: all, the children of one, or the forks of one. */
  list(page?: {
    readonly after?: SessionId;
    readonly max?: number;
    readonly parent?: SessionId;
    readonly origin?: SessionId;
  }): Awaitable<readonly StoredSession[]>;
  /**
   * A second head over shared history, at a node of the active path or at the head. It takes the plugin states of the
   * last commit at or before that node. Throws `fork.unknown`, `fork.unpaired`, `session.unknown`.
   */
  fork(from: SessionId, to: NewSession, at?: NodeId): Awaitable<StoredSession>;
  /**
   * Replaces the options of these plugins in a session, also while a turn is open, which keeps its own. Those of other
   * plugins stay. Answers with all of them. Throws `session.unknown`.
   */
  setOptions(session: SessionId, options: SessionOptions): Awaitable<SessionOptions>;
  /**
   * Final. Waits are revoked, pending inputs dropped, jobs and subscriptions removed: holders of jobs lose the lease. Of
   * what has happened its deliveries go, and what only its own subscriptions waited for. The id is never used again; shared
   * history of forks stays.
   */
  delete(id: SessionId): Awaitable<void>;

  /**
   * Segments of the path that ends at `from` (default: the head), newest first; the first may be cut at `from`. `from`
   * may lie on a branch. Throws `session.unknown`, and `fork.unknown` when there is no such node.
   */
  view(session: SessionId, page?: ViewPage): Awaitable<readonly Segment[]>;
  /** Whether a node is on the path to the head. Throws `session.unknown`. */
  holds(session: SessionId, node: NodeId): Awaitable<boolean>;

  /**
   * Keeps an input; on an idle session with nothing waiting it opens the turn in the same write. Throws
   * `session.unknown`, `input.conflict`, `input.full`, and `store.swept` when the bytes of an attachment are not there.
   */
  accept(input: NewInput, owner: Owner, opening: Opening | undefined, pendingMax: number): Awaitable<Receipt>;
  /**
   * Takes the session over if nobody holds it; a live lease of the same owner is `busy` too. A parked turn is taken when
   * it has mail, or `forOperation`. Throws `session.unknown`.
   */
  open(session: SessionId, owner: Owner, now: number, opening: Opening, forOperation?: true): Awaitable<OpenAnswer>;
  /** Prolongs the lease and brings the turn's mail. */
  renew(lease: Lease, now: number): Awaitable<Mail>;
  /** Lets another worker resume the turn at once. A stale release is harmless. */
  release(lease: Lease): Awaitable<void>;
  /**
   * Key: (turn, seq of the first event), where `opened` has 0; a gap, or other content at a seq, throws
   * `append.conflict`. Waits and jobs are rows written with the event that made them: both are there or neither. An
   * append renews the lease and answers how long it holds; mail comes with `renew` only. Jobs that begin with an append,
   * a commit or a change are not counted, and throw `session.unknown`; one whose id is taken is left as it is.
   */
  append(
    lease: Lease,
    seq: number,
    events: readonly TurnEvent[],
    now: number,
    waits?: readonly NewWait[],
    spawns?: readonly JobSpawn[],
  ): Awaitable<Appended>;
  /**
   * Gives up the lease of a turn that only waits, unless mail came that it has not folded. The session stays the turn's;
   * whoever has mail for it finds it in the agenda. The lease writes nothing more; the same call again is answered as
   * before, until somebody takes the turn.
   */
  park(lease: Lease, parked: ParkedTurn, now: number): Awaitable<ParkAnswer>;
  /** The turn's events in order, without the first `after`; none once the turn has ended. */
  journal(turn: TurnId, after: number): Awaitable<readonly TurnEvent[]>;
  /**
   * Keeps the whole turn or none of it: nodes, head, plugin states, settled inputs, usage, receipt, the end of journal
   * and lease. In the same write, appends that waited for it and that it does not settle are applied, in their order;
   * and jobs whose parent it is, and that are to end with their parent, are sent a cancel (see `jobs.send`), also those
   * that begin with this write. The same content again (nodes, outcome, plugin states, usage, inputs) is answered by
   * the first receipt, whatever the generation; other content is `store.conflict`, or `lease.lost` when the turn was taken
   * over meanwhile.
   */
  commit(lease: Lease, ended: EndedTurn): Awaitable<CommitAnswer>;

  /**
   * Makes a change between turns, whole or not at all. Entries become the nodes `(operation, index)`, so operations are
   * named uniquely over all sessions. Throws `store.swept` when bytes that were put for it are not there any more.
   */
  apply(change: SessionChange): Awaitable<ChangeAnswer>;

  readonly operations: {
    /** Undefined when there is none of this name in the session. */
    find(session: SessionId, operation: string): Awaitable<FoundOperation | undefined>;
    /**
     * Notes work of an operation, so that a rerun is given the recorded value until the operation is applied; after that
     * none is kept. The first write wins; without a value it only reads. Throws `session.unknown`.
     */
    note(session: SessionId, operation: string, key: string, value?: Json): Awaitable<Json | undefined>;
  };

  /**
   * Asks a turn to end; the first request wins. A turn of another session than the one named is `unknown`, and so is
   * that of an injected input, which opens none. An input that waits is from then on claimed by no other turn: its own
   * turn opens and is told.
   */
  cancel(turn: TurnId, request: CancelRequest, session?: SessionId): Awaitable<CancelAnswer>;
  /** What became of a turn; undefined when there is none, also when its session was deleted. */
  find(turn: TurnId): Awaitable<FoundTurn | undefined>;
  /**
   * How a turn ended; undefined before. When another turn took its input and settled it, this is how that one ended, as
   * `cancel` answers too.
   */
  terminal(turn: TurnId): Awaitable<Terminal | undefined>;

  readonly inputs: {
    /** Inputs that wait, oldest first. */
    list(session: SessionId): Awaitable<readonly PendingInput[]>;
    /** Whether an input was accepted under this key and not withdrawn: `accept` would answer `known`, or throw. */
    holds(session: SessionId, key: string): Awaitable<boolean>;
    /** Withdraws what waits of the named inputs in one write, and answers for each of them, oldest first. */
    withdraw(session: SessionId, which: InputRef): Awaitable<readonly Withdrawal[]>;
    /**
     * Inputs that a running turn may take at this boundary, oldest first. The same boundary is given the same inputs
     * again. With `true` also inputs that would open turns of their own, up to the first that wants something of its turn;
     * with `appends` appends alone. Inputs whose turn was cancelled are passed over. Injected inputs and appends that wait
     * are among them.
     */
    claim(
      lease: Lease,
      boundary: EffectName,
      max: number,
      takes?: true | "appends",
    ): Awaitable<readonly (PendingInput | PendingAppend)[]>;
  };

  readonly waits: {
    /**
     * Waits that nobody has answered, oldest first: of all sessions, of one, or of one and all that descend from it.
     * `after` may be answered, or its turn over, meanwhile; none come after one whose session was deleted.
     */
    list(page: {
      readonly session?: SessionId;
      readonly tree?: SessionId;
      readonly after?: WaitId;
      readonly max: number;
    }): Awaitable<readonly StoredWait[]>;
    /** A wait of an open turn, answered or not. Undefined for turns that are waited for, which nobody answers. */
    get(id: WaitId): Awaitable<StoredWait | undefined>;
    /**
     * The first answer wins, and is kept until the turn looks; that of a job's wait is written as its event `resolved`,
     * under the key `wait/<id>`. `expired`: it came at `until` or later, and was not kept. `unknown`: no open turn and no
     * job has such a wait, or it was revoked. With the session whose turn waits, or the job.
     */
    resolve(
      key: WaitKey,
      answer: WaitAnswer,
      now: number,
    ): Awaitable<{
      readonly said: "accepted" | "already-resolved" | "expired" | "unknown";
      readonly sessionId?: SessionId;
      readonly jobId?: JobId;
    }>;
  };

  /**
   * Notes nested paid work, so that a rerun of the effect is given the recorded value until the turn ends. The first
   * write wins; without a value it only reads.
   */
  note(turn: TurnId, effect: EffectName, key: string, value?: Json): Awaitable<Json | undefined>;
  /** Notes that an effect begins. `again` when it was begun before and so may have run, or the turn is not open. */
  attempt(turn: TurnId, effect: EffectName): Awaitable<"first" | "again">;
  /**
   * What is to be done now, with at most `max` sessions; whether schedules are due; and whether there are jobs to claim,
   * for a process that has these `operations`. Cheap where nothing is: every runtime asks once a second.
   */
  agenda(now: number, max: number, operations?: readonly string[]): Awaitable<Agenda>;

  /**
   * Background work. The events of a job are the truth: its record is `foldJob` over them, kept with each write. An event
   * is known by its key and written once. Events of one job, and of all jobs, have an order that never changes.
   */
  readonly jobs: {
    /**
     * Begins a job: writes `spawned` under the key of that name, and for a job with an owner `started`. Idempotent by
     * id: the same job (its `at` aside) again is answered as it stands, another is `job.conflict`. Throws
     * `session.unknown`, and `job.full` when the session has `max` jobs that are not over.
     */
    spawn(spawn: JobSpawn, max: number): Awaitable<StoredJob>;
    /**
     * Takes jobs that nobody holds, oldest due first: rerunnable ones whose time has come, whose task is among
     * `operations` or which only deliver an input; and, as orphans, those that are bound to an owner which is gone. Each
     * claim is written as `started`, except of orphans. An owner is gone when its time is over, when it left, or when its
     * process is proven dead; one that never spawned, claimed or renewed has no time. A claim prolongs the time of its own
     * owner first: nobody is given a second time what it holds, however late it comes.
     */
    claim(owner: Owner, now: number, max: number, operations: readonly string[]): Awaitable<readonly ClaimedJob[]>;
    /**
     * Prolongs the time of an owner, and with it all its leases on jobs; answers how long they hold, counted as that of a
     * lease on a turn, and which of its jobs have events after `after`, with their lengths. Jobs that it no longer holds
     * are not among them. Throws `cursor.unknown`.
     */
    renew(
      owner: Owner,
      now: number,
      after?: JobCursor,
    ): Awaitable<{
      readonly heldMs: number;
      readonly changed: readonly { readonly jobId: JobId; readonly seq: number }[];
      readonly cursor?: JobCursor;
    }>;
    /** The owner goes: its rerunnable jobs can be claimed at once, and the others are orphans, also if it comes back. */
    leave(owner: Owner): Awaitable<void>;
    /**
     * Writes events of the holder, with what goes along, all or nothing. Throws `lease.lost` when the lease moved, the
     * job is over (unless all of these keys are there: then it is a repeat) or its session was deleted; `job.bound` for
     * an orphan with anything but an end as `abandoned`. The call that parked the job is answered again as before, until
     * somebody takes the job. With `ended` its lease ends, its waits are revoked, jobs that await it can be claimed, and
     * its children that are to end with it are sent a cancel.
     */
    append(lease: JobLease, events: readonly KeyedEvent[], now: number, more?: JobWrites): Awaitable<JobAppended>;
    /**
     * Writes an event of somebody else: `signalled`, `cancelling`, `transitioned`, or `ended`. A job that nobody holds,
     * or that is external, ends with the cancel, in the same write. `ended` and `transitioned` are for external jobs
     * alone; another's is `bound`. What is sent makes a parked job claimable.
     */
    send(id: JobId, sent: KeyedEvent, now: number, more?: Pick<JobWrites, "wakes" | "wakesMax">): Awaitable<JobSent>;
    load(id: JobId): Awaitable<StoredJob | undefined>;
    /** Its events in order, without the first `after`; none when there is no such job. */
    events(id: JobId, after: number): Awaitable<readonly StoredJobEvent[]>;
    /** In the order in which they were begun. None come after one that is not there any more. */
    list(page: JobsPage): Awaitable<readonly StoredJob[]>;
    /** How many jobs of a session are not over. */
    count(session: SessionId): Awaitable<number>;
    /**
     * Hands jobs over to another session, all or none; those that it has already stay. What they wait for goes along: that
     * it was asked stays a fact of the one session, and its answer is a fact of the other. Throws `session.unknown`,
     * `session.deleted`, and for one of them `job.unknown`, `job.foreign` (of neither session) or `job.over`.
     */
    transfer(from: SessionId, to: SessionId, ids: readonly JobId[], now: number): Awaitable<readonly StoredJob[]>;
    /**
     * Forgets a job that is over or external, with its events, and answers whether there was one. Jobs that await it can be
     * claimed. Its children are sent no cancel, as by `delete`: nobody has said that it ended.
     */
    remove(id: JobId): Awaitable<boolean>;
    /**
     * Jobs that changed after a cursor, as they stand, in the order of their latest events: each once. Those that one write
     * has changed come in any order. Of a job that was removed nothing is told. Throws `cursor.unknown`.
     */
    changes(
      after: JobCursor | undefined,
      options: { readonly session?: SessionId; readonly max: number },
    ): Awaitable<readonly StoredJob[]>;
    /** What is left of what a job has said, taken or not; also when it is over. */
    lines(id: JobId): Awaitable<JobLines>;
    /**
     * Takes the lines that nobody has taken, oldest first: each is given to one call. The key of the latest call again is
     * given the same lines, as far as they are left. None when there is no such job.
     */
    take(id: JobId, key: string): Awaitable<readonly JobLine[]>;
  };

  /** What starts work by itself: who is subscribed to what, and what has happened. */
  readonly triggers: {
    /**
     * Writes a subscription as it is given. `before` is the revision that it replaces; without it there must be none of
     * this id in the session. Throws `session.unknown`, `trigger.conflict` when the revision is another one (or there is
     * none), and `trigger.full` when a new one would be more than `max` in the session.
     */
    put(subscription: Subscription, before: number | undefined, max: number): Awaitable<void>;
    load(session: SessionId, id: string): Awaitable<Subscription | undefined>;
    /**
     * Ascending by session and id. `event`: only enabled ones that such an event meets: from `source`, those that name it
     * or none; without one, those that name none. `kinds`: only enabled ones to such sources. `after` need not be there any
     * more: whoever reads page by page misses none because another one was removed.
     */
    list(page: {
      readonly session?: SessionId;
      readonly event?: { readonly name: string; readonly source?: string };
      readonly kinds?: readonly Subscription["on"]["kind"][];
      readonly after?: { readonly session: SessionId; readonly id: string };
      readonly max: number;
    }): Awaitable<readonly Subscription[]>;
    /** Enabled schedules whose time has come, the longest due first; of the same time, the one that was made first. */
    due(now: number, max: number): Awaitable<readonly Subscription[]>;
    /**
     * Answers whether there was one. With a revision, another one is `trigger.conflict`. The jobs that it started go on, and
     * what has happened stays.
     */
    remove(session: SessionId, id: string, revision?: number): Awaitable<boolean>;
    /**
     * Sets when a schedule occurs next, or up to where commits are told; unless it stands elsewhere by now, is at another
     * revision, or is another one. Answers whether it did.
     */
    move(moved: MovedTrigger): Awaitable<boolean>;
    /**
     * Keeps what happened and begins the jobs of its deliveries, and moves on the subscription that it is of, in one
     * write. `known`: it was kept before; only the move is made, unless it was too, and the answer is what was started
     * then. `stale`: nothing was written, for a subscription is not this one at this revision or not enabled any more, or
     * the one to be moved cannot be. Jobs of deliveries are not counted, and one whose id is taken is left as it is.
     * Throws `session.unknown` for a job of another session that is not there.
     *
     * The newest `max` occurrences of its source are kept, in the order in which they came; with an older one go the jobs
     * that it started, those that are over.
     */
    occur(
      occurrence: NewOccurrence,
      deliveries: readonly NewDelivery[],
      max: number,
      moved?: MovedTrigger,
    ): Awaitable<OccurAnswer>;
    /**
     * What has happened, newest first: everything, or what came of one source; what came before `before` (an id) if given,
     * and nothing where that is not there any more.
     */
    occurrences(page: {
      readonly source?: string;
      /** Only what was delivered to this session, or to one subscription of it. */
      readonly to?: { readonly session: SessionId; readonly subscription?: string };
      readonly before?: string;
      readonly max: number;
    }): Awaitable<readonly Occurrence[]>;
  };

  /**
   * What running turns show, for those who follow them from other processes. Only a commit is a fact: all of this may be
   * lost. A store without it shows a turn in its own process alone.
   */
  readonly live?: {
    /** Somebody here follows these sessions, for so long; whoever runs their turns learns it with its mail. */
    follow(sessions: readonly SessionId[], now: number, forMs: number): Awaitable<void>;
    /**
     * Shows a part of what a turn says now, and answers its number; undefined when the lease is lost, and nothing was
     * shown. Parts have ascending numbers, also over all runs and turns of the session: the next one adds 1, unless another
     * lease was taken meanwhile. With `first` and `again` the parts before it go, and old parts go when they are too many
     * or too long (`SHOWN_MAX`).
     */
    show(lease: Lease, shown: Shown): Awaitable<number | undefined>;
    /** The parts after a number, oldest first, of the turn that is open. */
    read(session: SessionId, after: number): Awaitable<ShownTurn>;
  };

  /**
   * Bytes by the hash of their content. A store may remove those that nothing names, but none that were put while a turn
   * is open, before that turn has ended: its tools may name them until then.
   */
  readonly blobs: {
    put(hash: BlobHash, data: Uint8Array): Awaitable<void>;
    get(hash: BlobHash): Awaitable<Uint8Array | undefined>;
  };
  /** Facts after a cursor, oldest first: of all sessions, of one, or of one and all that descend from it. */
  changes(
    after: Cursor | undefined,
    options: { readonly session?: SessionId; readonly tree?: SessionId; readonly max: number },
  ): Awaitable<readonly Change[]>;
  /** The cursor of the latest fact, if there is any. */
  latest(): Awaitable<Cursor | undefined>;
  /** What a session and all that descend from it have spent. */
  booked(tree: SessionId): Awaitable<readonly Booked[]>;

  close(): Awaitable<void>;
}

/** Of a turn that is shown to other processes, a store keeps no more parts than this, and no more characters. */
export const SHOWN_MAX = { parts: 64, chars: 256 * 1024 };

/** How long a lease holds without being renewed. */
export const LEASE_MS = 30_000;
