import { CallId, JobId, SessionId, TurnId, WaitId } from "../model/ids.js";
import { Json, JsonObject } from "../model/json.js";
import { WaitKind } from "../model/wait.js";
/** The answer to `approval`, and with `approved` and `reason` alone to `interrupted`. */
interface Approval {
  readonly approved: boolean;
  /** Told to the model when the call is not approved, and kept in history. */
  readonly reason?: string | undefined;
  /** Arguments to run the call with instead. They must fit the tool's schema, and pass the gates again. */
  readonly args?: Json | undefined;
  /** For plugins that remember answers: for how many milliseconds, or with `true` as long as the session lives. */
  readonly remember?: number | true | undefined;
}
/** The answer to `result` and `question`: a value that fits the schema of the wait, or why there is none. */
type Delivery = {
  readonly value: Json;
} | {
  readonly error: string;
  readonly code?: string | undefined;
};
type AnswerTo<K extends WaitKind> = K extends "approval" ? Approval : K extends "interrupted" ? Omit<Approval, "args" | "remember"> : Delivery;
/** Something that a turn waits for, with all that a person needs to answer it. */
interface PendingWait<K extends WaitKind = WaitKind> {
  /** Its public name, in events and facts. */
  readonly id: WaitId;
  /** A secret for a link that is handed to an outsider. JSON.stringify leaves it out. */
  readonly key: string;
  readonly kind: K;
  readonly sessionId: SessionId;
  /** The sessions from the root of the tree to this one. */
  readonly path: readonly SessionId[];
  /** The turn or the job that waits. */
  readonly turnId?: TurnId;
  readonly jobId?: JobId;
  readonly callId: CallId;
  readonly tool: string;
  /** As the call would be made: they fit the tool's schema. */
  readonly arguments: Json;
  /** Of the arguments: an approval is for exactly these. */
  readonly argumentsHash: string;
  readonly reason: string;
  /** JSON Schema of what may be given: of edited arguments, or of the value. */
  readonly schema?: JsonObject;
  /** Milliseconds since 1970. */
  readonly askedAt: number;
  readonly deadline: number;
  readonly ageMs: number;
}
/** A wait of any kind; `kind` tells which. */
type AnyWait = { [K in WaitKind]: PendingWait<K>; }[WaitKind];
/**
 * Names a wait: its id (`event.wait`), its key, or an object that has one of them, such as a wait of
 * `session.read().waits`. A handler that answers for outsiders passes `{ key }`: ids are public, and `{ key }` takes
 * none.
 */
type WaitRef = string | {
  readonly id: string;
} | {
  readonly key: string;
};
/** The answer that fits what `W` waits for, as far as its type tells. */
type AnswerFor<W> = W extends {
  readonly kind: infer K extends WaitKind;
} ? AnswerTo<K> : Approval | Delivery;
interface WaitsFilter {
  /** Only those of this session. */
  readonly session?: string | undefined;
  /** Only those of this session and all that descend from it. */
  readonly tree?: string | undefined;
  /** Only those after this one: the `id` of the last of the page before. */
  readonly after?: string | undefined;
  /** Default: 1,000. */
  readonly max?: number | undefined;
}
interface ResolveOptions {
  /** Who answers, as your app names them. Kept in history. */
  readonly by?: string | undefined;
}
interface Waits {
  /** Lists what turns wait for and nobody has answered, oldest first. */
  list(filter?: WaitsFilter): Promise<readonly AnyWait[]>;
  /** Finds a wait that is open; undefined when it was answered, or its turn or job has ended. */
  get(wait: WaitRef): Promise<AnyWait | undefined>;
  /** Finds the session of a wait, answered or not; undefined when its turn or job has ended. */
  sessionOf(wait: WaitRef): Promise<SessionId | undefined>;
  /**
   * Answers a wait. The first answer counts, and the turn resumes. Throws `wait.unknown`, `wait.expired`, and
   * `wait.answer` when the answer has the wrong kind or does not fit the schema: then the wait stays open. Throws
   * `options.invalid` when `wait` has the id of one wait and the key of another.
   */
  resolve<W extends WaitRef>(wait: W, answer: AnswerFor<W>, options?: ResolveOptions): Promise<"accepted" | "already-resolved">;
  /** Takes a question back: an approval counts as denied, a result as unknown. */
  revoke(wait: WaitRef, options?: ResolveOptions): Promise<"accepted" | "already-resolved">;
}
export { AnyWait, Approval, Delivery, PendingWait, Waits };
