import { RuntimeError } from "../model/errors.ts";
import { describeThrown, frozen, type Json, ownJson } from "../model/json.ts";
import type { Draft } from "../model/message.ts";
import type { ToolCall, ToolOutput } from "../model/tool.ts";
import type { DirectiveOf } from "./directive.ts";
import type { AnswerOf, HookName, Owned } from "./hooks.ts";
import type { Bound, HookRunner, Issue, Surroundings } from "./run.ts";

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
 * what is stricter counts, and another replacement there closes the gate. A handler that throws denies.
 */
export async function gateCall(hooks: HookRunner, call: ToolCall, here: Surroundings): Promise<Gated> {
  const seam = new Seam("beforeToolCall");
  const handlers = hooks.handlers("beforeToolCall");
  const again = secondLook(here);
  let now: ToolCall = frozen(call); // A guard that changed it in place would go round those before it.
  const look = async (bound: Bound, isAgain: boolean): Promise<void> => {
    for (const answer of await answers(seam, hooks, "beforeToolCall", bound, { call: now }, isAgain ? again : here)) {
      if (answer.kind === "emitEvent" || answer.kind === "emitTrace" || answer.kind === "createSession") {
        if (!isAgain) seam.emit(bound, answer);
      } else if (answer.kind !== "replaceArgs") {
        const own = answer.kind === "shortCircuit" ? { ...answer, value: ownJson(answer.value) } : answer;
        if (!isAgain || own.kind !== "shortCircuit") seam.rule(bound, own);
      } else if (isAgain) {
        seam.rule(bound, { kind: "deny", reason: "Two plugins replace each other's arguments." });
      } else {
        now = frozen({ ...now, input: ownJson(answer.args) });
        for (const earlier of handlers.slice(0, handlers.indexOf(bound))) await look(earlier, true);
      }
    }
  };
  for (const bound of handlers) await look(bound, false);
  return { call: now, ...seam.ruling() };
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
export async function inspectResult(
  hooks: HookRunner,
  call: ToolCall,
  given: ToolOutput,
  here: Surroundings,
): Promise<Inspected> {
  const seam = new Seam("afterToolCall");
  const handlers = hooks.handlers("afterToolCall");
  const again = secondLook(here);
  const messages: Owned<Draft>[] = [];
  let output = frozen(given);
  const look = async (bound: Bound, isAgain: boolean): Promise<void> => {
    for (const answer of await answers(seam, hooks, "afterToolCall", bound, { call, output }, isAgain ? again : here)) {
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
        for (const earlier of handlers.slice(0, handlers.indexOf(bound))) await look(earlier, true);
      }
    }
  };
  for (const bound of handlers) await look(bound, false);
  return { output, messages, ...seam.ruling() };
}

/** The same surroundings, where changes of state are not kept. */
const secondLook = (here: Surroundings): Surroundings => ({
  sessionId: here.sessionId,
  ...(here.turnId === undefined ? {} : { turnId: here.turnId }),
  states: here.states.unheard(),
  service: (name, plugin) => here.service(name, plugin),
  read: (point) => here.read(point),
  once: (plugin, name, run) => here.once(plugin, name, run),
  get signal() {
    return here.signal;
  },
});

/** A result keeps what its tool decided about the turn, whatever is shown of it. */
const replaced = (output: ToolOutput, value: Json): ToolOutput => ({
  kind: "value",
  value,
  ...(output.kind === "value" && output.control !== undefined ? { control: output.control } : {}),
});

/** One handler's answers; a throw or a missed deadline is a denial, in its owner's name. */
async function answers<N extends "beforeToolCall" | "afterToolCall">(
  seam: Seam,
  hooks: HookRunner,
  hook: N,
  bound: Bound,
  sees: { call: ToolCall; output?: ToolOutput },
  here: Surroundings,
): Promise<readonly AnswerOf<N>[]> {
  try {
    const answer: unknown = await hooks.call(hook, bound, sees as never, here);
    return hooks.allowed(hook, bound.plugin.id, answer) as readonly AnswerOf<N>[];
  } catch (error) {
    seam.issue(bound, error);
    return [{ kind: "deny", reason: describeThrown(error) } as AnswerOf<N>];
  }
}

class Seam {
  readonly #hook: HookName;
  readonly #emits: Emit[] = [];
  readonly #conflicts: Conflict[] = [];
  readonly #issues: Issue[] = [];
  #verdict: Owned<Verdict> | undefined;

  constructor(hook: HookName) {
    this.#hook = hook;
  }

  emit(bound: Bound, value: Emit["value"]): void {
    this.#emits.push({ plugin: bound.plugin.id, value });
  }

  issue(bound: Bound, error: unknown): void {
    const code = error instanceof RuntimeError ? error.code : "hook.failed";
    this.#issues.push({ plugin: bound.plugin.id, code, message: describeThrown(error) });
  }

  rule(bound: Bound, value: Verdict): void {
    const before = this.#verdict;
    const isStronger = before === undefined || STRENGTH[value.kind] > STRENGTH[before.value.kind];
    if (before !== undefined && before.plugin !== bound.plugin.id) {
      const [winner, loser] = isStronger ? [bound.plugin.id, before.plugin] : [before.plugin, bound.plugin.id];
      this.#conflicts.push({ hook: this.#hook, winner, loser });
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
