// Job: merges what handlers answer before and after a tool call (`beforeToolCall`, `afterToolCall`).
// Not its job: running the call or showing its result (`tools/dispatch.ts`).
// G1. A seam can only become stricter: in no order of plugins does anything turn a denial into a permission.
// G2. A handler that throws or misses its deadline denies.
// G3. After a replacement the handlers before look once more; there only what is stricter counts, and another
//     replacement denies. Its changes of state, tools and traces are not kept.
// G4. A handler for some tools sees only calls whose input has passed the tool's schema, also after a replacement. A call
//     whose input does not fit is settled there: no further handler is asked, and it does not run.

import { type Awaitable, andThen, inOrder, isThenable } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import { describeThrown, type Json, ownJson } from "../model/json.ts";
import type { Draft } from "../model/message.ts";
import type { Checked } from "../model/schema.ts";
import type { ToolCall, ToolOutput } from "../model/tool.ts";
import type { DirectiveOf } from "./directive.ts";
import type { Bound, HookRunner, Issue, Site } from "./hook-runner.ts";
import type { AnswerOf, HookName, Owned, SeesOf, Took } from "./hooks.ts";
import type { Services } from "./services.ts";
import type { Tool } from "./tool.ts";

/** A decision that ends a call at a seam. The stronger one wins; among equals, the one that was given first. */
export type Verdict = DirectiveOf<"abort" | "deny" | "ask" | "shortCircuit">;
const STRENGTH: { readonly [K in Verdict["kind"]]: number } = { abort: 4, deny: 3, ask: 2, shortCircuit: 1 };

/** Directives that are carried out whatever becomes of the call. */
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

/** The tool that a call is for; undefined when it is not there, or not any more. */
export interface Target {
  readonly tool: Tool | undefined;
  /** Whether the tool takes this input, or another tool does. Bounded in time; never throws. */
  check(call: ToolCall, other?: Tool): Awaitable<Checked>;
}

/** The gate before a call. Replaced arguments count at once (G3). Returns a promise only if a handler or a schema does. */
export function gateCall(hooks: HookRunner, call: ToolCall, target: Target, here: Site): Awaitable<Gated> {
  const seam = new Seam("beforeToolCall", hooks, here);
  const handlers = hooks.handlers("beforeToolCall");
  let now = call;
  let isSettled = false;
  const look = (bound: Bound, isAgain: boolean): Awaitable<unknown> => {
    if (isSettled) return undefined;
    if (bound.tools === undefined) return show(bound, now, isAgain);
    const gated = gatedBy(bound.tools, now, target);
    if (gated === undefined) return undefined;
    return andThen(target.check(now), ({ ok }) => {
      if (ok) return seam.asTool(bound, gated, now, target, isAgain, show);
      isSettled = true;
    });
  };
  const show = (bound: Bound, shown: ToolCall, isAgain: boolean): Awaitable<unknown> =>
    seam.look("beforeToolCall", bound, { call: shown }, isAgain, (answer) => {
      if (answer.kind === "emitEvent" || answer.kind === "emitTrace" || answer.kind === "createSession") {
        if (!isAgain) seam.emit(bound, answer);
      } else if (answer.kind !== "replaceArgs") {
        const own = answer.kind === "shortCircuit" ? { ...answer, value: ownJson(answer.value) } : answer;
        if (!isAgain || own.kind !== "shortCircuit") seam.rule(bound, own);
      } else if (isAgain) {
        seam.contest(bound, "arguments", call);
      } else {
        now = { ...now, input: ownJson(answer.args) };
        seam.replacer = bound.plugin.id;
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
  /** The handlers that failed; each of them denies the result. */
  readonly issues: readonly Issue[];
}

/** The seam after a call, by the same rules: after a replaced result the handlers before look once more. */
export function inspectResult(
  hooks: HookRunner,
  call: ToolCall,
  given: ToolOutput,
  took: Took,
  target: Target,
  here: Site,
): Awaitable<Inspected> {
  const seam = new Seam("afterToolCall", hooks, here);
  const handlers = hooks.handlers("afterToolCall");
  const messages: Owned<Draft>[] = [];
  let output = given;
  const look = (bound: Bound, isAgain: boolean): Awaitable<unknown> => {
    if (bound.tools === undefined) return show(bound, call, isAgain);
    const gated = gatedBy(bound.tools, call, target);
    if (gated === undefined) return undefined;
    return andThen(target.check(call), ({ ok }) =>
      ok ? seam.asTool(bound, gated, call, target, isAgain, show) : undefined,
    );
  };
  const show = (bound: Bound, shown: ToolCall, isAgain: boolean): Awaitable<unknown> =>
    seam.look("afterToolCall", bound, { call: shown, output, ...took }, isAgain, (answer) => {
      if (answer.kind === "emitEvent" || answer.kind === "emitTrace" || answer.kind === "createSession") {
        if (!isAgain) seam.emit(bound, answer);
      } else if (answer.kind === "enqueueMessages") {
        if (!isAgain) messages.push(...answer.messages.map((value) => ({ plugin: bound.plugin.id, value })));
      } else if (answer.kind !== "replaceResult") {
        seam.rule(bound, answer);
      } else if (isAgain) {
        seam.contest(bound, "result", call);
      } else {
        output = replaced(output, ownJson(answer.value));
        seam.replacer = bound.plugin.id;
        return inOrder(handlers.slice(0, handlers.indexOf(bound)), (earlier) => look(earlier, true));
      }
    });
  return andThen(
    inOrder(handlers, (bound) => look(bound, false)),
    () => ({ output, messages, ...seam.ruling() }),
  );
}

/** How a handler for some tools knows a call: by the tool's own name, or by the one that it is called by. */
interface AsTool {
  readonly name: string;
  /** The tool that the handler means, where the call runs another of that name. */
  readonly other?: Tool;
}

function gatedBy(tools: NonNullable<Bound["tools"]>, { name: called }: ToolCall, { tool }: Target): AsTool | undefined {
  const name = tool !== undefined && tools.has(tool.name) ? tool.name : called;
  if (!tools.has(name)) return undefined;
  const meant = tools.get(name);
  return meant === undefined || meant === tool ? { name } : { name, other: meant };
}

/**
 * The site for a second look, in which only a handler's verdict counts: its changes of state, tools and traces are not
 * kept, since the first look kept them. Other services work as always: `complete` and `sessions.create` about other
 * arguments are other questions, and what must happen only once goes through `once`.
 */
export const secondLook = (here: Site): Site => ({
  sessionId: here.sessionId,
  ...(here.turnId === undefined ? {} : { turnId: here.turnId }),
  states: here.states.unheard(),
  service: (name, plugin) => (QUIET as Partial<Services>)[name] ?? here.service(name, plugin),
  read: (point) => here.read(point),
  extension: (id) => here.extension(id),
  once: (plugin, name, run) => here.once(plugin, name, run),
  onceHere: (plugin, name, run) => here.onceHere(plugin, name, run),
  get signal() {
    return here.signal;
  },
});
/** Services that do nothing in a second look: what was traced, chosen and appended in the first must not be repeated. */
const QUIET: Pick<Services, "trace" | "membership" | "graph"> = {
  graph: { append: async (_, { operationId = "" } = {}) => ({ kind: "queued", operationId }) },
  trace: { emit: () => {} },
  membership: { set: () => {}, grant: () => {}, revoke: () => {} },
};

/** Replaces the value. What the tool decided about the turn stays, whatever is shown. */
const replaced = (output: ToolOutput, value: Json): ToolOutput => ({
  kind: "value",
  value,
  ...(output.kind === "value" && output.control !== undefined ? { control: output.control } : {}),
});

class Seam {
  readonly #hook: HookName;
  readonly #hooks: HookRunner;
  readonly #here: Site;
  /** The site of the second look; made when somebody replaces something. */
  #again: Site | undefined;
  readonly #emits: Emit[] = [];
  #conflicts: readonly Conflict[] = [];
  readonly #issues: Issue[] = [];
  #verdict: Owned<Verdict> | undefined;
  /** The plugin whose replacement is looked at once more. */
  replacer = "";

  constructor(hook: HookName, hooks: HookRunner, here: Site) {
    this.#hook = hook;
    this.#hooks = hooks;
    this.#here = here;
  }

  /**
   * Asks one handler and passes each of its answers to `take`. A throw or a missed deadline counts as a denial by its
   * plugin.
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
   * Shows a handler for some tools the call under the tool's own name. A call of another tool of that name, whose input
   * does not fit the one that the handler means, cannot be judged by it, so it is denied.
   */
  asTool(
    bound: Bound,
    { name, other }: AsTool,
    call: ToolCall,
    target: Target,
    isAgain: boolean,
    show: (bound: Bound, call: ToolCall, isAgain: boolean) => Awaitable<unknown>,
  ): Awaitable<unknown> {
    const shown = name === call.name ? call : { ...call, name };
    if (other === undefined) return show(bound, shown, isAgain);
    return andThen(target.check(call, other), ({ ok }) => {
      if (ok) return show(bound, shown, isAgain);
      if (target.tool === undefined) return; // There is no tool that could have run.
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

  /** G3: another replacement in the second look denies. The issue names both plugins. */
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
      // Lists each pair once, where it was last met, so that the last conflict names the final winner.
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
