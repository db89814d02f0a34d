import { Awaitable } from "../model/awaitable.js";
import {
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
} from "../model/ids.js";
import { CancelAnswer, CancelRequest, TurnOutcome } from "../model/outcome.js";
import { Delivery, NewOccurrence, Occurrence, Subscription } from "../model/trigger.js";
import { Draft } from "../model/message.js";
import { Entry } from "../model/node.js";
import { JobEvent, JobKind, JobRecord, NewJob } from "../model/job.js";
import { Json, JsonObject } from "../model/json.js";
import { Opened, PluginState, TurnEvent } from "../turn/event.js";
import { Preview } from "../model/event.js";
import { PromptPart } from "../model/prompt.js";
import { Segment, ViewPage } from "../graph/segment.js";
import { SessionConfig } from "../model/config.js";
import { Spent, Usage } from "../model/usage.js";
import { WaitAbout, WaitAnswer, WaitKind, WaitedTurns } from "../model/wait.js";
/** A plugin's state as last committed. `revision` counts its changes. */
interface PluginSnapshot extends PluginState {
  readonly version: string;
  readonly revision: number;
}
type PluginSnapshots = {
  readonly [plugin: string]: PluginSnapshot;
};
/** The options of plugins for one session, by plugin id, as given: JSON that is not validated yet. */
type SessionOptions = {
  readonly [plugin: string]: Json;
};
interface NewSession {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** The session's own settings. All others come from the runtime. */
  readonly config: Partial<SessionConfig>;
  readonly at: number;
  /** Throws `session.exists` for an existing id. Default: the existing session is returned. */
  readonly isNew?: true;
  /** Initial plugin states. In a fork they replace the copied states of the same plugins. */
  readonly plugins?: PluginSnapshots;
  /** A fork without options copies those of its origin. */
  readonly options?: SessionOptions;
  /** The user or tenant that the session belongs to. A child and a fork belong to the owner of their origin. */
  readonly owner?: string;
  /** A child and a fork also have the tags of their origin. */
  readonly tags?: readonly string[];
}
interface StoredSession {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** The session that this one was forked from, and the node where it begins. */
  readonly origin?: {
    readonly sessionId: SessionId;
    readonly at?: NodeId;
  };
  readonly owner?: string;
  readonly tags?: readonly string[];
  readonly createdAt: number;
  readonly config: Partial<SessionConfig>;
  /** Counts commits. The head only moves together with it. */
  readonly revision: number;
  readonly head?: NodeId;
  readonly plugins: PluginSnapshots;
  /** Omitted if there are none. */
  readonly options?: SessionOptions;
  readonly usage: Usage;
  /** The usage, with one row per source and model. */
  readonly ledger: readonly Spent[];
  readonly turns: number;
  /** The open turn, whichever process holds it. */
  readonly openTurn?: TurnId;
}
/** `waiting`: its turn is parked. `interrupted`: no process runs its open turn, and any process can resume it. */
type SessionState = "idle" | "running" | "waiting" | "interrupted";
/** A session in a list, without its plugin states. */
interface ListedSession extends Pick<StoredSession, "id" | "parentId" | "origin" | "owner" | "tags" | "createdAt" | "config" | "usage" | "ledger" | "turns" | "openTurn"> {
  /** When a turn was last opened or a commit last made. */
  readonly activeAt: number;
  readonly state: SessionState;
  /** The beginning of the last words of its latest turn. */
  readonly words?: string;
  /** The position in the list. */
  readonly cursor: string;
}
interface NewInput {
  readonly id: InputId;
  readonly sessionId: SessionId;
  /**
   * The turn that this input opens, unless a running turn takes the input at a boundary. An injected input opens none.
   */
  readonly turnId: TurnId;
  readonly key?: string;
  readonly message: Draft;
  /**
   * `boundary`: a running turn may take it; otherwise it opens the next turn. `injected`: a running turn, or else the
   * next one, takes it at a boundary; it opens no turn.
   */
  readonly place: "boundary" | "turn" | "injected";
  /** What the caller wants from the opened turn besides an answer. */
  readonly wants?: TurnWants;
  /** The caller's notes about the input. They are not part of its content. */
  readonly metadata?: JsonObject;
  /** The hash of the caller's content. The same key with another hash is `input.conflict`. */
  readonly hash: string;
  readonly at: number;
}
interface TurnWants {
  readonly prompt?: readonly PromptPart[];
  /** The JSON Schema of a typed result. */
  readonly output?: JsonObject;
  readonly unwraps?: true;
  /** Input for plugins, by extension id. */
  readonly extensions?: JsonObject;
}
interface PendingInput extends NewInput {
  /** Ascends in order of acceptance in one session, with gaps. */
  readonly seq: number;
}
/**
 * Nodes or spending that were to be appended while a turn was open. The turn takes them in at a boundary, or its commit
 * applies them.
 */
interface PendingAppend {
  readonly id: InputId;
  readonly operation: string;
  /** The nodes as they would be after the head, with ids of the operation. */
  readonly entries: readonly Entry[];
  readonly spent?: readonly Spent[];
  readonly seq: number;
}
interface Owner {
  readonly id: string;
  /** Host, boot, pid and start time, so that another process of the machine can prove that the holder is dead. */
  readonly process: string;
}
/**
 * The right to run a turn for a limited time. A store may use another clock, so it returns durations instead of times.
 * The host adds `heldMs` to the time before its call: the `now` of the call, or for `accept` the `at` of the input.
 * After the sum no outward effect starts.
 */
interface Lease {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** Every takeover adds 1. Writes with an older generation are refused. */
  readonly generation: number;
  readonly owner: Owner;
  /** How long the lease lasts without renewal, counted from before the call that took it. */
  readonly heldMs: number;
  /** The session's revision in the write that took the lease. The turn runs on that head. */
  readonly revision: number;
  /**
   * The number of blob sweeps that started before this lease; omitted if none. Blobs that the turn puts under the same
   * number stay until it ends.
   */
  readonly sweeps?: number;
}
/** The state of a session in the write that opens a turn. */
interface Standing extends Pick<StoredSession, "plugins" | "options"> {
  /** Injected inputs wait for the turn. */
  readonly hasInjected?: true;
}
/**
 * Returns the first event of a turn, made from an input and the session's current config. The store adds the
 * generation. It must be pure, because a transaction may run it twice.
 */
type Opening = (input: NewInput, config: Partial<SessionConfig>, standing: Standing) => Omit<Opened, "generation">;
/** The answer to an acceptance. The input is already durable. */
type Receipt = {
  readonly kind: "opened";
  readonly inputId: InputId;
  readonly turnId: TurnId;
  readonly lease: Lease;
  readonly opened: Opened;
} | {
  readonly kind: "queued";
  readonly inputId: InputId;
  readonly turnId: TurnId;
} |
/** An input with the same key and content exists, for this turn. */
{
  readonly kind: "known";
  readonly inputId: InputId;
  readonly turnId: TurnId;
};
type OpenAnswer =
/** An open turn whose lease has ended: fold the journal and continue. */
{
  readonly kind: "resumed";
  readonly lease: Lease;
  readonly journal: readonly TurnEvent[];
} |
/** The open turn is parked without mail, and no lease was taken. It becomes due at `wakeAt` at the latest. */
{
  readonly kind: "parked";
  readonly turnId: TurnId;
  readonly wakeAt: number;
} |
/** The oldest waiting input became a turn. */
{
  readonly kind: "opened";
  readonly lease: Lease;
  readonly opened: Opened;
} |
/** Another holder's lease is valid for at least this time. */
{
  readonly kind: "busy";
  readonly holder: Owner;
  readonly forMs: number;
} | {
  readonly kind: "idle";
};
/** How long the lease lasts after a write, and hints about mail. */
interface Appended {
  /** Counted from before the call. */
  readonly heldMs: number;
  /**
   * Whether inputs or appends that the turn could claim, or has claimed, wait for a boundary. Inputs that would open
   * their own turns may be ignored, because a turn that merges them asks anyway. Omitted if the store cannot tell
   * without a read.
   */
  readonly pending?: boolean;
}
/** What has arrived for a turn. */
interface Mail extends Appended {
  readonly cancel?: CancelRequest;
  /** All answered waits of the turn, each time. The receiver ignores those that it has folded. */
  readonly resolved?: readonly {
    readonly key: WaitKey;
    readonly answer: WaitAnswer;
  }[];
  /** Another process follows the turn, so its previews must be written (`live`). */
  readonly isFollowed?: true;
}
/** What a turn waits for. The row is written with its event, or earlier inside the effect. */
interface NewWait {
  readonly key: WaitKey;
  readonly effect: EffectName;
  /** When it was asked, and when it expires. */
  readonly at: number;
  readonly until: number;
  readonly about: WaitAbout | WaitedTurns;
  /**
   * The turn has not reached this wait yet. It can be answered already, so that an early answer is not lost. It becomes
   * a fact, and is listed, when it is written again without this flag.
   */
  readonly isEarly?: true;
}
/** A question of an open turn or of a job that is not over. */
interface StoredWait {
  readonly id: WaitId;
  readonly key: WaitKey;
  readonly sessionId: SessionId;
  /** The ids from the root of the tree to its session, both included. */
  readonly path: readonly SessionId[];
  /** One of these two is present. */
  readonly turnId?: TurnId;
  readonly jobId?: JobId;
  readonly effect: EffectName;
  readonly at: number;
  readonly until: number;
  readonly about: WaitAbout;
  /** The fact of the question; omitted for an early wait. */
  readonly askedAs?: Cursor;
  readonly answer?: WaitAnswer;
  /** The fact of the answer. */
  readonly answeredAs?: Cursor;
}
/** A turn that only waits and releases its lease. */
interface ParkedTurn {
  readonly turnId: TurnId;
  /** The earliest end of one of its waits or sleeps. */
  readonly wakeAt: number;
  /** The open waits. Answers to others are already folded, or no longer needed. */
  readonly waits: readonly WaitKey[];
  /** The cancel that the turn has folded. */
  readonly cancel?: string;
}
type ParkAnswer = {
  readonly kind: "parked";
} |
/** Mail came first: the lease is kept. */
{
  readonly kind: "mail";
  readonly mail: Mail;
};
/** The right of a process to run a job. It lasts as long as the lease of the process: see `jobs.renew`. */
interface JobLease {
  readonly jobId: JobId;
  /** Every claim adds 1. Writes with an older generation are refused. */
  readonly generation: number;
  readonly owner: Owner;
}
/** An event with a key that is unique in its job. A second event with that key is not written. */
interface KeyedEvent {
  readonly key: string;
  readonly event: JobEvent;
}
interface StoredJobEvent extends KeyedEvent {
  /** 1 for `spawned`, then ascends by 1. */
  readonly seq: number;
}
interface StoredJob {
  readonly record: JobRecord;
  /** The number of events. */
  readonly seq: number;
  /** The latest event in the order of all job events. */
  readonly cursor: JobCursor;
}
interface ClaimedJob extends StoredJob {
  readonly lease: JobLease;
  readonly events: readonly StoredJobEvent[];
  /** Its bound owner is gone. Only its abandonment may be written. */
  readonly isOrphan?: true;
}
/** The data that is written together with events of a job. */
interface JobWrites {
  /** Questions of the job, which can be listed and answered. The answer becomes an event of the job. */
  readonly waits?: readonly NewWait[];
  /**
   * Inputs for the job's current session. They are accepted in this write and recorded as `woke`. They open no turn
   * here, do not count for `pendingMax`, and need a unique key: an input with a known key is neither accepted nor
   * recorded, whatever its content. One that cannot be accepted is recorded as `lost` without a failure. But the write
   * throws `store.swept` if the bytes of an attachment are missing.
   */
  readonly wakes?: readonly NewInput[];
  /** The maximum number of accepted wakes in the life of the job. */
  readonly wakesMax?: number;
  /** Releases the lease, because the job only waits. */
  readonly parks?: ParkedJob;
  /** Lines that the job prints. They are not events: no fold and no feed contains them, and old ones are dropped. */
  readonly says?: Saying;
}
/** A line that a job has printed, for example a line of a monitored command. */
interface JobLine {
  /** Ascends from 1 in the job, with gaps for dropped lines. */
  readonly n: number;
  readonly at: number;
  /** Standard output, standard error, or a note of the monitor. */
  readonly channel: "out" | "err" | "note";
  readonly text: string;
}
interface Saying {
  /** Lines whose number is not above the last stored one are skipped as repeats. */
  readonly lines: readonly JobLine[];
  /** Only this many of the newest lines are kept, taken or not. */
  readonly max: number;
}
/** The remaining lines of a job. */
interface JobLines {
  /** Oldest first. */
  readonly lines: readonly JobLine[];
  /** The number of the last taken line; 0 if none was taken. */
  readonly taken: number;
}
/** A job that only waits. Only rerunnable jobs can park, because no other process could continue another one. */
interface ParkedJob {
  /**
   * The number of events that its holder has seen. If there are more, or an awaited job has ended, the lease is kept.
   */
  readonly seen: number;
  /** When it continues at the latest; omitted if only an event can wake it. */
  readonly due?: number;
  /** It continues when one or all of these jobs have ended or are idle. */
  readonly awaits?: {
    readonly jobs: readonly JobId[];
    readonly need: "any" | "all";
  };
}
interface JobAppended {
  /** The events under the sent keys, in that order: the sent ones, or those that existed. */
  readonly events: readonly StoredJobEvent[];
  readonly cursor: JobCursor;
  /** The number of events. */
  readonly seq: number;
  /** Whether the job was parked, if parking was requested. */
  readonly isParked?: boolean;
}
interface JobsPage {
  /** Default: all sessions. */
  readonly session?: SessionId;
  /** Only jobs that are not over. */
  readonly isLive?: true;
  readonly visibility?: "hidden" | "managed";
  readonly kind?: JobKind;
  /** Only jobs that were made after this one. */
  readonly after?: JobId;
  readonly max: number;
}
/** A part of a running turn's previews. */
interface Shown {
  /**
   * `first`: all previews of the turn so far. `more`: new previews. `again`: nothing new, but all previews, so that a
   * new reader has few parts to read.
   */
  readonly part: "first" | "more" | "again";
  readonly previews: readonly Preview[];
  /** Earlier previews were dropped because there were too many. */
  readonly isCut?: true;
}
interface ShownRow extends Shown {
  readonly n: number;
}
/** The current previews of a session's open turn. */
interface ShownTurn {
  readonly rows: readonly ShownRow[];
  /** The number of the newest part; omitted if no turn is open or it has no previews. */
  readonly last?: number;
  /** Whether more may come: a turn is open or waits to be opened; a turn is parked; or there is none. */
  readonly has: "turn" | "parked" | "nothing";
}
/**
 * What another process did. For a session, `fact` means any change in `changes`, and `followed` that a process follows
 * it.
 */
type Hint = {
  readonly kind: "session";
  readonly sessionId: SessionId;
  readonly what: "input" | "cancel" | "resolved" | "fact" | "preview" | "followed";
} | {
  readonly kind: "jobs";
} |
/** Anything, because hints may have been lost. */
{
  readonly kind: "all";
};
interface NewDelivery extends Delivery {
  /** Identifies the subscription. Its revision alone could match another one that was made later under the same id. */
  readonly incarnation: string;
  /** The job with the id `jobId`. */
  readonly job?: NewJob;
}
/** Moves a subscription to its next time or its next commit. */
interface MovedTrigger {
  readonly sessionId: SessionId;
  readonly id: string;
  readonly incarnation: string;
  /** The revision at which the source was read. For another revision, `to` could be wrong. */
  readonly revision: number;
  /** The expected and the new position. Both fields are compared, and both are set. */
  readonly from: Pick<Subscription, "next" | "after">;
  readonly to: Pick<Subscription, "next" | "after">;
}
type OccurAnswer = {
  readonly kind: "occurred" | "known";
  readonly occurrence: Occurrence;
} | {
  readonly kind: "stale";
};
/** The answer to an event that was sent to a job from outside. */
interface JobSent {
  /**
   * `known`: an event with this key existed. `over`: the job had ended. `bound`: only its holder may send this event.
   */
  readonly said: "accepted" | "known" | "over" | "bound" | "unknown";
  /** Its current state; omitted for `unknown`. */
  readonly job?: StoredJob;
}
/** The work of a store, for any process. */
interface Agenda {
  /**
   * Sessions with work that no process holds: a turn with an expired lease, inputs that wait to open one, or a parked
   * turn that is due or has mail (a cancel, an answer to an open wait, ended turns).
   */
  readonly sessions: readonly SessionId[];
  /** The next time at which a parked turn, a schedule, or a requested job is due. */
  readonly next?: number;
  /** Requested jobs can be claimed. */
  readonly hasJobs?: true;
  /** Schedules are due. `next` includes later ones. */
  readonly hasSchedules?: true;
  /** An enabled subscription waits for commits. */
  readonly hasCommits?: true;
  /** The latest event of a job. */
  readonly jobs?: JobCursor;
  /** The cursor of the latest fact, as in `latest()`. */
  readonly latest?: Cursor;
  /** The number of sessions that were ever deleted. */
  readonly gone: number;
}
/** How much work a store has. */
interface Overview {
  readonly turns: { readonly [S in "queued" | "running" | "waiting" | "interrupted"]: number; };
  /** Open questions. */
  readonly waits: number;
  /** Jobs that are not over. */
  readonly jobs: number;
  /** When the oldest input was accepted that waits for its turn. */
  readonly oldestQueuedAt?: number;
  /** The holders of valid leases. */
  readonly workers: readonly Worker[];
}
interface Worker {
  readonly owner: Owner;
  /** How many turns and jobs it holds. */
  readonly turns: number;
  readonly jobs: number;
  /** When the first of its leases ends unless it is renewed, counted from the call. Omitted without `now`. */
  readonly forMs?: number;
}
interface EndedTurn {
  readonly turnId: TurnId;
  readonly at: number;
  readonly outcome: TurnOutcome;
  readonly entries: readonly Entry[];
  readonly plugins: PluginSnapshots;
  /** The usage of the whole turn, including nested calls. */
  readonly usage: Usage;
  readonly spent: readonly Spent[];
  /** The inputs that the turn settles. Other claimed inputs return to the queue. */
  readonly inputs: readonly InputId[];
  /** The head that the turn ran on. */
  readonly base?: NodeId;
  /** The cancel that the turn has folded. Another waiting cancel reopens the turn. */
  readonly cancel?: string;
  /** Operations that are part of the turn. */
  readonly parts?: readonly PartOperation[];
  /** New settings, if operations changed them while the turn waited. A turn that becomes a branch sets none. */
  readonly config?: Partial<SessionConfig>;
  /** Jobs that no append has started: the commit starts them. */
  readonly spawns?: readonly JobSpawn[];
  readonly summary?: TurnSummary;
  /** The journal, if it is to be kept after the end of the turn. */
  readonly journal?: TurnJournal;
}
/** The data for lists of turns that the nodes of the turn do not contain. */
interface TurnSummary {
  /** When its input was accepted, if that is not `startedAt`. The fact of the acceptance has this time. */
  readonly acceptedAt?: number;
  /** When the turn was opened. */
  readonly startedAt: number;
  readonly model: string;
  readonly rounds: number;
  /** How often another process resumed it. Omitted if never. */
  readonly resumes?: number;
  /** The cost of its nested calls and its calls of other models. Omitted if the turn only called its own model. */
  readonly spent?: readonly Spent[];
  readonly metadata?: JsonObject;
}
/** The events of a turn. If there is a `setting`, the first event lacks the fields that this blob contains. */
interface TurnJournal {
  /** The blob with the fields of the first event that most turns of a process have in common, as JSON. */
  readonly setting?: BlobHash;
  readonly events: readonly TurnEvent[];
}
/** A turn in a list, open or ended. */
interface StoredTurn {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly state: "waiting" | "open" | "parked" | "ended";
  /** The owner of its session. */
  readonly owner?: string;
  /** The key of the input that opened it. */
  readonly key?: string;
  /** The position in the list. */
  readonly cursor: string;
  /** The open turn's lease: whether another process can take the turn over. */
  readonly isOrphan?: true;
  /** Only for an ended turn. */
  readonly end?: {
    readonly at: number;
    /** How it ended; `terminal` returns all of the outcome. `code` is that of a stopped or failed turn. */
    readonly outcome: TurnOutcome["kind"];
    readonly code?: string;
    readonly usage: Usage;
    /** Omitted for a turn that an early version ended. */
    readonly summary?: TurnSummary;
    /** The size of its kept journal; omitted if none is kept. Zero if the store does not count. */
    readonly journalBytes?: number;
  };
}
/** A job that starts with another write. */
interface JobSpawn {
  readonly job: NewJob;
  /** The owner of a bound job. It holds the job from the start, with generation 1. */
  readonly owner?: Owner;
}
/** An operation that is part of a turn or of another change. A repeat finds its receipt and does nothing. */
interface PartOperation {
  readonly operation: string;
  readonly receipt: Json;
}
type CommitAnswer = Committed |
/** A new cancel came: fold it and commit again. */
{
  readonly kind: "reopen";
  readonly cancel: CancelRequest;
};
interface Committed {
  readonly kind: "committed";
  readonly revision: number;
  readonly head?: NodeId;
  readonly cursor: Cursor;
  /** Present if the head had moved: the turn became a branch that ends at this node, and the head stayed. */
  readonly branch?: NodeId;
}
interface Terminal {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly at: number;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  readonly committed: Committed;
  readonly summary?: TurnSummary;
}
/** A change of a session between turns: appended nodes, a command's state, a new config. */
interface SessionChange {
  readonly sessionId: SessionId;
  /** A repeat with the same content gets the first answer. Other content is `append.conflict`. */
  readonly operation: string;
  readonly at: number;
  /** The kind of change, for observers. Default: `command`. */
  readonly by?: ChangedBy;
  /** The revision that the change is based on. Default: any. */
  readonly base?: number;
  /** A node that must be on the active path; otherwise the change is `stale`. */
  readonly requires?: NodeId;
  readonly entries?: readonly Entry[];
  /** The changed plugin states. The others stay. */
  readonly plugins?: PluginSnapshots;
  readonly config?: Partial<SessionConfig>;
  readonly spent?: readonly Spent[];
  /** Stored with the operation and returned to a repeat. */
  readonly receipt?: Json;
  readonly parts?: readonly PartOperation[];
  /**
   * Only for a change that has no other fields than entries or `spent`: while a turn is open the change is stored and
   * waits (`PendingAppend`). Throws `input.full` if this many wait already.
   */
  readonly queueMax?: number;
  /** Jobs that start with the change. */
  readonly spawns?: readonly JobSpawn[];
}
type ChangeAnswer = Committed |
/** A turn is open: only its lease can move the head. */
{
  readonly kind: "busy";
} |
/** It waits for the open turn, or that turn has taken it. */
{
  readonly kind: "queued";
} |
/**
 * The session has moved since `base`, or the required node is not on its path, or an append of this name was part of
 * another write.
 */
{
  readonly kind: "stale";
  readonly revision: number;
};
/** The state of an operation: a change, a waiting one, or a part of a turn or of another change. */
type FoundOperation = {
  readonly kind: "done";
  readonly committed?: Committed;
  readonly receipt?: Json;
} | {
  readonly kind: "queued";
};
type ChangedBy = "append" | "configure" | "compact" | "command" | "completion";
/** One input, by its id or by the caller's key; or an input and all later ones. */
type InputRef = {
  readonly id: InputId;
} | {
  readonly key: string;
} | {
  readonly from: InputId;
};
/** The answer for one input. Only a waiting input can be withdrawn; its key is free afterwards. */
interface Withdrawal {
  readonly inputId: InputId;
  /** Omitted for an injected input. */
  readonly turnId?: TurnId;
  readonly answer: "withdrawn" | "taken" | "ended";
}
interface FoundTurn {
  readonly sessionId: SessionId;
  /**
   * `parked`: the turn is open and only waits. `taken`: another open turn has claimed its input. `ended`: also if
   * another turn settled its input.
   */
  readonly state: "waiting" | "open" | "parked" | "taken" | "ended" | "withdrawn";
}
/**
 * A fact: something durable that happened to a session, with its position in the order of all facts. An injected input
 * has no `turnId`, because it opens no turn.
 */
type Change = {
  readonly cursor: Cursor;
  readonly sessionId: SessionId;
  readonly owner?: string;
  readonly tags?: readonly string[];
} & ({
  readonly kind: "accepted";
  readonly turnId?: TurnId;
  readonly inputId: InputId;
  readonly key?: string;
  /** When it was accepted, and what was said. Omitted for an input that was withdrawn. */
  readonly at?: number;
  readonly text?: string;
  readonly metadata?: JsonObject;
} | {
  readonly kind: "withdrawn";
  readonly turnId?: TurnId;
  readonly inputId: InputId;
  readonly key?: string;
} | ({
  readonly kind: "committed";
  readonly nodes: readonly NodeId[];
  readonly frames?: readonly NodeId[];
} & ({
  readonly by: "turn";
  readonly turnId: TurnId;
  readonly at: number;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  /** Omitted for a turn that an early version ended, as is `at` of an early change. */
  readonly model?: string;
  readonly rounds?: number;
  readonly branch?: NodeId;
} | {
  readonly by: ChangedBy;
  readonly operation: string;
  readonly at?: number;
})) |
/** An open turn or a job asks a question. It has a `turnId` or a `jobId`. */
{
  readonly kind: "waiting";
  readonly turnId?: TurnId;
  readonly jobId?: JobId;
  readonly wait: WaitId;
  readonly effect: EffectName;
  readonly about: WaitAbout;
  readonly until: number;
} | {
  readonly kind: "resolved";
  readonly turnId?: TurnId;
  readonly jobId?: JobId;
  readonly wait: WaitId;
  readonly effect: EffectName;
  readonly wants: WaitKind;
  readonly how: WaitAnswer["kind"];
  readonly by?: string;
});
/** The spending of one session of a tree. */
interface Booked extends Spent {
  readonly sessionId: SessionId;
}
/**
 * A store keeps sessions and their turns. A write under a lease checks the generation in the same step and throws
 * `lease.lost` if it has changed. All writes are idempotent by the named key. A store may return values without a
 * promise.
 */
interface Store {
  readonly kind: string;
  /** Whether data survives a killed process. */
  readonly isDurable: boolean;
  /** Throws the error that makes the store unusable, for example a server that refuses connections. */
  ready?(): Awaitable<void>;
  /**
   * Notifies this process of writes of others, so that it reads at once instead of at its next poll. Returns a function
   * that stops it. Hints may be lost, late, repeated, or about this process's own writes, so every listener also polls.
   */
  hints?(listener: (hint: Hint) => void): () => void;
  /** Idempotent by id: returns an existing session unchanged. Throws `session.deleted` for the id of a deleted one. */
  create(session: NewSession): Awaitable<StoredSession>;
  /** Returns the session as last committed; undefined if it does not exist or was deleted. */
  load(id: SessionId): Awaitable<StoredSession | undefined>;
  /** Returns whether `load` would return a session. Does not read its content, so a damaged session exists. */
  has(id: SessionId): Awaitable<boolean>;
  /**
   * Returns sessions that meet all given conditions: by ascending id, by latest activity, or the newest first. Throws
   * `cursor.unknown` for a cursor of another order.
   */
  list(page?: {
    readonly id?: SessionId;
    readonly owner?: string;
    readonly tag?: string;
    readonly state?: SessionState;
    /** The children or the forks of this session. */
    readonly parent?: SessionId;
    readonly origin?: SessionId;
    /** Default: `id`. */
    readonly order?: "id" | "activity" | "created";
    /** For the order `id`: the last id of the previous page. */
    readonly after?: SessionId;
    /** For the other orders: the cursor of the last session of the previous page. */
    readonly before?: string;
    readonly max?: number;
    /** The time at which leases are judged. Default: every lease counts as valid. */
    readonly now?: number;
  }): Awaitable<readonly ListedSession[]>;
  /**
   * Creates a second head over shared history, at a node of the active path. Default: at the head. It gets the plugin
   * states of the last commit at or before that node. Throws `fork.unknown`, `fork.unpaired`, `session.unknown`.
   */
  fork(from: SessionId, to: NewSession, at?: NodeId): Awaitable<StoredSession>;
  /**
   * Replaces the options of these plugins in a session, also while a turn is open; the open turn keeps its own. Options
   * of other plugins stay. Returns all options. Throws `session.unknown`.
   */
  setOptions(session: SessionId, options: SessionOptions): Awaitable<SessionOptions>;
  /**
   * Final. Revokes waits, drops pending inputs, and removes jobs and subscriptions: holders of jobs lose the lease.
   * Removes deliveries to the session, and occurrences that only its own subscriptions waited for. The id is never used
   * again. The shared history of forks stays.
   */
  delete(id: SessionId): Awaitable<void>;
  /**
   * Returns segments of the path that ends at `from` (default: the head), newest first. The first may be cut at `from`,
   * which may be on a branch. Throws `session.unknown`, and `fork.unknown` if the node does not exist.
   */
  view(session: SessionId, page?: ViewPage): Awaitable<readonly Segment[]>;
  /** Returns whether a node is on the path to the head. Throws `session.unknown`. */
  holds(session: SessionId, node: NodeId): Awaitable<boolean>;
  /**
   * Accepts an input. If the session is idle and no input waits, the same write opens the turn. Throws
   * `session.unknown`, `input.conflict`, `input.full`, and `store.swept` if the bytes of an attachment are missing.
   */
  accept(input: NewInput, owner: Owner, opening: Opening | undefined, pendingMax: number): Awaitable<Receipt>;
  /**
   * Takes the session over if no lease is valid; a valid lease of the same owner is `busy` too. Takes a parked turn if
   * it has mail, or with `forOperation`. Throws `session.unknown`.
   */
  open(session: SessionId, owner: Owner, now: number, opening: Opening, forOperation?: true): Awaitable<OpenAnswer>;
  /** Prolongs the lease and returns the turn's mail. */
  renew(lease: Lease, now: number): Awaitable<Mail>;
  /** Lets another worker resume the turn at once. Does nothing for a lost lease. */
  release(lease: Lease): Awaitable<void>;
  /**
   * Key: (turn, seq of the first event), where `opened` has 0. A gap, or other content at a seq, throws
   * `append.conflict`. Waits and jobs are written with their event: all or nothing. An append renews the lease and
   * returns how long it lasts; only `renew` returns mail. Jobs that start with an append, a commit or a change are not
   * counted against the maximum, and throw `session.unknown`; an existing job with the same id is unchanged.
   */
  append(lease: Lease, seq: number, events: readonly TurnEvent[], now: number, waits?: readonly NewWait[], spawns?: readonly JobSpawn[]): Awaitable<Appended>;
  /**
   * Releases the lease of a turn that only waits, unless it has mail that it has not folded. The turn stays the
   * session's open turn and appears in the agenda when it has mail. The lease can no longer write. A repeated call
   * returns the same answer until another process takes the turn.
   */
  park(lease: Lease, parked: ParkedTurn, now: number): Awaitable<ParkAnswer>;
  /** Returns the turn's events after number `after`, in order; empty once the turn has ended. */
  journal(turn: TurnId, after: number): Awaitable<readonly TurnEvent[]>;
  /**
   * Commits the whole turn or nothing: nodes, head, plugin states, settled inputs, usage, receipt, and the end of
   * journal and lease. In the same write, waiting appends that the turn does not settle are applied in order, and jobs
   * that end with this turn are cancelled (see `jobs.send`), including those that start with this write. A repeat with
   * the same content (nodes, outcome, plugin states, usage, inputs) returns the first receipt, whatever the generation.
   * Other content is `store.conflict`, or `lease.lost` if another worker took the turn over.
   */
  commit(lease: Lease, ended: EndedTurn): Awaitable<CommitAnswer>;
  /**
   * Applies a change between turns: whole or not at all. Entries become the nodes `(operation, index)`, so operation
   * names must be unique over all sessions. Throws `store.swept` if bytes that were put for it are missing.
   */
  apply(change: SessionChange): Awaitable<ChangeAnswer>;
  readonly operations: {
    /** Returns undefined if the session has no operation of this name. */
    find(session: SessionId, operation: string): Awaitable<FoundOperation | undefined>;
    /**
     * Records work of an operation, so that a rerun gets the recorded value until the operation is applied. Later notes
     * are not stored. The first write wins. Without a value it only reads. Throws `session.unknown`.
     */
    note(session: SessionId, operation: string, key: string, value?: Json): Awaitable<Json | undefined>;
  };
  /**
   * Requests the end of a turn. The first request wins. `unknown` for a turn of another session, and for an injected
   * input, which opens no turn. No other turn can then claim a waiting input: its own turn opens and gets the cancel.
   */
  cancel(turn: TurnId, request: CancelRequest, session?: SessionId): Awaitable<CancelAnswer>;
  /** Returns the state of a turn; undefined if it does not exist or its session was deleted. */
  find(turn: TurnId): Awaitable<FoundTurn | undefined>;
  /**
   * Returns the end of a turn; undefined while it is open. If another turn took its input and settled it, this is the
   * end of that turn, as in `cancel`.
   */
  terminal(turn: TurnId): Awaitable<Terminal | undefined>;
  /** Turns as records: open ones, and ended ones as long as their session exists. */
  readonly turns: {
    /**
     * Returns turns, the latest accepted first. `before`: the cursor of the last turn of the previous page. `now` shows
     * which leases have lapsed; without it only a process that is known to be dead has left its turn.
     */
    list(page: {
      readonly session?: SessionId;
      readonly before?: string;
      readonly max: number;
      readonly now?: number;
    }): Awaitable<readonly StoredTurn[]>;
    get(turn: TurnId, now?: number): Awaitable<StoredTurn | undefined>;
    /**
     * Returns the kept journal of an ended turn; undefined if none is kept. Throws `store.corrupt` if it is damaged,
     * which nothing else notices.
     */
    journal(turn: TurnId): Awaitable<TurnJournal | undefined>;
    /** Removes kept journals. The turns and their nodes stay. Returns how many there were. */
    forget(turns: readonly TurnId[]): Awaitable<number>;
  };
  readonly inputs: {
    /** Returns waiting inputs, oldest first. */
    list(session: SessionId): Awaitable<readonly PendingInput[]>;
    /**
     * Returns whether an input was accepted under this key and not withdrawn: then `accept` would answer `known`, or
     * throw.
     */
    holds(session: SessionId, key: string): Awaitable<boolean>;
    /** Withdraws those of the named inputs that wait, in one write. Returns an answer for each input, oldest first. */
    withdraw(session: SessionId, which: InputRef): Awaitable<readonly Withdrawal[]>;
    /**
     * Claims inputs for this boundary of a running turn, oldest first. A repeat returns the same inputs. With `true` it
     * includes inputs that would open separate turns, up to the first with `wants`; with `appends` it returns appends
     * only. Skips inputs whose turn was cancelled. Includes injected inputs and waiting appends.
     */
    claim(lease: Lease, boundary: EffectName, max: number, takes?: true | "appends"): Awaitable<readonly (PendingInput | PendingAppend)[]>;
  };
  readonly waits: {
    /**
     * Returns unanswered waits, oldest first: of all sessions, of one, or of one and its descendants. `after` may be
     * answered, or its turn over, meanwhile. Empty after a wait whose session was deleted.
     */
    list(page: {
      readonly session?: SessionId;
      readonly tree?: SessionId;
      readonly after?: WaitId;
      readonly max: number;
    }): Awaitable<readonly StoredWait[]>;
    /** Returns a wait of an open turn or job, answered or not. Undefined for a wait for turns, which has no answer. */
    get(id: WaitId): Awaitable<StoredWait | undefined>;
    /**
     * Answers a wait. The first answer wins. It is stored until the turn reads it; for a job it becomes the event
     * `resolved` under the key `wait/<id>`. `expired`: it came at `until` or later and was not stored. `unknown`: no
     * open turn or job has such a wait, or it was revoked. The answer contains the turn's session, or the job.
     */
    resolve(key: WaitKey, answer: WaitAnswer, now: number): Awaitable<{
      readonly said: "accepted" | "already-resolved" | "expired" | "unknown";
      readonly sessionId?: SessionId;
      readonly jobId?: JobId;
    }>;
  };
  /**
   * Records nested paid work, so that a rerun of the effect gets the recorded value until the turn ends. The first
   * write wins. Without a value it only reads.
   */
  note(turn: TurnId, effect: EffectName, key: string, value?: Json): Awaitable<Json | undefined>;
  /**
   * Records that an effect starts. Returns `again` if it was started before and so may have run, or the turn is not
   * open.
   */
  attempt(turn: TurnId, effect: EffectName): Awaitable<"first" | "again">;
  /**
   * Returns current work: at most `max` sessions, whether schedules are due, and whether a process with these
   * `operations` can claim jobs. Must be cheap if there is none: every runtime calls it once a second.
   */
  agenda(now: number, max: number, operations?: readonly string[]): Awaitable<Agenda>;
  /**
   * Returns how much work there is, and who does it, for people. Numbers stop at about `max`. `now` shows which leases
   * have lapsed; without it only a process that is known to be dead holds none.
   */
  overview(max: number, now?: number): Awaitable<Overview>;
  /**
   * Background work. The events of a job are the truth. Its record is `foldJob` over them, stored with each write. An
   * event is identified by its key and written once. The order of events of one job, and of all jobs, never changes.
   */
  readonly jobs: {
    /**
     * Starts a job: writes `spawned` under that key, and `started` for a job with an owner. Idempotent by id: the same
     * job (except `at`) is returned as it is now; another one is `job.conflict`. Throws `session.unknown`, and
     * `job.full` if the session has `max` jobs that are not over.
     */
    spawn(spawn: JobSpawn, max: number): Awaitable<StoredJob>;
    /**
     * Claims unheld jobs, longest due first: rerunnable ones that are due, whose task is in `operations` or which only
     * deliver an input; and, as orphans, jobs that are bound to a gone owner. Each claim writes `started`, except of
     * orphans. An owner is gone if its lease has expired, if it left, or if its process is proven dead. An owner that
     * never spawned, claimed or renewed has no lease. A claim first prolongs the lease of the caller, so that a late
     * call never returns jobs that it holds already.
     */
    claim(owner: Owner, now: number, max: number, operations: readonly string[]): Awaitable<readonly ClaimedJob[]>;
    /**
     * Prolongs the lease of an owner on all its jobs. Returns how long it lasts (counted as for a turn) and which of
     * its jobs have events after `after`, with their number of events. Omits jobs that it no longer holds. Throws
     * `cursor.unknown`.
     */
    renew(owner: Owner, now: number, after?: JobCursor): Awaitable<{
      readonly heldMs: number;
      readonly changed: readonly {
        readonly jobId: JobId;
        readonly seq: number;
      }[];
      readonly cursor?: JobCursor;
    }>;
    /**
     * Ends the lease of an owner: its rerunnable jobs can be claimed at once, and the others become orphans, even if it
     * returns.
     */
    leave(owner: Owner): Awaitable<void>;
    /**
     * Writes events of the holder, with `more`: all or nothing. Throws `lease.lost` if the lease is lost, the job has
     * ended (unless all keys exist, which is a repeat) or its session was deleted. Throws `job.bound` for an orphan
     * unless the events end it as `abandoned`. A repeat of the call that parked the job returns the same answer until
     * another process claims the job. `ended` ends the lease, revokes waits, makes jobs that await it claimable, and
     * cancels the children that end with it.
     */
    append(lease: JobLease, events: readonly KeyedEvent[], now: number, more?: JobWrites): Awaitable<JobAppended>;
    /**
     * Writes an event from outside the holder: `signalled`, `cancelling`, `transitioned`, or `ended`. A cancel ends an
     * unheld or external job in the same write. `ended` and `transitioned` are only for external jobs; for others the
     * answer is `bound`. An event makes a parked job claimable.
     */
    send(id: JobId, sent: KeyedEvent, now: number, more?: Pick<JobWrites, "wakes" | "wakesMax">): Awaitable<JobSent>;
    load(id: JobId): Awaitable<StoredJob | undefined>;
    /** Returns the events after number `after`, in order; empty if the job does not exist. */
    events(id: JobId, after: number): Awaitable<readonly StoredJobEvent[]>;
    /** Returns jobs in the order of their start: none if `after` names a job that no longer exists. */
    list(page: JobsPage): Awaitable<readonly StoredJob[]>;
    /** Returns how many jobs of a session are not over. */
    count(session: SessionId): Awaitable<number>;
    /**
     * Hands jobs over to another session, all or none; those that it already has stay. Their waits move too: the
     * question stays a fact of the first session, and the answer becomes a fact of the second. Throws
     * `session.unknown`, `session.deleted`, and for one of the jobs `job.unknown`, `job.foreign` (of neither session)
     * or `job.over`.
     */
    transfer(from: SessionId, to: SessionId, ids: readonly JobId[], now: number): Awaitable<readonly StoredJob[]>;
    /**
     * Removes a job that has ended or is external, with its events, and returns whether it existed. Jobs that await it can
     * be claimed. Its children are not cancelled, also not by `delete`, because the job did not end.
     */
    remove(id: JobId): Awaitable<boolean>;
    /**
     * Returns the current state of jobs that changed after a cursor, each once, in the order of their latest events.
     * Jobs that one write has changed come in any order. Omits removed jobs. Throws `cursor.unknown`.
     */
    changes(after: JobCursor | undefined, options: {
      readonly session?: SessionId;
      readonly max: number;
    }): Awaitable<readonly StoredJob[]>;
    /** Returns the remaining lines of a job, taken or not, also after its end. */
    lines(id: JobId): Awaitable<JobLines>;
    /**
     * Takes the lines that no call has taken, oldest first. A repeat with the latest key returns the same lines, as far
     * as they remain. Empty if the job does not exist.
     */
    take(id: JobId, key: string): Awaitable<readonly JobLine[]>;
  };
  /** Subscriptions, and the occurrences that started work. */
  readonly triggers: {
    /**
     * Writes a subscription. `before` is the revision that it replaces; without it the id must be new in the session.
     * Throws `session.unknown`, `trigger.conflict` for another revision (or none), and `trigger.full` if the session
     * already has `max`.
     */
    put(subscription: Subscription, before: number | undefined, max: number): Awaitable<void>;
    load(session: SessionId, id: string): Awaitable<Subscription | undefined>;
    /**
     * Returns subscriptions in ascending order of session and id. `event`: only enabled ones that match the event; an
     * event with a `source` matches those that name it or none, and an event without one those that name none. `kinds`:
     * only enabled ones with such sources. `after` may have been removed: a reader of pages misses nothing because of
     * it.
     */
    list(page: {
      readonly session?: SessionId;
      readonly event?: {
        readonly name: string;
        readonly source?: string;
      };
      readonly kinds?: readonly Subscription["on"]["kind"][];
      readonly after?: {
        readonly session: SessionId;
        readonly id: string;
      };
      readonly max: number;
    }): Awaitable<readonly Subscription[]>;
    /** Returns enabled schedules that are due, the longest due first, then the oldest subscription. */
    due(now: number, max: number): Awaitable<readonly Subscription[]>;
    /**
     * Returns whether it existed. With a revision, another one is `trigger.conflict`. Jobs that it started continue,
     * and its occurrences stay.
     */
    remove(session: SessionId, id: string, revision?: number): Awaitable<boolean>;
    /**
     * Sets the next time of a schedule, or up to which commit it was served. Does nothing if it is at another position
     * or revision, or was replaced. Returns whether it moved.
     */
    move(moved: MovedTrigger): Awaitable<boolean>;
    /**
     * Stores an occurrence, starts the jobs of its deliveries, and moves the given subscription, in one write. `known`:
     * it was stored before; only a missing move is made, and the answer has the deliveries of then. `stale`: nothing
     * was written, because a subscription has another revision, was replaced or is disabled, or the move is not
     * possible. Jobs of deliveries are not counted against the maximum; an existing job with the same id is unchanged.
     * Throws `session.unknown` for a job of another session that does not exist.
     *
     * The newest `max` occurrences of its source are kept in order. An older one is removed with the jobs that it
     * started, if they have ended.
     */
    occur(occurrence: NewOccurrence, deliveries: readonly NewDelivery[], max: number, moved?: MovedTrigger): Awaitable<OccurAnswer>;
    /**
     * Returns occurrences, newest first. `source` selects those of one source, `before` older ones: none if the occurrence
     * `before` no longer exists.
     */
    occurrences(page: {
      readonly source?: string;
      /** Only occurrences delivered to this session, or to one subscription of it. */
      readonly to?: {
        readonly session: SessionId;
        readonly subscription?: string;
      };
      readonly before?: string;
      readonly max: number;
    }): Awaitable<readonly Occurrence[]>;
  };
  /**
   * Previews of running turns for followers in other processes. All of it may be lost, because only a commit is a fact.
   * Without it, a turn is visible only in its own process.
   */
  readonly live?: {
    /** This process follows these sessions for this time. The processes that run their turns see it in their mail. */
    follow(sessions: readonly SessionId[], now: number, forMs: number): Awaitable<void>;
    /**
     * Writes a part of a turn's previews and returns its number; undefined, without a write, if the lease is lost.
     * Numbers ascend over all runs and turns of the session: the next part adds 1, unless another lease was taken
     * meanwhile. `first` and `again` remove the parts before them. Old parts are removed if there are too many or they
     * are too long (`SHOWN_MAX`).
     */
    show(lease: Lease, shown: Shown): Awaitable<number | undefined>;
    /** Returns the parts of the open turn after a number, oldest first. */
    read(session: SessionId, after: number): Awaitable<ShownTurn>;
  };
  /**
   * Bytes by the hash of their content. A store may remove those without a reference. But it keeps blobs that were put
   * while a turn was open until that turn has ended, because its tools may still refer to them.
   */
  readonly blobs: {
    put(hash: BlobHash, data: Uint8Array): Awaitable<void>;
    get(hash: BlobHash): Awaitable<Uint8Array | undefined>;
  };
  /** Returns facts after a cursor, oldest first: of all sessions, of one, or of one and its descendants. */
  changes(after: Cursor | undefined, options: {
    readonly session?: SessionId;
    readonly tree?: SessionId;
    readonly max: number;
  }): Awaitable<readonly Change[]>;
  /** Returns the cursor of the latest fact, if any. */
  latest(): Awaitable<Cursor | undefined>;
  /** Returns the spending of a session and its descendants. */
  booked(tree: SessionId): Awaitable<readonly Booked[]>;
  close(): Awaitable<void>;
}
export {
  Agenda,
  Appended,
  Booked,
  Change,
  ChangeAnswer,
  CommitAnswer,
  Committed,
  EndedTurn,
  FoundTurn,
  Hint,
  JobLine,
  JobSpawn,
  Lease,
  ListedSession,
  Mail,
  NewInput,
  NewSession,
  NewWait,
  OpenAnswer,
  Opening,
  Overview,
  Owner,
  ParkAnswer,
  ParkedTurn,
  PluginSnapshot,
  PluginSnapshots,
  Receipt,
  SessionChange,
  SessionOptions,
  SessionState,
  Store,
  StoredSession,
  Terminal,
  TurnSummary,
};
