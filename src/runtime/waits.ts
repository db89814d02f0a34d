// Lists, finds and answers waits, from any process, also without the tool.
// Not its job: rows of waits (`stores/`), the effect of an answer on its turn (`turn/work.ts`).
// Answers are checked here against the kind and the schema of the wait. The first answer is final, so a wrong answer
// must not be stored.
import { RuntimeError } from "../model/errors.ts";
import {
  asSessionId,
  asWaitId,
  asWaitKey,
  type CallId,
  type EffectName,
  type JobId,
  type SessionId,
  type TurnId,
  type WaitId,
  type WaitKey,
} from "../model/ids.ts";
import { bytesOver, defined, isObject, type Json, type JsonObject, toJson } from "../model/json.ts";
import type { Known } from "../model/known.ts";
import { type WaitAnswer, type WaitKind, waitIdOf } from "../model/wait.ts";
import type { StoredWait } from "../stores/store.ts";
import { validatorOf } from "../tools/validator.ts";
import { requireOptions, requireWords } from "./checks.ts";
import type { Core } from "./core.ts";

/** The answer to `approval`. Also the answer to `interrupted`, with only `approved` and `reason`. */
export interface Approval {
  readonly approved: boolean;
  /** The model reads it if the call is not approved. The history keeps it. */
  readonly reason?: string | undefined;
  /** Other arguments for the call. They must fit the tool's schema and pass the gates again. */
  readonly args?: Json | undefined;
  /** For plugins that remember answers: the number of milliseconds, or `true` for ever. */
  readonly remember?: number | true | undefined;
}
/** The answer to `result` and `question`: a value that fits the schema of the wait, or the reason why there is none. */
export type Delivery = { readonly value: Json } | { readonly error: string; readonly code?: string | undefined };
export type AnswerTo<K extends WaitKind> = K extends "approval"
  ? Approval
  : K extends "interrupted"
    ? Omit<Approval, "args" | "remember">
    : Delivery;

/** A wait of a turn or a job, with all data that a person needs for an answer. */
export interface PendingWait<K extends WaitKind = WaitKind> {
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
export type AnyWait = { [K in WaitKind]: PendingWait<K> }[WaitKind];

/**
 * Names a wait: its id (`event.wait`), its key, or an object that has one of them, such as a wait of
 * `session.read().waits`. A handler that answers for outsiders must pass `{ key }`, because ids are public, and `{ key
 * }` accepts no id.
 */
export type WaitRef = string | { readonly id: string } | { readonly key: string };
/** The type of the answer to `W`, as exact as the type of `W` allows. */
export type AnswerFor<W> = W extends { readonly kind: infer K extends WaitKind } ? AnswerTo<K> : Approval | Delivery;

export interface WaitsFilter {
  /** Only waits of this session. */
  readonly session?: string | undefined;
  /** Only waits of this session and its descendants. */
  readonly tree?: string | undefined;
  /** Only waits after this one: the `id` of the last wait of the previous page. */
  readonly after?: string | undefined;
  /** Default: 1,000. */
  readonly max?: number | undefined;
}
export interface ResolveOptions {
  /** Your app's name for the person who answers. The history keeps it. */
  readonly by?: string | undefined;
}

export interface Waits {
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
  resolve<W extends WaitRef>(
    wait: W,
    answer: AnswerFor<W>,
    options?: ResolveOptions,
  ): Promise<"accepted" | "already-resolved">;
  /** Withdraws a question: an approval counts as denied, a result as unknown. */
  revoke(wait: WaitRef, options?: ResolveOptions): Promise<"accepted" | "already-resolved">;
}

const FILTER: Known<WaitsFilter> = { session: true, tree: true, after: true, max: true };
const OPTIONS: Known<ResolveOptions> = { by: true };
const LIST_MAX = 1_000;

export function waitsOf(open: () => Core): Waits {
  return {
    list: async (filter = {}) => {
      const { store, world } = open();
      requireOptions("waits.list", filter, FILTER);
      const { session, tree, after, max = LIST_MAX } = filter;
      for (const [option, value] of Object.entries({ session, tree, after }))
        if (value !== undefined && typeof value !== "string")
          throw new RuntimeError("options.invalid", { option, problem: "it must be an id" });
      if (!(max === Infinity || (Number.isSafeInteger(max) && max >= 1)))
        throw new RuntimeError("options.invalid", { option: "max", problem: "it must be a whole number above 0" });
      const page = defined({
        session: session === undefined ? undefined : asSessionId(session),
        tree: tree === undefined ? undefined : asSessionId(tree),
        after: after === undefined ? undefined : asWaitId(after),
      });
      return (await store.waits.list({ ...page, max })).map((wait) => shown(wait, world.now()));
    },
    get: async (wait) => {
      const core = open();
      const found = await rowOf(core, wait);
      return found?.askedAs === undefined || found.answer !== undefined ? undefined : shown(found, core.world.now());
    },
    sessionOf: async (wait) => {
      const found = await rowOf(open(), wait);
      return found?.askedAs === undefined ? undefined : found.sessionId;
    },
    resolve: async (wait: WaitRef, answer: unknown, options: ResolveOptions = {}) => {
      const core = open();
      const by = byOf("waits.resolve", options);
      const found = await requireRow(core, wait);
      const value = await checkedAnswer(core, found, answer);
      return give(core, found.key, { kind: "value", value, ...by });
    },
    revoke: async (wait, options = {}) => {
      const core = open();
      const by = byOf("waits.revoke", options);
      return give(core, (await requireRow(core, wait)).key, { kind: "revoked", ...by });
    },
  };
}

/** Stores the answer and wakes the turn or the job. */
async function give(core: Core, key: WaitKey, answer: WaitAnswer): Promise<"accepted" | "already-resolved"> {
  const { store, watcher, world } = core;
  const { said, sessionId, jobId } = await store.waits.resolve(key, answer, world.now());
  if (said === "unknown") throw new RuntimeError("wait.unknown", {});
  if (said === "expired") throw new RuntimeError("wait.expired", {});
  if (jobId !== undefined) {
    const { jobs } = await core.background.load();
    const runningJob = jobs.find(jobId);
    if (runningJob === undefined) jobs.kick();
    else await runningJob.look();
  }
  if (sessionId !== undefined) {
    core.readers.hinted(sessionId);
    watcher.wake(sessionId);
  }
  return said;
}

const isId = (text: string): boolean => text.startsWith("wai_");

function idOf(wait: unknown): WaitId | undefined {
  if (typeof wait === "string") return isId(wait) ? asWaitId(wait) : waitIdOf(asWaitKey(wait));
  if (!isObject(wait)) return undefined;
  const id = typeof wait.id === "string" ? asWaitId(wait.id) : undefined;
  if (typeof wait.key !== "string") return id;
  // Outsiders can see ids in events, and handlers of their links pass `{ key }`. So an id in `key` must not find the
  // wait.
  const found = waitIdOf(asWaitKey(wait.key));
  if (id !== undefined && id !== found)
    throw new RuntimeError("options.invalid", {
      option: "wait",
      problem: "its `id` and its `key` belong to different waits",
    });
  return found;
}

async function rowOf({ store }: Core, wait: unknown): Promise<StoredWait | undefined> {
  const id = idOf(wait);
  return id === undefined ? undefined : store.waits.get(id);
}

async function requireRow(core: Core, wait: unknown): Promise<StoredWait> {
  const found = await rowOf(core, wait);
  if (found !== undefined) return found;
  const { key, wait: waitOfEvent, kind } = isObject(wait) ? wait : {};
  if (typeof waitOfEvent === "string") throw new RuntimeError("wait.unknown", { event: String(kind) });
  throw new RuntimeError("wait.unknown", typeof key === "string" && isId(key) ? { id: key } : {});
}

function byOf(where: string, options: ResolveOptions): { readonly by?: string } {
  if (typeof options === "string")
    throw new RuntimeError("options.invalid", { option: "by", problem: "it must be a field of an object" });
  requireOptions(where, options, OPTIONS);
  if (options.by === undefined) return {};
  requireWords("by", options.by, 256);
  return { by: options.by };
}

const shown = (wait: StoredWait, now: number): AnyWait => {
  const { id, key, sessionId, path, turnId, jobId, effect, at, until, about } = wait;
  const { kind, call, reason, schema, argsHash } = about;
  const of = { effect, callId: call.id, tool: call.name, arguments: call.input, argumentsHash: argsHash, reason };
  const times = { askedAt: at, deadline: until, ageMs: Math.max(0, now - at) };
  const view = { id, kind, sessionId, path, ...defined({ turnId, jobId }), ...of, ...defined({ schema }), ...times };
  // Not enumerable, because a list that is sent to a browser as JSON must not contain the key.
  return Object.defineProperty(view, "key", { value: key, enumerable: false }) as unknown as AnyWait;
};

// ── Answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const wrong = (wants: WaitKind, problem: string): never => {
  throw new RuntimeError("wait.answer", { wants, problem });
};

const APPROVAL = ["approved", "reason", "args", "remember"];
const INTERRUPTED = ["approved", "reason"];
const DELIVERY = ["value", "error", "code"];
const FIELDS = { approval: APPROVAL, interrupted: INTERRUPTED, result: DELIVERY, question: DELIVERY };

async function checkedAnswer(core: Core, { about }: StoredWait, answer: unknown): Promise<Json> {
  const { kind: wants, schema } = about;
  const found = toJson(answer);
  if ("problem" in found) return wrong(wants, `${found.path}: ${found.problem}`);
  if (!isObject(found.json)) return wrong(wants, "it must be an object");
  const given = found.json as JsonObject;
  for (const field of Object.keys(given))
    if (!FIELDS[wants].includes(field))
      wrong(wants, `there is no field ${field}; there are ${FIELDS[wants].join(", ")}`);
  const bytes = bytesOver(JSON.stringify(given), core.limits.resultBytesMax);
  if (bytes !== undefined)
    throw new RuntimeError("limit.bytes", { what: "The answer", bytes, max: core.limits.resultBytesMax });
  if (wants === "approval" || wants === "interrupted") await requireApproval(wants, given, schema);
  else await requireDelivery(wants, given, schema);
  return given;
}

async function requireApproval(wants: WaitKind, given: JsonObject, schema: JsonObject | undefined): Promise<void> {
  const { approved, reason, args, remember } = given;
  if (typeof approved !== "boolean") wrong(wants, "approved must be true or false");
  if (reason !== undefined && typeof reason !== "string") wrong(wants, "reason must be text");
  if (remember !== undefined && remember !== true && !(typeof remember === "number" && remember > 0))
    wrong(wants, "remember must be true or a number of milliseconds");
  if (args === undefined) return;
  if (approved !== true) wrong(wants, "args go only with an approval");
  await requireFit(wants, "args", args, schema);
}

async function requireDelivery(wants: WaitKind, given: JsonObject, schema: JsonObject | undefined): Promise<void> {
  const { value, error, code } = given;
  if ((value === undefined) === (error === undefined)) wrong(wants, "it must have exactly one of value and error");
  if (error !== undefined && typeof error !== "string") wrong(wants, "error must be text");
  if (code !== undefined && (typeof code !== "string" || error === undefined))
    wrong(wants, "code must be a text, and goes only with error");
  if (value !== undefined) await requireFit(wants, "value", value, schema);
}

async function requireFit(wants: WaitKind, what: string, value: Json, schema: JsonObject | undefined): Promise<void> {
  if (schema === undefined) return;
  const result = await validatorOf(schema, `the wait's ${what}`)(value);
  if (!result.ok) wrong(wants, `${what} does not fit: ${result.problem.replace(/^the arguments /, "it ")}`);
}
