// Job: calls the handlers of a hook by the rules of its row in the table. Families, order, owners, deadlines and
// telemetry are handled here and nowhere else.
// Not its job: what answers mean (`tool-gates.ts`, the runtime), and the event of a handler (`hook-event.ts`).
// hook-runner-1: Every error that leaves this file names its plugin.
// hook-runner-2: Answers are checked against the hook's shape and its list of directives before any code uses them.
// hook-runner-3: If no handler returns a promise, all calls are synchronous and the result is not a promise.

import { type Awaitable, andThen, ignoreRejection, isThenable } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import { describeThrown, type JsonObject } from "../model/json.ts";
import { answerProblem, directiveProblem } from "./answers.ts";
import type { Directive } from "./directive.ts";
import type { AnswerOf, HandledName, Order, SeesOf, SlotName } from "./handlers.ts";
import { CallScope, eventFor, type HookCallContext } from "./hook-event.ts";
import { HOOK_NAMES, HOOKS, type HookName, type Owned, type RowData } from "./hooks.ts";
import type { Installed } from "./plugin.ts";
import type { Tool } from "./tool.ts";

export type { HookCallContext } from "./hook-event.ts";

export const ORDERS: readonly Order[] = ["early", "normal", "late"];

/** A handler of a plugin, with its deadline and its tools. */
export interface Bound {
  readonly plugin: Installed;
  readonly deadlineMs: number;
  readonly atEnd?: true;
  /** The tools of a gate, by name. The value is the tool object if the plugin passed one. */
  readonly tools?: ReadonlyMap<string, Tool | undefined>;
  run(event: object): unknown;
}

/** A slot's value and its plugin. */
export interface Filled {
  readonly owner: Installed;
  readonly value: unknown;
}

/**
 * A problem that did not fail the turn: an error in an observer, an error in a gate (which denied the call), a model
 * that does not report its usage, or a gate for a tool that does not exist.
 */
export interface Issue {
  readonly plugin?: string;
  readonly code: string;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
}

/** An issue in the form of the trace `hook.issue`. */
export const tracedIssue = ({ plugin = "", code, message, hint }: Issue): JsonObject =>
  hint === undefined ? { plugin, code, message } : { plugin, code, message, hint };

/**
 * Called before every handler but those of `stream`. The returned function is called at the end, with the handler's
 * error, if any.
 */
export type ObserveHandler = (
  hook: HookName,
  plugin: string,
  here: Partial<HookCallContext>,
  sees: object,
) => (error?: unknown) => void;

/** For each hook, the plugin ids of its handlers in the order in which they run. */
export type InstalledHooks = { readonly [N in HookName]: readonly string[] };

export class HookRunner {
  readonly #bound: ReadonlyMap<HookName, readonly Bound[]>;
  readonly #slots: ReadonlyMap<HookName, Filled>;
  readonly #observed: ObserveHandler | undefined;
  /** Which hooks have a handler or a value. Stages check this first, so an unused hook costs one lookup. */
  readonly has: { readonly [N in HookName]: boolean };
  /** Reports handlers that blocked longer than their deadline, or that failed in a row with `onThrow: "skip"`. */
  readonly #overran: (error: RuntimeError) => void;

  constructor(
    bound: ReadonlyMap<HookName, readonly Bound[]>,
    slots: ReadonlyMap<HookName, Filled>,
    observed: ObserveHandler | undefined,
    overran: (error: RuntimeError) => void,
  ) {
    this.#bound = bound;
    this.#slots = slots;
    this.#observed = observed;
    this.#overran = overran;
    const has = HOOK_NAMES.map((hook) => [hook, bound.has(hook) || slots.has(hook)]);
    this.has = Object.fromEntries(has) as HookRunner["has"];
  }

  /** The plugins of each hook, in the order in which they run. */
  get installed(): InstalledHooks {
    const pluginsOf = (hook: HookName): readonly string[] => {
      const filled = this.#slots.get(hook);
      return filled === undefined ? (this.#bound.get(hook) ?? NONE).map(({ plugin }) => plugin.id) : [filled.owner.id];
    };
    return Object.fromEntries(HOOK_NAMES.map((hook) => [hook, pluginsOf(hook)])) as unknown as InstalledHooks;
  }

  slot<N extends SlotName>(hook: N): AnswerOf<N> | undefined {
    return this.#slots.get(hook)?.value as AnswerOf<N> | undefined;
  }

  /** The plugin that fills a slot. */
  ownerOf(hook: SlotName): string {
    return this.#slots.get(hook)?.owner.id ?? "";
  }

  /** Calls a function of a slot's value like a handler: with telemetry and a deadline, and errors name its plugin. */
  callSlot<T>(
    hook: SlotName,
    run: (scope: CallScope) => Awaitable<T>,
    here: Pick<HookCallContext, "signal"> & Partial<HookCallContext>,
  ): Awaitable<T> {
    const plugin = this.ownerOf(hook);
    const call = (): Awaitable<T> => this.#callSlotNow(hook, plugin, run, here);
    return this.#observed === undefined ? call() : (this.#observe(hook, plugin, here, NOTHING, call) as Awaitable<T>);
  }

  #callSlotNow<T>(
    hook: SlotName,
    id: string,
    run: (scope: CallScope) => Awaitable<T>,
    here: Pick<HookCallContext, "signal">,
  ): Awaitable<T> {
    const scope = new CallScope(here);
    const bound = { plugin: { id }, deadlineMs: HOOKS[hook].deadlineMs };
    let answer: Awaitable<T>;
    try {
      answer = run(scope);
    } catch (error) {
      throw owned(hook, id, error);
    }
    return isThenable(answer) ? (inTime(hook, bound, answer, scope) as Promise<T>) : answer;
  }

  /** The same, with an event as for a handler: the services of the row, the state of its plugin, the signal. */
  callSlotWith<T>(hook: SlotName, run: (event: object) => Awaitable<T>, here: HookCallContext): Awaitable<T> {
    const { owner } = this.#slots.get(hook) as Filled;
    return this.callSlot(hook, (scope) => run(eventFor(hook, owner, NOTHING, here, scope)), here);
  }

  handlers(hook: HandledName): readonly Bound[] {
    return this.#bound.get(hook) ?? NONE;
  }

  /** All answers in order, each with its plugin. The first error ends the calls. */
  collect<N extends HandledName>(
    hook: N,
    sees: SeesOf<N>,
    here: HookCallContext,
  ): Awaitable<readonly Owned<AnswerOf<N>>[]> {
    const found: Owned<AnswerOf<N>>[] = [];
    const take = (bound: Bound, answer: unknown): void => {
      for (const value of this.allowed(hook, bound.plugin.id, answer))
        found.push({ plugin: bound.plugin.id, value: value as AnswerOf<N> });
    };
    const done = this.inTurn(hook, here, () => sees, take);
    return isThenable(done) ? done.then(() => found) : found;
  }

  /** The single answers in the result of a handler, each checked. */
  allowed(hook: HookName, plugin: string, answer: unknown): readonly object[] {
    if (answer === undefined || answer === null) return NONE;
    const { directives }: RowData = HOOKS[hook];
    const given: readonly unknown[] = Array.isArray(answer)
      ? answer.filter((value) => value !== undefined && value !== null)
      : [answer];
    return given.map((value) => {
      const problem = answerProblem(hook, value, plugin);
      if (problem !== undefined) throw refused(hook, plugin, problem);
      if (directives !== undefined) requireDirective(hook, plugin, directives, value as Directive);
      return value as object;
    });
  }

  /** Pipes: each handler gets the answer of the previous one. Skips a handler for which `sees` returns undefined. */
  transform<N extends HandledName, T>(
    hook: N,
    start: T,
    here: HookCallContext,
    sees: (now: T, bound: Bound) => SeesOf<N> | undefined,
    merge: (now: T, answer: AnswerOf<N>, owner: string) => T,
  ): Awaitable<T> {
    let now = start;
    const take = (bound: Bound, answer: unknown): void => {
      if (answer === undefined || answer === null) return;
      const problem = answerProblem(hook, answer, bound.plugin.id);
      if (problem !== undefined) throw refused(hook, bound.plugin.id, problem);
      now = merge(now, answer as AnswerOf<N>, bound.plugin.id);
    };
    if ((HOOKS[hook] as RowData).onThrow === "skip")
      return this.#transformLeniently(hook, here, (bound) => sees(now, bound), take).then(() => now);
    const done = this.inTurn(hook, here, (bound) => sees(now, bound), take);
    return isThenable(done) ? done.then(() => now) : now;
  }

  /** For rows with `onThrow: "skip"`: skips and reports a handler that fails. */
  async #transformLeniently<N extends HandledName>(
    hook: N,
    here: HookCallContext,
    sees: (bound: Bound) => SeesOf<N> | undefined,
    take: (bound: Bound, answer: unknown) => void,
  ): Promise<void> {
    for (const bound of this.handlers(hook)) {
      try {
        const seen = sees(bound);
        if (seen !== undefined) take(bound, await this.call(hook, bound, seen, here));
      } catch (error) {
        this.#overran(error instanceof RuntimeError ? error : owned(hook, bound.plugin.id, error));
      }
    }
  }

  /** The first result of `take` that is not undefined. Later handlers are not called. */
  async first<N extends HandledName, T>(
    hook: N,
    sees: SeesOf<N>,
    here: HookCallContext,
    take: (answer: Owned<AnswerOf<N>>) => T | undefined,
  ): Promise<T | undefined> {
    for (const bound of this.handlers(hook)) {
      const answer: unknown = await this.call(hook, bound, sees, here);
      if (answer === undefined || answer === null) continue;
      const problem = answerProblem(hook, answer, bound.plugin.id);
      if (problem !== undefined) throw refused(hook, bound.plugin.id, problem);
      const taken = take({ plugin: bound.plugin.id, value: answer as AnswerOf<N> });
      if (taken !== undefined) return taken;
    }
    return undefined;
  }

  /** The answer of the only handler. */
  single<N extends HandledName>(hook: N, sees: SeesOf<N>, here: HookCallContext): Awaitable<AnswerOf<N> | undefined> {
    const bound = this.handlers(hook)[0];
    if (bound === undefined) return undefined;
    return andThen(this.call(hook, bound, sees, here), (answer) => {
      const problem = answerProblem(hook, answer, bound.plugin.id);
      if (problem !== undefined) throw refused(hook, bound.plugin.id, problem);
      return answer as AnswerOf<N>;
    });
  }

  /**
   * Calls observers, concurrently unless the row has `inOrder`, and waits for all of them. Failures are returned as
   * issues, never thrown.
   */
  observe<N extends HandledName>(hook: N, sees: SeesOf<N>, here: HookCallContext): Awaitable<readonly Issue[]> {
    const handlers = this.handlers(hook);
    if (handlers.length === 0) return NONE;
    const row: RowData = HOOKS[hook];
    const issues: (Issue & { readonly place: number })[] = [];
    const note = (bound: Bound, place: number, error: unknown): void => {
      issues.push({ place, plugin: bound.plugin.id, code: codeOf(error), message: describeThrown(error) });
    };
    const watch = (bound: Bound, place: number): Awaitable<void> => {
      try {
        const seen = this.call(hook, bound, sees, here);
        return isThenable(seen)
          ? Promise.resolve(seen).then(
              () => {},
              (error: unknown) => note(bound, place, error),
            )
          : undefined;
      } catch (error) {
        note(bound, place, error);
      }
    };
    const sorted = (): readonly Issue[] =>
      issues.sort((a, b) => a.place - b.place).map(({ place: _, ...issue }) => issue);
    if (row.inOrder === true) {
      return (async () => {
        for (const [place, bound] of handlers.entries()) await watch(bound, place);
        return sorted();
      })();
    }
    const waits = handlers.map(watch).filter(isThenable);
    return waits.length === 0 ? sorted() : Promise.all(waits).then(sorted);
  }

  /** Calls the handlers one after the other and passes each answer to `take`. */
  inTurn<N extends HandledName>(
    hook: N,
    here: HookCallContext,
    sees: (bound: Bound) => SeesOf<N> | undefined,
    take: (bound: Bound, answer: unknown) => void,
  ): Awaitable<void> {
    const handlers = this.handlers(hook);
    for (let index = 0; index < handlers.length; index++) {
      const bound = handlers[index] as Bound;
      const seen = sees(bound);
      if (seen === undefined) continue;
      const answer = this.call(hook, bound, seen, here);
      if (isThenable(answer)) return this.#inTurnLater(hook, here, sees, take, index, answer);
      take(bound, answer);
    }
  }

  async #inTurnLater<N extends HandledName>(
    hook: N,
    here: HookCallContext,
    sees: (bound: Bound) => SeesOf<N> | undefined,
    take: (bound: Bound, answer: unknown) => void,
    from: number,
    first: PromiseLike<unknown>,
  ): Promise<void> {
    const handlers = this.handlers(hook);
    take(handlers[from] as Bound, await first);
    for (const bound of handlers.slice(from + 1)) {
      const seen = sees(bound);
      if (seen !== undefined) take(bound, await this.call(hook, bound, seen, here));
    }
  }

  /**
   * Calls one handler: reports it to telemetry, names the plugin in errors, and applies the deadline once the answer is
   * a promise.
   */
  call<N extends HandledName>(hook: N, bound: Bound, sees: SeesOf<N>, here: HookCallContext): unknown {
    if (this.#observed === undefined || hook === "stream") return this.#callNow(hook, bound, sees, here);
    return this.#observe(hook, bound.plugin.id, here, sees as object, () => this.#callNow(hook, bound, sees, here));
  }

  #observe(hook: HookName, plugin: string, here: Partial<HookCallContext>, sees: object, run: () => unknown): unknown {
    const end = (this.#observed as ObserveHandler)(hook, plugin, here, sees);
    try {
      const answer = run();
      if (!isThenable(answer)) {
        end();
        return answer;
      }
      return Promise.resolve(answer).then(
        (value) => {
          end();
          return value;
        },
        (error: unknown) => {
          end(error);
          throw error;
        },
      );
    } catch (error) {
      end(error);
      throw error;
    }
  }

  #callNow<N extends HandledName>(hook: N, bound: Bound, sees: SeesOf<N>, here: HookCallContext): unknown {
    const scope = new CallScope(here);
    const event = eventFor(hook, bound.plugin, sees as object, here, scope);
    const began = Date.now();
    let answer: unknown;
    try {
      answer = bound.run(event);
    } catch (error) {
      throw owned(hook, bound.plugin.id, error);
    }
    // Code that blocks cannot be interrupted, so it is only reported.
    if (Date.now() - began > bound.deadlineMs) this.#overran(late(hook, bound));
    if (!isThenable(answer)) return answer;
    if ((HOOKS[hook] as RowData).isSync === true) ignoreRejection(answer);
    if ((HOOKS[hook] as RowData).isSync === true)
      throw refused(hook, bound.plugin.id, "it is a promise, and this hook cannot wait");
    return inTime(hook, bound, answer, scope);
  }
}

const NONE: readonly never[] = [];
const NOTHING = {};

/** The handler whose time is measured. */
type Timed = Pick<Bound, "deadlineMs"> & { readonly plugin: { readonly id: string } };

const late = (hook: HookName, { plugin, deadlineMs: ms }: Timed): RuntimeError =>
  new RuntimeError("hook.deadline", { plugin: plugin.id, hook, ms });

/** Waits for an answer until the deadline; a later one is ignored. */
function inTime(hook: HookName, bound: Timed, answer: PromiseLike<unknown>, scope: CallScope): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timeOut = (): void => {
      const error = late(hook, bound);
      scope.end(error);
      reject(error);
    };
    let timer: NodeJS.Timeout | undefined;
    let left = bound.deadlineMs;
    let since = 0;
    scope.time({
      go: () => {
        since = performance.now();
        timer = setTimeout(timeOut, left);
      },
      stop: () => {
        clearTimeout(timer);
        left = Math.max(1, left - (performance.now() - since));
      },
    });
    const end = (): void => {
      clearTimeout(timer);
      scope.end();
    };
    const failed = (error: unknown): void => {
      end();
      reject(owned(hook, bound.plugin.id, error));
    };
    try {
      answer.then((value) => {
        end();
        resolve(value);
      }, failed);
    } catch (error) {
      failed(error);
    }
  });
}

function requireDirective(
  hook: HookName,
  plugin: string,
  allowed: readonly Directive["kind"][],
  directive: Directive,
): void {
  if (!allowed.includes(directive.kind))
    throw new RuntimeError("hook.directive", { plugin, hook, directive: String(directive.kind), allowed });
  const problem = directiveProblem(directive, plugin);
  if (problem !== undefined) throw refused(hook, plugin, `${directive.kind}: ${problem}`);
}

/** Reading properties of the error can throw too. */
function isOwnedAlready(error: unknown): error is RuntimeError {
  try {
    return error instanceof RuntimeError && "plugin" in (error.details as object);
  } catch {
    return false;
  }
}

/** The error with the name of its plugin. */
const owned = (hook: HookName, plugin: string, error: unknown): RuntimeError =>
  isOwnedAlready(error)
    ? error
    : new RuntimeError("hook.failed", { plugin, hook, problem: describeThrown(error) }, { cause: error });

const refused = (hook: HookName, plugin: string, problem: string): RuntimeError =>
  new RuntimeError("hook.answer", { plugin, hook, problem });

const codeOf = (error: unknown): string => (error instanceof RuntimeError ? error.code : "hook.failed");
