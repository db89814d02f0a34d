// What the scenarios of code cells have in common.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { definePlugin, defineTool, type Json, type Plugin, type Tool } from "bowline";
import { ask } from "bowline/plugin";
import { type CodeOptions, code } from "bowline/plugins/code";
import type { CodeExecutor } from "bowline/protocol";
import type { Provider } from "bowline/provider";
import { type CrashWorld, type Picture, recited, says } from "bowline/testing";
import { z } from "zod";

type Executor = CodeExecutor<Json>;
let broken: ((executor: Executor) => Executor) | undefined;

/** Breaks what runs code in this process. A mutant does so when it is loaded, which is before its scenario begins. */
export function breakExecutor(mutate: (executor: Executor) => Executor): void {
  broken = mutate;
}

/** The plugin that runs code, with what a mutant has made of it. */
export function executing(options: CodeOptions = {}): Plugin {
  const plugin = code(options);
  if (broken === undefined) return plugin;
  const mutate = broken;
  const { spec, ...rest } = (plugin as unknown as Defined)[DEFINITION];
  const setup: Spec["setup"] = (given) => {
    const parts = spec.setup(given);
    return { ...parts, codeExecutor: mutate(parts.codeExecutor) };
  };
  return Object.assign({ ...plugin }, { [DEFINITION]: { ...rest, spec: { ...spec, setup } } });
}
const DEFINITION: unique symbol = Symbol.for("bowline.plugin");
interface Defined {
  readonly [DEFINITION]: { readonly spec: Spec };
}
interface Spec {
  setup(given: unknown): { readonly codeExecutor: Executor };
}

/** A tool for code: records what it is asked for, with its key, takes a little while, and answers. */
export const acting = (
  act: CrashWorld["act"],
  name: string,
  answer: (input: { readonly n: number }) => Json,
  ms: (input: { readonly n: number }) => number = () => 0,
): Tool =>
  defineTool({
    name,
    description: `Does ${name}.`,
    input: { type: "object", properties: { n: { type: "number" } } },
    execute: async (input, { idempotencyKey }) => {
      const given = input as { readonly n: number };
      act(`${idempotencyKey} ${name} ${JSON.stringify(given)}`);
      await sleep(ms(given));
      return answer(given);
    },
  });

/**
 * What was asked for in the outer world, in the order of the words. A call that was under way at a kill may be made twice,
 * with the same key; code that came to something else in a later life would ask for something else with it.
 */
export function asked(acts: readonly string[]): readonly string[] {
  const byKey = new Map<string, string>();
  for (const act of acts) {
    const [key = "", ...words] = act.split(" ");
    const what = words.join(" ");
    assert.equal(byKey.get(key) ?? what, what, "two calls have the same key");
    byKey.set(key, what);
  }
  return [...byKey.values()].sort();
}

/** The values that turns finished with, in the order of the turns. */
export const finished = <T>({ outcomes }: Picture): readonly T[] =>
  outcomes.map((outcome) => {
    const { kind, value } = outcome as { readonly kind: string; readonly value?: Json };
    assert.equal(kind, "finished", JSON.stringify(outcome));
    return value as T;
  });

/** Asks before anything is paid, and counts the calls that it has seen. */
export const careful = definePlugin({
  id: "crash/careful",
  version: "1",
  state: z.object({ calls: z.number().default(0) }),
  setup: () => ({
    beforeToolCall: ({ call, state }) => {
      state.update(({ calls }) => ({ calls: calls + 1 }));
      return call.name === "pay" ? ask("It moves money.") : undefined;
    },
  }),
});

/**
 * A model that has a list of replies for each input, and finds its place by the conversation, so that it goes on after a
 * restart, in a fork and in another frame.
 */
export const reading = (
  script: { readonly [input: string]: readonly string[] },
  inputIn: (words: string) => string = (words) => words,
): Provider => ({
  id: "reading",
  modelId: "test",
  stream(request, options) {
    const said = request.messages.map(({ parts }) =>
      inputIn(parts.map((part) => (part.kind === "text" ? part.text : "")).join("")),
    );
    const from = said.findLastIndex((text) => Object.hasOwn(script, text));
    const messages = request.messages.slice(from);
    return recited(...(script[said[from] ?? ""] ?? []).map((reply) => says(reply))).stream(
      { ...request, messages },
      options,
    );
  },
});

/** Without what a session tells of its variables: where these hold random numbers, each run has others. */
export const withoutVariables = (picture: Picture): Picture => ({
  ...picture,
  sessions: Object.fromEntries(
    Object.entries(picture.sessions).map(([id, session]) => [id, { ...session, plugins: withoutIn(session.plugins) }]),
  ),
});
const withoutIn = (plugins: Picture["sessions"][string]["plugins"]): typeof plugins =>
  Object.fromEntries(
    Object.entries(plugins).map(([id, { version, state }]) => {
      const { variables: _, ...rest } = state as { readonly [field: string]: Json };
      return [id, { version, state: rest }];
    }),
  );
