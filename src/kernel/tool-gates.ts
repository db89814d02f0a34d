// Job: merges the answers of handlers before and after a tool call (`beforeToolCall`, `afterToolCall`).
// Not its job: running the call or showing its result (`tools/dispatch.ts`).
// tool-gates-1: A gate can only become stricter. In no order of plugins can a denial become a permission.
// tool-gates-2: A handler that throws or misses its deadline denies.
// tool-gates-3: After a replacement all earlier handlers check the call once more. In this second check only a stricter
//     verdict counts, and another replacement denies. Its changes of state, tools and traces are dropped.
// tool-gates-4: A handler with `tools` sees only calls whose input has passed the tool's schema, also after a
//     replacement. A call with an invalid input is settled there: it does not run, and later handlers do not see it.

import { type Awaitable, andThen, inOrder, isThenable } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import { describeThrown, type Json, ownJson } from "../model/json.ts";
import type { Draft } from "../model/message.ts";
import type { Checked } from "../model/schema.ts";
import type { ToolCall, ToolOutput } from "../model/tool.ts";
import type { DirectiveOf } from "./directive.ts";
import type { AnswerOf, SeesOf, Took } from "./handlers.ts";
import type { Bound, HookCallContext, HookRunner, Issue } from "./hook-runner.ts";
import type { HookName, Owned } from "./hooks.ts";
import type { Services } from "./services.ts";
import type { Tool } from "./tool.ts";

/** A decision of a gate about a call. The stronger decision wins; among equals, the first. */
export type Verdict = DirectiveOf<"abort" | "deny" | "ask" | "shortCircuit">;
const STRENGTH: { readonly [K in Verdict["kind"]]: number } = { abort: 4, deny: 3, ask: 2, shortCircuit: 1 };

/** Directives that run with every verdict. */
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
  /** The handlers that failed; each of them denies the call. */
  readonly issues: readonly Issue[];
}

/** The tool of a call. */
export interface Target {
  readonly tool: Tool | undefined;
  /** Checks the input of a call with the schema of the tool, or of `other`. Limited in time; never throws. */
  check(call: ToolCall, other?: Tool): Awaitable<Checked>;
}

/**
 * The gate before a call. Replaced arguments count at once (tool-gates-3). Returns a promise only if a handler or a
 * schema does.
 */
export function gateCall(hooks: HookRunner, call: ToolCall, target: Target, here: HookCallContext): Awaitable<Gated> {
  const gate = new ToolGate("beforeToolCall", hooks, here);
  const handlers = hooks.handlers("beforeToolCall");
  let now = call;
  let isSettled = false;
  const look = (bound: Bound, isAgain: boolean): Awaitable<unknown> => {
    if (isSettled) return undefined;
    if (bound.tools === undefined) return show(bound, now, isAgain);
    const gated = gatedBy(bound.tools, now, target);
    if (gated === undefined) return undefined;
    return andThen(target.check(now), ({ ok }) => {
      if (ok) return gate.asTool(bound, gated, now, target, isAgain, show);
      isSettled = true;
    });
  };
  const show = (bound: Bound, shown: ToolCall, isAgain: boolean): Awaitable<unknown> =>
    gate.look("beforeToolCall", bound, { call: shown }, isAgain, (answer) => {
      if (answer.kind === "emitEvent" || answer.kind === "emitTrace" || answer.kind === "createSession") {
        if (!isAgain) gate.emit(bound, answer);
      } else if (answer.kind !== "replaceArgs") {
        const own = answer.kind === "shortCircuit" ? { ...answer, value: ownJson(answer.value) } : answer;
        if (!isAgain || own.kind !== "shortCircuit") gate.rule(bound, own);
      } else if (isAgain) {
        gate.contest(bound, "arguments", call);
      } else {
        now = { ...now, input: ownJson(answer.args) };
        gate.replacer = bound.plugin.id;
        return inOrder(handlers.slice(0, handlers.indexOf(bound)), (earlier) => look(earlier, true));
      }
    });
  return andThen(
    inOrder(handlers, (bound) => look(bound, false)),
    () => ({ call: now, ...gate.ruling() }),
  );
}

export interface Inspected {
  readonly output: ToolOutput;
  readonly verdict?: Owned<Verdict>;
  readonly messages: readonly Owned<Draft>[];
  readonly emits: readonly Emit[];
  readonly conflicts: readonly Conflict[];
  /** The handlers that failed; each of them denies the result. */
  readonly issues: readonly Issue[];
}

/** The gate after a call, with the same rules: after a replaced result all earlier handlers check once more. */
export function inspectResult(
  hooks: HookRunner,
  call: ToolCall,
  given: ToolOutput,
  took: Took,
  target: Target,
  here: HookCallContext,
): Awaitable<Inspected> {
  const gate = new ToolGate("afterToolCall", hooks, here);
  const handlers = hooks.handlers("afterToolCall");
  const messages: Owned<Draft>[] = [];
  let output = given;
  const look = (bound: Bound, isAgain: boolean): Awaitable<unknown> => {
    if (bound.tools === undefined) return show(bound, call, isAgain);
    const gated = gatedBy(bound.tools, call, target);
    if (gated === undefined) return undefined;
    return andThen(target.check(call), ({ ok }) =>
      ok ? gate.asTool(bound, gated, call, target, isAgain, show) : undefined,
    );
  };
  const show = (bound: Bound, shown: ToolCall, isAgain: boolean): Awaitable<unknown> =>
    gate.look("afterToolCall", bound, { call: shown, output, ...took }, isAgain, (answer) => {
      if (answer.kind === "emitEvent" || answer.kind === "emitTrace" || answer.kind === "createSession") {
        if (!isAgain) gate.emit(bound, answer);
      } else if (answer.kind === "enqueueMessages") {
        if (!isAgain) messages.push(...answer.messages.map((value) => ({ plugin: bound.plugin.id, value })));
      } else if (answer.kind !== "replaceResult") {
        gate.rule(bound, answer);
      } else if (isAgain) {
        gate.contest(bound, "result", call);
      } else {
        output = replaced(output, ownJson(answer.value));
        gate.replacer = bound.plugin.id;
        return inOrder(handlers.slice(0, handlers.indexOf(bound)), (earlier) => look(earlier, true));
      }
    });
  return andThen(
    inOrder(handlers, (bound) => look(bound, false)),
    () => ({ output, messages, ...gate.ruling() }),
  );
}

/** The name by which a handler with `tools` sees a call: the tool's own name, or the name in the call. */
interface MatchedTool {
  readonly name: string;
  /** The tool of the handler, if the call runs another tool of that name. */
  readonly other?: Tool;
}

function gatedBy(
  tools: NonNullable<Bound["tools"]>,
  { name: called }: ToolCall,
  { tool }: Target,
): MatchedTool | undefined {
  const name = tool !== undefined && tools.has(tool.name) ? tool.name : called;
  if (!tools.has(name)) return undefined;
  const meant = tools.get(name);
  return meant === undefined || meant === tool ? { name } : { name, other: meant };
}

/**
 * The context of a second check, in which only the verdict counts. Changes of state, tools and traces are dropped, because
 * the first check made them. Other services work as usual, because a model call about other arguments is another
 * question. Code that must run once uses `once`.
 */
export const secondLook = (here: HookCallContext): HookCallContext => ({
  sessionId: here.sessionId,
  ...(here.turnId === undefined ? {} : { turnId: here.turnId }),
  states: here.states.discarding(),
  service: (name, plugin) => (NO_OP_SERVICES as Partial<Services>)[name] ?? here.service(name, plugin),
  read: (point) => here.read(point),
  extension: (id) => here.extension(id),
  once: (plugin, name, run) => here.once(plugin, name, run),
  onceHere: (plugin, name, run) => here.onceHere(plugin, name, run),
  get signal() {
    return here.signal;
  },
});
/** Services that do nothing in a second check, so that its traces, tool choices and nodes are not repeated. */
const NO_OP_SERVICES: Pick<Services, "trace" | "membership" | "graph"> = {
  graph: { append: async (_, { operationId = "" } = {}) => ({ kind: "queued", operationId }) },
  trace: { emit: () => {} },
  membership: { set: () => {}, grant: () => {}, revoke: () => {} },
};

/** Replaces the value, and keeps the tool's decision about the turn. */
const replaced = (output: ToolOutput, value: Json): ToolOutput => ({
  kind: "value",
  value,
  ...(output.kind === "value" && output.control !== undefined ? { control: output.control } : {}),
});

class ToolGate {
  readonly #hook: HookName;
  readonly #hooks: HookRunner;
  readonly #here: HookCallContext;
  /** The context of the second check; made after the first replacement. */
  #again: HookCallContext | undefined;
  readonly #emits: Emit[] = [];
  #conflicts: readonly Conflict[] = [];
  readonly #issues: Issue[] = [];
  #verdict: Owned<Verdict> | undefined;
  /** The plugin whose replacement is checked. */
  replacer = "";

  constructor(hook: HookName, hooks: HookRunner, here: HookCallContext) {
    this.#hook = hook;
    this.#hooks = hooks;
    this.#here = here;
  }

  /**
   * Calls one handler and passes each of its answers to `take`. A throw or a missed deadline is a denial by its plugin.
   */
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

  /**
   * Shows the call to a handler with `tools` under the tool's own name. If the call runs another tool of that name and
   * its input does not fit the handler's tool, the handler cannot judge it, so it is denied.
   */
  asTool(
    bound: Bound,
    { name, other }: MatchedTool,
    call: ToolCall,
    target: Target,
    isAgain: boolean,
    show: (bound: Bound, call: ToolCall, isAgain: boolean) => Awaitable<unknown>,
  ): Awaitable<unknown> {
    const shown = name === call.name ? call : { ...call, name };
    if (other === undefined) return show(bound, shown, isAgain);
    return andThen(target.check(call, other), ({ ok }) => {
      if (ok) return show(bound, shown, isAgain);
      if (target.tool === undefined) return; // The call would run no tool.
      const error = new RuntimeError("hook.other-tool", { plugin: bound.plugin.id, hook: this.#hook, tool: name });
      this.rule(bound, this.#denial(bound, error, isAgain));
    });
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

  /** tool-gates-3: another replacement in the second check denies. The issue names both plugins. */
  contest(bound: Bound, what: "arguments" | "result", { name: tool }: ToolCall): void {
    const plugins = [bound.plugin.id, this.replacer] as const;
    const error = new RuntimeError("hook.contested", { hook: this.#hook, plugins, tool, what });
    this.rule(bound, this.#denial(bound, error, true));
  }

  emit(bound: Bound, value: Emit["value"]): void {
    this.#emits.push({ plugin: bound.plugin.id, value });
  }

  rule(bound: Bound, value: Verdict): void {
    const before = this.#verdict;
    const isStronger = before === undefined || STRENGTH[value.kind] > STRENGTH[before.value.kind];
    if (before !== undefined && before.plugin !== bound.plugin.id) {
      const [winner, loser] = isStronger ? [bound.plugin.id, before.plugin] : [before.plugin, bound.plugin.id];
      // Lists each pair once, at its last occurrence, so that the last conflict names the final winner.
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
