// Lists, finds and answers waits, from any process, which need not have the tool.
// Not its job: rows of waits (`stores/`), what follows from an answer (`turn/work.ts`).
// An answer is checked here against the kind and the schema of its row. The first answer is final, so a wrong one must not
// be stored.
import { RuntimeError } from "../model/errors.ts";
import {
  asSessionId,
  asWaitId,
  asWaitKey,
  type CallId,
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

/** The answer to `approval`, and with `approved` and `reason` alone to `interrupted`. */
export interface Approval {
  readonly approved: boolean;
  /** Told to the model when the call is not approved, and kept in history. */
  readonly reason?: string | undefined;
  /** Arguments to run the call with instead. They must fit the tool's schema, and pass the gates again. */
  readonly args?: Json | undefined;
  /** For plugins that remember answers: for how many milliseconds, or with `true` as long as the session lives. */
  readonly remember?: number | true | undefined;
}
/** The answer to `result` and `question`: a value that fits the schema of the wait, or why there is none. */
export type Delivery = { readonly value: Json } | { readonly error: string; readonly code?: string | undefined };
export type AnswerTo<K extends WaitKind> = K extends "approval"
  ? Approval
  : K extends "interrupted"
    ? Omit<Approval, "args" | "remember">
    : Delivery;

/** Something that a turn waits for, with all that a person needs to answer it. */
export interface PendingWait<K extends WaitKind = WaitKind> {
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
export type AnyWait = { [K in WaitKind]: PendingWait<K> }[WaitKind];

/**
 * Names a wait: its id (`event.wait`), its key, or an object that has one of them, such as a wait of
 * `session.read().waits`. A handler that answers for outsiders passes `{ key }`: ids are public, and `{ key }` takes
 * none.
 */
export type WaitRef = string | { readonly id: string } | { readonly key: string };
/** The answer that fits what `W` waits for, as far as its type tells. */
export type AnswerFor<W> = W extends { readonly kind: infer K extends WaitKind } ? AnswerTo<K> : Approval | Delivery;

export interface WaitsFilter {
  /** Only those of this session. */
  readonly session?: string | undefined;
  /** Only those of this session and all that descend from it. */
  readonly tree?: string | undefined;
  /** Only those after this one: the `id` of the last of the page before. */
  readonly after?: string | undefined;
  /** Default: 1,000. */
  readonly max?: number | undefined;
}
export interface ResolveOptions {
  /** Who answers, as your app names them. Kept in history. */
  readonly by?: string | undefined;
}

export interface Waits {
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
  resolve<W extends WaitRef>(
    wait: W,
    answer: AnswerFor<W>,
    options?: ResolveOptions,
  ): Promise<"accepted" | "already-resolved">;
  /** Takes a question back: an approval counts as denied, a result as unknown. */
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
  // Outsiders see ids in events. Handlers of their links pass `{ key }`, so an id in `key` must not find the wait.
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
  const { id, key, sessionId, path, turnId, jobId, at, until, about } = wait;
  const { kind, call, reason, schema, argsHash } = about;
  const of = { callId: call.id, tool: call.name, arguments: call.input, argumentsHash: argsHash, reason };
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
