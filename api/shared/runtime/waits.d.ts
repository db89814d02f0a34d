import { CallId, EffectName, JobId, SessionId, TurnId, WaitId } from "../model/ids.js";
import { Json, JsonObject } from "../model/json.js";
import { WaitKind } from "../model/wait.js";
/** The answer to `approval`. Also the answer to `interrupted`, with only `approved` and `reason`. */
interface Approval {
  readonly approved: boolean;
  /** The model reads it if the call is not approved. The history keeps it. */
  readonly reason?: string | undefined;
  /** Other arguments for the call. They must fit the tool's schema and pass the gates again. */
  readonly args?: Json | undefined;
  /** For plugins that remember answers: the number of milliseconds, or `true` for ever. */
  readonly remember?: number | true | undefined;
}
/** The answer to `result` and `question`: a value that fits the schema of the wait, or the reason why there is none. */
type Delivery = {
  readonly value: Json;
} | {
  readonly error: string;
  readonly code?: string | undefined;
};
type AnswerTo<K extends WaitKind> = K extends "approval" ? Approval : K extends "interrupted" ? Omit<Approval, "args" | "remember"> : Delivery;
/** A wait of a turn or a job, with all data that a person needs for an answer. */
interface PendingWait<K extends WaitKind = WaitKind> {
  /** Its public id, which events and facts contain. */
  readonly id: WaitId;
  /** A secret for a link that you send to an outsider. JSON.stringify omits it. */
  readonly key: string;
  readonly kind: K;
  readonly sessionId: SessionId;
  /** The sessions from the root of the tree to this one. */
  readonly path: readonly SessionId[];
  /** The turn or the job that waits. */
  readonly turnId?: TurnId;
  readonly jobId?: JobId;
  /** The position of the wait in the turn or the job, such as `r1.call.0.w`. */
  readonly effect: EffectName;
  readonly callId: CallId;
  readonly tool: string;
  /** The arguments of the call. They fit the tool's schema. */
  readonly arguments: Json;
  /** A hash of the arguments: an approval is only for these arguments. */
  readonly argumentsHash: string;
  readonly reason: string;
  /** The JSON Schema of the answer: of edited arguments, or of the value. */
  readonly schema?: JsonObject;
  /** Milliseconds since 1970. */
  readonly askedAt: number;
  readonly deadline: number;
  readonly ageMs: number;
}
/** A wait of any kind. `kind` distinguishes them. */
type AnyWait = { [K in WaitKind]: PendingWait<K>; }[WaitKind];
/**
 * Names a wait: its id (`event.wait`), its key, or an object that has one of them, such as a wait of
 * `session.read().waits`. A handler that answers for outsiders must pass `{ key }`, because ids are public, and `{ key
 * }` accepts no id.
 */
type WaitRef = string | {
  readonly id: string;
} | {
  readonly key: string;
};
/** The type of the answer to `W`, as exact as the type of `W` allows. */
type AnswerFor<W> = W extends {
  readonly kind: infer K extends WaitKind;
} ? AnswerTo<K> : Approval | Delivery;
interface WaitsFilter {
  /** Only waits of this session. */
  readonly session?: string | undefined;
  /** Only waits of this session and its descendants. */
  readonly tree?: string | undefined;
  /** Only waits after this one: the `id` of the last wait of the previous page. */
  readonly after?: string | undefined;
  /** Default: 1,000. */
  readonly max?: number | undefined;
}
interface ResolveOptions {
  /** Your app's name for the person who answers. The history keeps it. */
  readonly by?: string | undefined;
}
interface Waits {
  /** Lists unanswered waits, oldest first. */
  list(filter?: WaitsFilter): Promise<readonly AnyWait[]>;
  /** Finds a wait that is open; undefined when it was answered, or its turn or job has ended. */
  get(wait: WaitRef): Promise<AnyWait | undefined>;
  /** Finds the session of a wait, answered or not; undefined when its turn or job has ended. */
  sessionOf(wait: WaitRef): Promise<SessionId | undefined>;
  /**
   * Answers a wait. The first answer counts, and the turn resumes. Throws `wait.unknown`, `wait.expired`, and
   * `wait.answer` if the answer has the wrong kind or does not fit the schema. In the last case the wait stays open.
   * Throws `options.invalid` when `wait` has the id of one wait and the key of another.
   */
  resolve<W extends WaitRef>(wait: W, answer: AnswerFor<W>, options?: ResolveOptions): Promise<"accepted" | "already-resolved">;
  /** Withdraws a question: an approval counts as denied, a result as unknown. */
  revoke(wait: WaitRef, options?: ResolveOptions): Promise<"accepted" | "already-resolved">;
}
export { AnyWait, Approval, Delivery, PendingWait, Waits };
