// A tool call of a task that runs as a job. It uses the same dispatch as the calls of a turn: gate, attempts, settling.
// Not its job: running a tool (`tools/dispatch.ts`), steps and waits of a job (`task.ts`).
// job-call-1: Gates and after-hooks can change plugin states, so each runs as one change of the session, alone. The
//    change has an operation id of the job, by which a rerun finds its verdict. Without such hooks the call does not
//    wait for the session.
// job-call-2: The result of every attempt is recorded before after-hooks see it, also a deferred result. So no recorded
//    attempt runs again, and a job that waits for a result can be parked.
// job-call-3: The start of a call with `onInterrupt` is recorded first. If a rerun finds the start without a result, it
//    follows `onInterrupt`.
import { tracedIssue } from "../../kernel/hook-runner.ts";
import { passingFault, RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import { asCallId, asEffectName, asJobId, asTurnId, asWaitKey, type WaitKey } from "../../model/ids.ts";
import { defined, type Json, type JsonObject, toJson } from "../../model/json.ts";
import type { Attachment } from "../../model/message.ts";
import { LazyScope } from "../../model/scope.ts";
import { TEXTS } from "../../model/texts.ts";
import {
  type Attachable,
  type CallPolicy,
  type DeferTurns,
  type ToolCall,
  ToolError,
  type ToolFailure,
  type ToolOutput,
} from "../../model/tool.ts";
import { type WaitAnswer, waitIdOf } from "../../model/wait.ts";
import type { NewWait } from "../../stores/store.ts";
import { attempt } from "../../tools/attempt.ts";
import { type CallShow, DEFERS_MAX, type Deferred, type Dispatch, WEEK_MS } from "../../tools/dispatch.ts";
import { gate } from "../../tools/gate.ts";
import { failure } from "../../tools/result.ts";
import { settle } from "../../tools/settle.ts";
import { askAbout, awaited, delivered, saidIn, verdictAt } from "../../turn/asked.ts";
import type { EffectOf, GatedCall } from "../../turn/effect.ts";
import type { Verdict } from "../../turn/event.ts";
import { retryMs } from "../../turn/retry.ts";
import { ServiceContext } from "../services/service-context.ts";
import { changeSession } from "../session/change.ts";
import type { LiveSession } from "../session/session.ts";
import { recordsOf } from "./await.ts";
import type { TaskJobRun } from "./task.ts";

const NO_SHOW: CallShow = {
  started() {},
  returned() {},
  ended() {},
  progressed() {},
  printed() {},
  emitted() {},
};

/** Calls a tool, and returns its value. */
export async function callTool(
  job: TaskJobRun,
  session: LiveSession,
  callContext: ServiceContext,
  tool: string,
  input: Json,
): Promise<Json> {
  const found = toJson(input ?? null);
  if (typeof tool !== "string") throw new RuntimeError("job.invalid", { problem: "the name of a tool must be a text" });
  if ("problem" in found)
    throw new RuntimeError("job.invalid", {
      problem: `the arguments of ${tool} are not JSON: ${found.path}: ${found.problem}`,
    });
  const place = job.next("call");
  const hash = hashOf(JSON.stringify([tool, found.json]));
  const begun = await job.step(`${place}/asked`, () => hash);
  if (begun !== hash) throw new RuntimeError("job.diverged", { id: job.id, step: place });
  const call: ToolCall = { id: asCallId(place), name: tool, input: found.json };
  const done = job.recorded(`${place}/done`) as unknown as ToolOutput | undefined;
  return valueIn(tool, done ?? (await new Call(job, session, callContext, place).make(call)));
}

/** Returns the value of an output to the task, or throws its failure. */
function valueIn(tool: string, output: ToolOutput): Json {
  if (output.kind === "value") return output.control?.kind === "finish" ? output.control.value : output.value;
  if (output.kind === "failure") {
    const { class: of, code, message } = output.failure;
    throw new ToolError(code, message, { class: of });
  }
  throw new ToolError(`tool.${output.kind}`, `${tool}: ${output.reason}`, { class: "failed" });
}

class Call {
  readonly #job: TaskJobRun;
  readonly #session: LiveSession;
  readonly #callContext: ServiceContext;
  readonly #place: string;
  #dispatch!: Dispatch;

  constructor(job: TaskJobRun, session: LiveSession, callContext: ServiceContext, place: string) {
    this.#job = job;
    this.#session = session;
    this.#callContext = callContext;
    this.#place = place;
  }

  async make(asked: ToolCall): Promise<ToolOutput> {
    const { toolset, composition } = this.#session;
    await toolset.refresh();
    const catalog = await toolset.catalog(() => this.#callContext);
    this.#dispatch = this.#dispatchWith(catalog);
    const { has } = composition.hooks;
    const { call, output: refused, policy } = await this.#gated(asked);
    const output = refused ?? (await this.#attempted(call, policy));
    const settles = has.afterToolCall || has.projectResult;
    const final = settles ? await this.#settled(call, output) : output;
    return (await this.#job.step(`${this.#place}/done`, () => final as unknown as Json)) as unknown as ToolOutput;
  }

  // ── Gate ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #gated(
    asked: ToolCall,
  ): Promise<{ readonly call: ToolCall; readonly output?: ToolOutput; readonly policy?: CallPolicy }> {
    const { world } = this.#job.core;
    let placed: GatedCall = { at: "0", call: asked };
    for (let round = 0; ; round++) {
      let at = world.now();
      const askNow = (): number => {
        at = world.now();
        return at;
      };
      const asks = (verdict: Verdict): readonly NewWait[] => this.#approval(verdict, placed.call, round, at);
      const now = placed;
      const recorded = await this.#job.step(
        `${this.#place}/gate/${round}`,
        async () => ({ verdict: await this.#verdict(now, round, askNow), at }) as unknown as Json,
        (value) => asks((value as unknown as { verdict: Verdict }).verdict),
      );
      const { verdict } = recorded as unknown as { readonly verdict: Verdict };
      if (verdict.kind === "settled") return { call: placed.call, output: verdict.output };
      const call = verdict.input === undefined ? placed.call : { ...placed.call, input: verdict.input };
      const policy = verdict.policy === undefined ? {} : { policy: verdict.policy };
      if (verdict.kind === "pass") return { call, ...policy };
      const answer = await this.#answer(verdict.key, verdict.until);
      if (answer.kind !== "value")
        return { call, output: denied(call, answer.kind === "revoked" ? TEXTS.revoked : TEXTS.unanswered) };
      const { approved, reason, args } = saidIn(answer.value);
      if (approved !== true)
        return { call, output: denied(call, typeof reason === "string" ? reason : TEXTS.notApproved) };
      if (args === undefined) return { call, ...policy };
      placed = { at: "0", call: { ...call, input: args }, isApproved: true };
    }
  }

  /** job-call-1. A rerun that finds its verdict does not call `askNow`, so the wait ends at its original time. */
  #verdict(placed: GatedCall, round: number, askNow: () => number): Promise<Verdict> {
    const dispatch = this.#dispatch;
    const run = async (): Promise<Verdict> => {
      const { judged, abort } = await gate(dispatch, [placed], () => this.#contextOf(undefined));
      if (abort !== undefined) return { kind: "settled", output: { kind: "cancelled", reason: abort.message } };
      const [found] = judged;
      if (found === undefined) return { kind: "settled", output: { kind: "cancelled", reason: TEXTS.notMade } };
      return verdictAt(found, askNow());
    };
    return dispatch.hooks.has.beforeToolCall
      ? (this.#exclusively(
          `gate/${round}`,
          async () => (await run()) as unknown as Json,
        ) as unknown as Promise<Verdict>)
      : run();
  }

  #approval(verdict: Verdict, before: ToolCall, round: number, at: number): readonly NewWait[] {
    if (verdict.kind !== "wait") return [];
    const call = verdict.input === undefined ? before : { ...before, input: verdict.input };
    const about = askAbout("approval", call, verdict.reason ?? "", verdict.schema);
    const effect = asEffectName(`${this.#place}.w${round === 0 ? "" : `.${round}`}`);
    return [{ key: verdict.key, effect, at, until: verdict.until, about }];
  }

  /** Runs hooks once under this name, while nothing else changes the session. A rerun gets the recorded result. */
  async #exclusively(step: string, run: () => Promise<Json>): Promise<Json> {
    const session = this.#session;
    const { core } = this.#job;
    const operation = `/job/${this.#job.id}/${this.#place}/${step}`;
    const here = this.#job.bound(run); // The session runs it outside of the step.
    return this.#job.active(() =>
      changeSession(
        session,
        "a job's call",
        async () => {
          const known = await core.store.operations.find(session.id, operation);
          if (known?.kind === "done" && known.receipt !== undefined) return { done: () => known.receipt as Json };
          const receipt = await here();
          return { change: { receipt }, done: () => receipt };
        },
        operation,
        this.#job.signal,
      ),
    );
  }

  // ── Attempts ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async #attempted(call: ToolCall, policy: CallPolicy | undefined): Promise<ToolOutput> {
    const { world } = this.#job.core;
    for (let nth = 1, goesOn = 0; ; nth++) {
      const step = `${this.#place}/attempt/${nth}`;
      const interrupted = this.#job.recorded(step) === undefined ? await this.#begun(call, policy, nth) : undefined;
      if (interrupted !== undefined) return interrupted;
      const made = await this.#job.step(step, () => this.#attempt(call, policy, nth));
      const found = made as unknown as ToolOutput | Postponed;
      if (found.kind === "deferred") {
        const output = await this.#deferred(call, nth, found);
        if (output !== undefined) return output;
        if (++goesOn < DEFERS_MAX) continue;
        return failure("internal", "tool.result", TEXTS.unusable(call.name, TEXTS.waitsOn(DEFERS_MAX)));
      }
      const ms = policy === undefined ? undefined : retryMs(policy, nth - goesOn, found);
      if (ms === undefined || this.#job.signal.aborted) return found;
      await world.sleep(ms, this.#job.signal);
    }
  }

  /** Runs one attempt and returns its result in the recorded form. */
  async #attempt(call: ToolCall, policy: CallPolicy | undefined, nth: number): Promise<Json> {
    const found = await this.#run(this.#effect(call, policy, nth), this.#scope(), nth);
    await Promise.all(this.#keeping.splice(0));
    return (found.kind === "deferred" ? postponed(found, this.#job.core.world.now()) : found) as unknown as Json;
  }

  /** Runs the tool. A tool that writes plugin state runs alone in the session, as in a turn (job-call-1). */
  async #run(effect: EffectOf<"call">, scope: LazyScope, nth: number): Promise<ToolOutput | Deferred> {
    const run = async (): Promise<ToolOutput | Deferred> => attempt(this.#dispatch, effect, scope);
    if (effect.writes !== true) return this.#job.active(run);
    let deferred: Deferred | undefined;
    const stored = await this.#exclusively(`attempt/${nth}`, async () => {
      const found = await run();
      if (found.kind === "deferred") deferred = found;
      return found.kind === "deferred" ? null : (found as unknown as Json);
    });
    return deferred ?? (stored as unknown as ToolOutput);
  }

  /** job-call-3: undefined if the attempt can run. */
  async #begun(call: ToolCall, policy: CallPolicy | undefined, nth: number): Promise<ToolOutput | undefined> {
    if (policy?.onInterrupt === undefined) return undefined;
    const step = `${this.#place}/begun/${nth}`;
    if (this.#job.recorded(step) === undefined) {
      await this.#job.step(step, () => true);
      return undefined;
    }
    const unknown: ToolOutput = { kind: "unknown", reason: TEXTS.interrupted(call.name) };
    if (policy.onInterrupt === "fail") return unknown;
    const about = askAbout("interrupted", call, unknown.reason);
    const answer = await this.#asked(`${this.#place}/interrupted/${nth}`, this.#job.core.world.now() + WEEK_MS, about);
    const isApproved = answer.kind === "value" && saidIn(answer.value).approved === true;
    return isApproved ? undefined : unknown;
  }

  /** Waits for a deferred result. Undefined if the tool must run again, because its turns and jobs have ended. */
  async #deferred(
    call: ToolCall,
    nth: number,
    { on, until, question, schema }: Postponed,
  ): Promise<ToolOutput | undefined> {
    if (on !== undefined) {
      await this.#waitForOthers(on, until);
      return undefined;
    }
    const key = this.#job.recorded(`${this.#place}/key/${nth}`);
    const early = key === undefined ? undefined : asWaitKey(String(key));
    const answer = await this.#asked(`${this.#place}/wait/${nth}`, until, awaited(call, question, schema), early);
    if (answer.kind === "value") return delivered(answer.value);
    const isQuestion = question !== undefined;
    const reason = !isQuestion ? TEXTS.pending : answer.kind === "revoked" ? TEXTS.withdrawn : TEXTS.noAnswer;
    return { kind: "unknown", reason };
  }

  /** Waits for turns and jobs that the tool has named. */
  async #waitForOthers({ turns = [], jobs = [], need = "all" }: DeferTurns, until: number): Promise<void> {
    const { core } = this.#job;
    const ids = [...new Set(jobs)].map(asJobId);
    const ended = (): Promise<readonly boolean[]> => Promise.all(turns.map(({ turn }) => this.#hasEnded(turn)));
    await this.#job.waitFor(ids, need, until, () => recordsOf(core, ids), ended);
  }

  async #hasEnded(turn: string): Promise<boolean> {
    const found = await this.#job.core.store.find(asTurnId(turn));
    return found === undefined || found.state === "ended" || found.state === "withdrawn";
  }

  // ── Waits ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Opens a wait for an answer. The row of the wait is written with the step, and the answer is an event of the job.
   */
  async #asked(step: string, until: number, about: NewWait["about"], key?: WaitKey): Promise<WaitAnswer> {
    const { world } = this.#job.core;
    const at = world.now();
    const asks = (value: Json): readonly NewWait[] => {
      const { key: of, until: end } = value as { readonly key: string; readonly until: number };
      return [{ key: asWaitKey(of), effect: asEffectName(step), at, until: end, about }];
    };
    const made = () => ({ key: key ?? asWaitKey(world.secret()), until }) as unknown as Json;
    const found = (await this.#job.step(step, made, asks)) as { readonly key: string; readonly until: number };
    return this.#answer(asWaitKey(found.key), found.until);
  }

  async #answer(key: WaitKey, until: number): Promise<WaitAnswer> {
    const { store, world } = this.#job.core;
    const found = await this.#job.answerTo(waitIdOf(key), until);
    if (found !== undefined) return found;
    await store.waits.resolve(key, { kind: "timeout" }, world.now()); // If an answer came just before, it counts.
    await this.#job.look();
    return (await this.#job.answerTo(waitIdOf(key), 0)) ?? { kind: "timeout" };
  }

  // ── Settling ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** job-call-1 */
  async #settled(call: ToolCall, output: ToolOutput): Promise<ToolOutput> {
    const dispatch = this.#dispatch;
    const run = async (): Promise<Json> => {
      const given = { at: "0", call, output };
      const { results, abort } = await settle(dispatch, [given], () => this.#contextOf(undefined));
      if (abort !== undefined) return { kind: "cancelled", reason: abort.message };
      return (results[0]?.output ?? output) as unknown as Json;
    };
    const settled = await this.#job.inside(`${this.#place}/settle`, () => this.#exclusively("settle", run));
    return settled as unknown as ToolOutput;
  }

  /** The attempt waits for these, because the bytes of a result must be stored before the result. */
  readonly #keeping: PromiseLike<unknown>[] = [];
  #keep({ data, mediaType, name }: Attachable): Attachment {
    const hash = hashOf(data);
    const storing = this.#job.core.store.blobs.put(hash, data);
    if (storing !== undefined) this.#keeping.push(storing);
    return { kind: "attachment", hash, mediaType, bytes: data.byteLength, ...defined({ name }) };
  }

  // ── Dispatch ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #scope(): LazyScope {
    const scope = new LazyScope();
    const { signal } = this.#job;
    if (signal.aborted) scope.abort(signal.reason);
    else signal.addEventListener("abort", () => scope.abort(signal.reason), { once: true });
    return scope;
  }

  #effect(call: ToolCall, policy: CallPolicy | undefined, nth: number): EffectOf<"call"> {
    const position = asEffectName(this.#place);
    const effect = nth === 1 ? position : asEffectName(`${this.#place}.a${nth}`);
    const { writes, onInterrupt } = policy ?? {};
    return { name: effect, kind: "call", at: "0", call, attempt: nth, position, ...defined({ writes, onInterrupt }) };
  }

  #contextOf(scope: LazyScope | undefined): ServiceContext {
    return new ServiceContext(this.#session, undefined, scope ?? this.#job, undefined, undefined, this.#job);
  }

  #dispatchWith(catalog: Dispatch["catalog"]): Dispatch {
    const job = this.#job;
    const { core } = job;
    const session = this.#session;
    const trace = (name: string, about: JsonObject): void => core.trace(name, about, session.asPlace);
    return {
      hooks: session.composition.hooks,
      states: session.snapshot.states,
      catalog,
      limits: core.limits,
      world: core.world,
      turnId: asTurnId(job.id),
      sessionId: session.id,
      output: undefined,
      show: NO_SHOW,
      keep: (attachable) => this.#keep(attachable),
      answerable: async ({ attempt: nth, call }, deferral, schema) => {
        const key = asWaitKey(String(await job.step(`${this.#place}/key/${nth}`, () => core.world.secret())));
        const at = core.world.now();
        const until = deferral.until ?? at + (deferral.waitMs ?? WEEK_MS);
        const about = awaited(call, deferral.question, deferral.schema ?? schema);
        const effect = asEffectName(`${this.#place}/wait/${nth}`);
        await job.write([], { waits: [{ key, effect, at, until, about, isEarly: true }] });
        return key;
      },
      wasDeclared: () => false,
      isRepeated: ({ onInterrupt }, error) =>
        onInterrupt === undefined && passingFault(error, core.store) !== undefined,
      contextOfCall: (scope) => this.#contextOf(scope as LazyScope),
      availability: (tool) => catalog.availability(tool),
      conflict: ({ hook, winner, loser }) => trace("hook.conflict", { hook, winner, loser }),
      observed: (issues) => {
        for (const issue of issues) trace("hook.issue", tracedIssue(issue));
      },
    };
  }
}

/** A deferred result in its recorded form. */
interface Postponed {
  readonly kind: "deferred";
  readonly until: number;
  readonly on?: DeferTurns;
  readonly question?: string;
  readonly schema?: JsonObject;
}
const postponed = ({ deferral, schema }: Deferred, now: number): Postponed => ({
  kind: "deferred",
  until: deferral.until ?? now + (deferral.waitMs ?? WEEK_MS),
  ...defined({
    on: deferral.on && onlyJson(deferral.on),
    question: deferral.question,
    schema: deferral.schema ?? schema,
  }),
});

const onlyJson = ({ turns, jobs, need }: DeferTurns): DeferTurns => defined({ turns, jobs, need });

const denied = ({ name }: ToolCall, reason: string): ToolOutput => ({
  kind: "failure",
  failure: { class: "denied", code: "tool.denied", message: TEXTS.denied(name, reason) } satisfies ToolFailure,
});
