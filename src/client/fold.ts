// The view of a session for a client, computed from the session's events. It imports types and nothing else.
// client-1: Pure: a view is never changed, and the same events give the same view, however their deltas are cut.
// client-2: After a turn only facts remain: its commit removes its previews from the view. So all readers have the same
// view, no matter when they join.
// client-3: A view with a `session.read()` contains all facts up to its cursor. A fact that arrives twice is counted
// once.
// client-4: What a turn waits for is a fact: previews neither add nor end it, and it is in the view even if the turn
// shows nothing.
import type { Preview, PreviewKey, SessionEvent } from "../model/event.ts";
import type { CallId, Cursor, EffectName, InputId, SessionId, TurnId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { Draft, ToolStatus } from "../model/message.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import type { ProviderFailureClass } from "../model/request.ts";
import type { ToolOutput } from "../model/tool.ts";
import type { Usage } from "../model/usage.ts";
import type { OpenWait, SessionView } from "../model/view.ts";

/** The view of a session. Plain JSON that never changes, so you can compare views and their parts by identity. */
export interface ClientView {
  readonly sessionId: SessionId;
  /** The last `session.read()` in the view, with the messages. Omitted until there is one. */
  readonly read?: SessionView;
  /** Inputs that are in no ended turn: those of `read`, then those accepted since. */
  readonly inputs: readonly ClientInput[];
  /** The turns that are not among the messages of `read`: those that have ended since, then the running one. */
  readonly turns: readonly ClientTurn[];
  /** What jobs of the session wait for, such as an approval, oldest first. Omitted if there is none. */
  readonly jobWaits?: readonly ClientWait[];
  /** The last fact: pass it to `observe({ after })` to continue from here. */
  readonly cursor?: Cursor;
  /** There are facts that `read` does not contain. Fold a new `session.read()` to get their messages. */
  readonly isBehind: boolean;
}

export interface ClientInput {
  readonly id: InputId;
  /**
   * The turn that has taken the input, or that the input opens unless a running turn takes it. An injected input opens
   * no turn.
   */
  readonly turnId?: TurnId;
  /** The text of the input: known after a `session.read()` that contains the input. */
  readonly message?: Draft;
  /** The fact of the input. Omitted if a `session.read()` contained it. */
  readonly cursor?: Cursor;
}

export type ClientTurn = RunningTurn | EndedTurn;

/**
 * A turn that has previews, or that waits. Except for `waits`, all of it is preview: the end of the turn replaces it.
 */
export interface RunningTurn {
  readonly kind: "running";
  readonly id: TurnId;
  /**
   * Grows when another process resumes the turn, which shows it again from the beginning. 0 while the turn waits and
   * has shown nothing here.
   */
  readonly generation: number;
  /** The texts, thoughts and calls, in the order of their arrival. */
  readonly parts: readonly (ClientText | ClientCall)[];
  /** What the turn waits for, such as an approval, oldest first. */
  readonly waits: readonly ClientWait[];
  /** Set while a retry of the model call is near. */
  readonly retrying?: ClientRetry;
  /** The sessions that the turn has started, by id. */
  readonly children: { readonly [sessionId: string]: ClientView };
}

export interface EndedTurn {
  readonly kind: "ended";
  readonly id: TurnId;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  /** The turn was stored as a branch: it is not among the messages. */
  readonly isBranch: boolean;
  readonly cursor: Cursor;
}

export interface ClientText {
  readonly kind: "text" | "reasoning";
  /** The place in the turn, such as `r1.ask`. */
  readonly effect: EffectName;
  readonly attempt: number;
  readonly text: string;
}

/** A tool call. `returned`: its own work has ended, and hooks look at its result; `ended`: it has its output. */
export interface ClientCall {
  readonly kind: "call";
  /** The place in the turn, such as `r1.call.0`. Identifies the call; providers repeat `callId`. */
  readonly effect: EffectName;
  readonly callId: CallId;
  /** The call of the `batch` tool that this call is part of. */
  readonly parentId?: CallId;
  readonly name: string;
  readonly input: Json;
  readonly state: "running" | "returned" | "ended";
  /** How the call's work ended and how long it took. Set when it has returned. */
  readonly status?: ToolStatus;
  readonly ms?: number;
  /** The result of the call. Set when it has ended. */
  readonly output?: ToolOutput;
  /** What the tool has printed in its last attempt. */
  readonly printed: string;
  /** The newest progress of its last attempt. */
  readonly progress?: Json;
  readonly attempt: number;
}

/** Something that a turn waits for. On the server `runtime.waits.resolve(id, answer)` answers it. */
export type ClientWait = OpenWait;

export interface ClientRetry {
  readonly class: ProviderFailureClass;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly waitMs: number;
}

/**
 * Computes the view after an event, or with a `session.read()`. Start with `undefined`. Throws a TypeError for an event
 * of another session: use `foldTree` for `observe({ tree: true })`.
 */
export function fold(view: ClientView | undefined, change: SessionEvent | SessionView): ClientView {
  const sessionId = "kind" in change ? change.sessionId : change.id;
  const before = view ?? { sessionId, inputs: [], turns: [], isBehind: false };
  if (before.sessionId !== sessionId)
    throw new TypeError(
      `The view is of session ${before.sessionId}, and the event of ${sessionId}. Use foldTree for a tree.`,
    );
  if (!("kind" in change)) return withRead(before, change);
  if (!change.fact) return withPreview(before, change);
  if (change.kind === "gap") return withRead(rejoined(before), change.view);
  const { cursor } = change;
  const isRead = orderOf(cursor) <= orderOf(before.read?.cursor); // client-3
  const isTold = cursor === before.cursor || orderOf(cursor) < orderOf(before.cursor);
  const after: ClientView = isRead || isTold ? before : { ...before, cursor, isBehind: true };
  // Comes before `isTold`, because a child reports an answer to its parent's turn when it takes the answer, which can
  // be after later facts.
  if (change.kind === "resolved") return waiting(after, (waits) => waits.filter(({ id }) => id !== change.wait));
  if (isTold && !isRead) return before;
  if (change.kind === "waiting") {
    const { wait: id, turnId, jobId, wants, effect, callId, call, reason, until } = change;
    const of = { ...(turnId === undefined ? {} : { turnId }), ...(jobId === undefined ? {} : { jobId }) };
    const asked: ClientWait = { id, ...of, wants, effect, callId, call, reason, until };
    return isRead ? after : waiting(after, (waits) => [...waits, asked]);
  }
  if (change.kind === "accepted") {
    const { inputId: id, turnId } = change;
    const input = turnId === undefined ? { id, cursor } : { id, turnId, cursor };
    return isRead ? after : { ...after, inputs: [...after.inputs, input] };
  }
  if (change.kind !== "committed" || change.by !== "turn") return after;
  const { turnId: id, outcome, usage, branch } = change;
  const others = after.turns.filter((turn) => turn.id !== id);
  const running = others.findIndex(({ kind }) => kind === "running");
  const ended: EndedTurn = { kind: "ended", id, outcome, usage, isBranch: branch !== undefined, cursor };
  return {
    ...after,
    inputs: after.inputs.filter((input) => input.turnId !== id),
    turns: isRead ? others : others.toSpliced(running < 0 ? others.length : running, 0, ended),
  };
}

/** The views of a session and its descendants, by id, after an event of `observe({ tree: true })`. */
export function foldTree(
  views: { readonly [sessionId: string]: ClientView },
  event: SessionEvent,
): { readonly [sessionId: string]: ClientView } {
  const { sessionId } = event;
  const before =
    event.kind !== "gap" ? views : Object.fromEntries(Object.entries(views).map(([id, view]) => [id, rejoined(view)]));
  const view = Object.hasOwn(before, sessionId) ? before[sessionId] : undefined;
  return { ...before, [sessionId]: fold(view, event) };
}

/**
 * The view without the previews of running turns. Call it each time you start to observe again, because the previews
 * are sent again. Waits stay in the view.
 */
export const rejoined = (view: ClientView): ClientView => ({
  ...view,
  turns: withWaits(
    view.turns.filter(({ kind }) => kind === "ended"),
    waitsIn(view),
  ),
});

/** A place in the order of all facts of a store. A cursor begins with it. */
const orderOf = (cursor: Cursor | undefined): number => (cursor === undefined ? 0 : Number.parseInt(cursor, 10));

/** client-3: keeps only the part of the view that is newer than `read`. */
function withRead(view: ClientView, read: SessionView): ClientView {
  const at = orderOf(read.cursor);
  if (at < orderOf(view.read?.cursor)) return view; // Two reads came in the wrong order.
  const isLater = ({ cursor }: { readonly cursor?: Cursor }): boolean => orderOf(cursor) > at;
  const ended = new Set(view.turns.filter((turn) => turn.kind === "ended").map(({ id }) => id));
  const known = read.inputs.filter(({ turnId }) => turnId === undefined || !ended.has(turnId));
  const isBehind = isLater(view);
  const cursor = isBehind ? view.cursor : read.cursor;
  const turns = view.turns.filter((turn) => turn.kind === "running" || isLater(turn));
  const { jobWaits: _, ...rest } = view;
  return {
    ...(isBehind ? view : rest),
    read,
    inputs: [...known.map(({ state: _, ...input }) => input), ...view.inputs.filter(isLater)],
    // A view that is ahead of `read` also has the newer answers.
    ...(isBehind ? { turns } : withJobs(withWaits(turns, read.waits), ofJobs(read.waits))),
    ...(cursor === undefined ? {} : { cursor }),
    isBehind,
  };
}

// ── Waits ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const waitsIn = ({ turns, jobWaits = [] }: ClientView): readonly ClientWait[] => [
  ...turns.flatMap((turn) => (turn.kind === "running" ? turn.waits : [])),
  ...jobWaits,
];
const withJobs = (turns: readonly ClientTurn[], jobWaits: readonly ClientWait[]) =>
  jobWaits.length === 0 ? { turns } : { turns, jobWaits };
const ofJobs = (waits: readonly ClientWait[]): readonly ClientWait[] =>
  waits.filter(({ turnId }) => turnId === undefined);

function waiting(view: ClientView, change: (waits: readonly ClientWait[]) => readonly ClientWait[]): ClientView {
  const { jobWaits = [], ...rest } = view;
  const waits = change(waitsIn(view));
  const own = ofJobs(waits);
  const isSame = own.length === jobWaits.length && own.every(({ id }, nth) => id === jobWaits[nth]?.id);
  return { ...rest, ...withJobs(withWaits(view.turns, waits), isSame ? jobWaits : own) };
}

/** Adds the waits to the turns. A turn that waits is included even if it has no previews. */
function withWaits(turns: readonly ClientTurn[], waits: readonly ClientWait[]): readonly ClientTurn[] {
  const of = (id: TurnId): readonly ClientWait[] => waits.filter(({ turnId }) => turnId === id);
  const known = turns.flatMap((turn): readonly ClientTurn[] => {
    if (turn.kind === "ended") return [turn];
    const own = of(turn.id);
    if (turn.generation === 0 && own.length === 0) return [];
    const isSame = own.length === turn.waits.length && own.every(({ id }, nth) => id === turn.waits[nth]?.id);
    return [isSame ? turn : { ...turn, waits: own }];
  });
  const silent = waits.flatMap(({ turnId }) => turnId ?? []).filter((id) => !turns.some((turn) => turn.id === id));
  return [...known, ...[...new Set(silent)].map((id) => nothingOf(id, 0, of(id)))];
}

/** A turn without previews. */
const nothingOf = (id: TurnId, generation: number, waits: readonly ClientWait[]): RunningTurn => ({
  kind: "running",
  id,
  generation,
  parts: [],
  waits,
  children: {},
});

// ── Previews ────────────────────────────────────────────────────────────────────────────────────────────────────────

function withPreview(view: ClientView, event: Preview): ClientView {
  const { turnId: id, key } = event;
  const at = view.turns.findIndex((turn) => turn.id === id);
  const known = view.turns[at];
  if (known?.kind === "ended" || (known !== undefined && known.generation > key.generation)) return view;
  const { generation } = key;
  // Another process resumes the turn: the previews of the earlier process are void, and come again.
  const before: RunningTurn = known?.generation === generation ? known : nothingOf(id, generation, known?.waits ?? []);
  const after = shown(before, event);
  if (after === known) return view;
  return { ...view, turns: at < 0 ? [...view.turns, after] : view.turns.with(at, after) };
}

/** The running turn after a preview of its generation. */
function shown(turn: RunningTurn, event: Preview): RunningTurn {
  const { key } = event;
  switch (event.kind) {
    case "text":
    case "reasoning":
      return withDelta(asked(turn), event.kind, key, event.delta);
    case "retracted":
      return { ...turn, parts: turn.parts.filter((part) => part.kind === "call" || !isOf(part, key)) };
    case "retrying": {
      const { class: kind, attempt, waitMs } = event;
      return { ...turn, retrying: { class: kind, attempt, waitMs } };
    }
    case "toolStarted": {
      const { id: callId, parentId, name, input } = event.call;
      const parent = parentId === undefined ? {} : { parentId };
      const call = { callId, ...parent, name, input, state: "running", printed: "", attempt: 1 } as const;
      return { ...asked(turn), parts: [...turn.parts, { kind: "call", effect: key.effect, ...call }] };
    }
    case "toolOutput":
      return withCall(turn, key, (call) => ({ ...call, printed: call.printed + event.delta }));
    case "toolProgress":
      return withCall(turn, key, (call) => ({ ...call, progress: event.value }));
    case "toolReturned": {
      const { status, ms } = event;
      return withCall(turn, key, (call) => ({ ...call, state: "returned", status, ms }));
    }
    case "toolEnded": {
      const { status, ms, output } = event;
      return withCall(turn, key, (call) => ({ ...call, state: "ended", status, ms, output }));
    }
    case "child": {
      const { sessionId } = event.event;
      const child = Object.hasOwn(turn.children, sessionId) ? turn.children[sessionId] : undefined;
      return { ...turn, children: { ...turn.children, [sessionId]: fold(child, event.event) } };
    }
    default:
      return turn; // Events of plugins and of later versions belong to the application.
  }
}

const isOf = (part: ClientText, { effect, attempt }: PreviewKey): boolean =>
  part.effect === effect && part.attempt === attempt;

/** The model has answered: no retry is pending. */
function asked({ retrying: _, ...turn }: RunningTurn): RunningTurn {
  return turn;
}

/** Adds to the last part if it is of the same kind and attempt. Removes the text of earlier attempts. */
function withDelta(turn: RunningTurn, kind: ClientText["kind"], key: PreviewKey, delta: string): RunningTurn {
  const { effect, attempt } = key;
  const parts = turn.parts.filter((part) => part.effect !== effect || part.kind === "call" || part.attempt >= attempt);
  const last = parts.at(-1);
  const isMore = last !== undefined && last.kind === kind && isOf(last, key);
  const part: ClientText = isMore ? { ...last, text: last.text + delta } : { kind, effect, attempt, text: delta };
  return { ...turn, parts: isMore ? parts.with(-1, part) : [...parts, part] };
}

/** Changes a call. Removes the output of earlier attempts. */
function withCall(turn: RunningTurn, key: PreviewKey, change: (call: ClientCall) => ClientCall): RunningTurn {
  const at = turn.parts.findIndex(({ kind, effect }) => kind === "call" && effect === key.effect);
  const call = turn.parts[at];
  if (call?.kind !== "call") return turn; // The start of the call was lost in a gap.
  return { ...turn, parts: turn.parts.with(at, change(key.attempt > call.attempt ? again(call, key) : call)) };
}

function again({ progress: _, ...call }: ClientCall, { attempt }: PreviewKey): ClientCall {
  return { ...call, printed: "", attempt };
}
