// Describes the values of its code to the model: variables of earlier cells, and read-only values.
import type { Message, PromptPart, StateView } from "../../plugin.ts";
import type { CodeContext } from "../../protocol.ts";
import { bindings, describedOf, hasAnotherTask } from "./bindings.ts";
import type { CodeState } from "./state.ts";
import { TEXTS } from "./texts.ts";

interface VariablesContext extends Pick<CodeContext<CodeState>, "extension"> {
  readonly state: StateView<CodeState>;
  readonly session: { read(): { readonly messages: readonly Message[] } };
}

/** Returns nothing if there is nothing to describe, so that a turn without code is prepared only once. */
export function variablesPart(place: VariablesContext): PromptPart | undefined {
  const { variables, bindings: saved, seed } = place.state.get();
  if (variables === undefined && saved === undefined && seed === undefined && place.extension(bindings) === undefined)
    return undefined;
  return { slot: "environment", title: TEXTS.variables, text: linesOf(place).join("\n"), isVolatile: true };
}

function linesOf({ state, session, extension }: VariablesContext): readonly string[] {
  const { variables, bindings: saved, seed } = state.get();
  const turn = extension(bindings);
  const { messages } = session.read();
  const hasSeed = seed !== undefined && (seed.isNew === true || !hasAnotherTask(seed.since, messages));
  const values = { ...saved, ...(turn === undefined ? {} : describedOf(turn)), ...(hasSeed ? { seed } : {}) };
  const given = Object.entries(values).map(([name, value]) =>
    value.isNear ? TEXTS.near(name, value.shown) : TEXTS.far(name, value.shown, value.length),
  );
  if (variables === undefined || hasAnotherTask(variables.since, messages)) return given;
  const own = variables.list.filter(({ name }) => !Object.hasOwn(values, name));
  return [...given, ...own.map(TEXTS.variable)];
}
