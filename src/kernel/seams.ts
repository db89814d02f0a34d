import { type Awaitable, andThen, inOrder, isThenable } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import { describeThrown, frozen, type Json, ownJson } from "../model/json.ts";
import type { Draft } from "../model/message.ts";
import type { ToolCall, ToolOutput } from "../model/tool.ts";
import type { DirectiveOf } from "./directive.ts";
import type { AnswerOf, HookName, Owned, SeesOf } from "./hooks.ts";
import type { Bound, HookRunner, Issue, Site } from "./run.ts";
import type { Services } from "./services.ts";

/** What ends a call at a seam; the stronger one stands, and equal ones in order of installation. */
export type Verdict = DirectiveOf<"abort" | "deny" | "ask" | "shortCircuit">;
const STRENGTH: { readonly [K in Verdict["kind"]]: number } = { abort: 4, deny: 3, ask: 2, shortCircuit: 1 };

/** Events and traces that the handlers asked for: they happen whatever becomes of the call. */
export type Emit = Owned<DirectiveOf<"emitEvent" | "emitTrace" | "createSession">>;

export interface Conflict {
  readonly hook: HookName;
  readonly winner: string;
  readonly loser: string;
}

export interface Gated {
  readonly call: ToolCall;
  readonly verdict?: Owned<Verdict>;
  readonly emits: readonly Emit[];
  readonly conflicts: readonly Conflict[];
  /** Handlers that failed: each of them denies. */
  readonly issues: readonly Issue[];
}

/**
 * The gate before a call. It can only become stricter: whatever the order of plugins, nothing turns a denial into a
 * permission. Replaced arguments count at once and the handlers before see them once more; in that second look only
 * what is stricter counts, and another replacement there closes the gate. A handler that throws denies. Waits only
 * where a handler does.
 */
export function gateCall(hooks: HookRunner, call: ToolCall, here: Site): Awaitable<Gated> {
  const seam = new Seam("beforeToolCall", hooks, here);
  const handlers = hooks.handlers("beforeToolCall");
  let now: ToolCall = frozen(call); // A guard that changed it in place would go round those before it.
  const look = (bound: Bound, isAgain: boolean): Awaitable<unknown> =>
    seam.look("beforeToolCall", bound, { call: now }, isAgain, (answer) => {
      if (answer.kind === "emitEvent" || answer.kind === "emitTrace" || answer.kind === "createSession") {
        if (!isAgain) seam.emit(bound, answer);
      } else if (answer.kind !== "replaceArgs") {
        const own = answer.kind === "shortCircuit" ? { ...answer, value: ownJson(answer.value) } : answer;
        if (!isAgain || own.kind !== "shortCircuit") seam.rule(bound, own);
      } else if (isAgain) {
        seam.rule(bound, { kind: "deny", reason: "Two plugins replace each other's arguments." });
      } else {
        now = frozen({ ...now, input: ownJson(answer.args) });
        return inOrder(handlers.slice(0, handlers.indexOf(bound)), (earlier) => look(earlier, true));
      }
    });
  return andThen(
    inOrder(handlers, (bound) => look(bound, false)),
    () => ({ call: now, ...seam.ruling() }),
  );
}

export interface Inspected {
  readonly output: ToolOutput;
  readonly verdict?: Owned<Verdict>;
  readonly messages: readonly Owned<Draft>[];
  readonly emits: readonly Emit[];
  readonly conflicts: readonly Conflict[];
  /** Handlers that failed: each of them denies. */
  readonly issues: readonly Issue[];
}

/** The seam after a call, by the same rules: a replaced result is looked at once more by the handlers before. */
export function inspectResult(hooks: HookRunner, call: ToolCall, given: ToolOutput, here: Site): Awaitable<Inspected> {
  const seam = new Seam("afterToolCall", hooks, here);
  const handlers = hooks.handlers("afterToolCall");
  const messages: Owned<Draft>[] = [];
  let output = frozen(given);
  const look = (bound: Bound, isAgain: boolean): Awaitable<unknown> =>
    seam.look("afterToolCall", bound, { call, output }, isAgain, (answer) => {
      if (answer.kind === "emitEvent" || answer.kind === "emitTrace" || answer.kind === "createSession") {
        if (!isAgain) seam.emit(bound, answer);
      } else if (answer.kind === "enqueueMessages") {
        if (!isAgain) messages.push(...answer.messages.map((value) => ({ plugin: bound.plugin.id, value })));
      } else if (answer.kind !== "replaceResult") {
        seam.rule(bound, answer);
      } else if (isAgain) {
        seam.rule(bound, { kind: "deny", reason: "Two plugins replace each other's results." });
      } else {
        output = frozen(replaced(output, ownJson(answer.value)));
        return inOrder(handlers.slice(0, handlers.indexOf(bound)), (earlier) => look(earlier, true));
      }
    });
  return andThen(
    inOrder(handlers, (bound) => look(bound, false)),
    () => ({ output, messages, ...seam.ruling() }),
  );
}

/**
 * The same site, where a handler is heard for its verdict only: its changes of state are not kept, and its
 * traces were told in the first look. What else it may do with its services is left to it: `complete` and
 * `sessions.create` asked about other arguments are other questions, and what must happen once goes through `once`.
 */
export const secondLook = (here: Site): Site => ({
  sessionId: here.sessionId,
  ...(here.turnId === undefined ? {} : { turnId: here.turnId }),
  states: here.states.unheard(),
  service: (name, plugin) => (QUIET as Partial<Services>)[name] ?? here.service(name, plugin),
  read: (point) => here.read(point),
  once: (plugin, name, run) => here.once(plugin, name, run),
  onceHere: (plugin, name, run) => here.onceHere(plugin, name, run),
  get signal() {
    return here.signal;
  },
});
/** What was traced and chosen the first time is not again. */
const QUIET: Pick<Services, "trace" | "membership"> = {
  trace: { emit: () => {} },
  membership: { set: () => {}, grant: () => {}, revoke: () => {} },
};

/** A result keeps what its tool decided about the turn, whatever is shown of it. */
const replaced = (output: ToolOutput, value: Json): ToolOutput => ({
  kind: "value",
  value,
  ...(output.kind === "value" && output.control !== undefined ? { control: output.control } : {}),
});

/** One call at a seam: who looked, and what came of it. */
class Seam {
  readonly #hook: HookName;
  readonly #hooks: HookRunner;
  readonly #here: Site;
  /** Made when somebody replaces something. */
  #again: Site | undefined;
  readonly #emits: Emit[] = [];
  #conflicts: readonly Conflict[] = [];
  readonly #issues: Issue[] = [];
  #verdict: Owned<Verdict> | undefined;

  constructor(hook: HookName, hooks: HookRunner, here: Site) {
    this.#hook = hook;
    this.#hooks = hooks;
    this.#here = here;
  }

  /** One handler's answers, each taken; a throw or a missed deadline is a denial, in its owner's name. */
  look<N extends "beforeToolCall" | "afterToolCall">(
    hook: N,
    bound: Bound,
    sees: SeesOf<N>,
    isAgain: boolean,
    take: (answer: AnswerOf<N>) => Awaitable<unknown>,
  ): Awaitable<unknown> {
    const here = isAgain ? (this.#again ??= secondLook(this.#here)) : this.#here;
    let answers: readonly AnswerOf<N>[];
    try {
      const answer = this.#hooks.call(hook, bound, sees, here);
      if (isThenable(answer)) return this.#lookLater(hook, bound, answer, isAgain, take);
      answers = this.#hooks.allowed(hook, bound.plugin.id, answer) as readonly AnswerOf<N>[];
    } catch (error) {
      answers = [this.#denial(bound, error, isAgain) as AnswerOf<N>];
    }
    return answers.length === 0 ? undefined : inOrder(answers, take);
  }

  async #lookLater<N extends "beforeToolCall" | "afterToolCall">(
    hook: N,
    bound: Bound,
    answer: PromiseLike<unknown>,
    isAgain: boolean,
    take: (answer: AnswerOf<N>) => Awaitable<unknown>,
  ): Promise<void> {
    let answers: readonly AnswerOf<N>[];
    try {
      answers = this.#hooks.allowed(hook, bound.plugin.id, await answer) as readonly AnswerOf<N>[];
    } catch (error) {
      answers = [this.#denial(bound, error, isAgain) as AnswerOf<N>];
    }
    await inOrder(answers, take);
  }

  #denial(bound: Bound, error: unknown, isAgain: boolean): Verdict {
    const plugin = bound.plugin.id;
    const code = error instanceof RuntimeError ? error.code : "hook.failed";
    const message = describeThrown(error);
    const isSame = (issue: Issue): boolean =>
      issue.plugin === plugin && issue.code === code && issue.message === message;
    if (!isAgain || !this.#issues.some(isSame)) this.#issues.push({ plugin, code, message });
    return { kind: "deny", reason: message };
  }

  emit(bound: Bound, value: Emit["value"]): void {
    this.#emits.push({ plugin: bound.plugin.id, value });
  }

  rule(bound: Bound, value: Verdict): void {
    const before = this.#verdict;
    const isStronger = before === undefined || STRENGTH[value.kind] > STRENGTH[before.value.kind];
    if (before !== undefined && before.plugin !== bound.plugin.id) {
      const [winner, loser] = isStronger ? [bound.plugin.id, before.plugin] : [before.plugin, bound.plugin.id];
      // Each pair once and where it was last met, so that the last one names who won.
      const others = this.#conflicts.filter((each) => each.winner !== winner || each.loser !== loser);
      this.#conflicts = [...others, { hook: this.#hook, winner, loser }];
    }
    if (isStronger) this.#verdict = { plugin: bound.plugin.id, value };
  }

  ruling(): {
    verdict?: Owned<Verdict>;
    emits: readonly Emit[];
    conflicts: readonly Conflict[];
    issues: readonly Issue[];
  } {
    return {
      ...(this.#verdict === undefined ? {} : { verdict: this.#verdict }),
      emits: this.#emits,
      conflicts: this.#conflicts,
      issues: this.#issues,
    };
  }
}
