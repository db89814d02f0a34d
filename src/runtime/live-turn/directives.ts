import type { Directive } from "../../kernel/directive.ts";
import type { Owned } from "../../kernel/hooks.ts";
import { messageFrom } from "../../kernel/owned.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { EffectName } from "../../model/ids.ts";
import type { Draft } from "../../model/message.ts";
import type { Abort } from "../../turn/event.ts";
import type { LiveTurn } from "./turn.ts";

export const NOTHING: {
  readonly messages?: readonly Draft[];
  readonly abort?: Abort;
  readonly answer?: { readonly plugin: string; readonly text: string };
  readonly compact?: true;
  readonly instructions?: string;
} = {};

const TYPED = "the turn has an output schema, so only the model can answer";

/**
 * Runs directives of hooks. Returns those about the turn's log, for the event. Of several aborts the last counts, of
 * several answers the first. An answer is for one input. In a turn with several merged inputs the others would get no
 * answer, so the model is asked.
 */
export function carryOut(live: LiveTurn, effect: EffectName, directives: readonly Owned<Directive>[]): typeof NOTHING {
  const messages: Draft[] = [];
  let abort: Abort | undefined;
  let answer: { readonly plugin: string; readonly text: string } | undefined;
  let compact = false;
  const instructions: string[] = [];
  for (const { plugin, value } of directives) {
    if (value.kind === "emitEvent") live.show.emit(effect, plugin, value.name, value.payload);
    else if (value.kind === "emitTrace") live.trace(`${plugin}.${value.name}`, { payload: value.payload });
    else if (value.kind === "enqueueMessages")
      messages.push(...value.messages.map((message) => messageFrom({ plugin, value: message })));
    else if (value.kind === "createSession") live.makeSession(plugin, value.request, effect);
    else if (value.kind === "compactHistory") {
      compact = true;
      if (value.instructions !== undefined) instructions.push(value.instructions);
    } else if (value.kind === "answer") {
      if (live.output !== undefined)
        throw new RuntimeError("hook.answer", { plugin, hook: "beforeTurn", problem: TYPED });
      if (live.state.inputs.length > 1) live.trace("hook.unanswered", { plugin, inputs: live.state.inputs.length });
      else if (answer === undefined) answer = { plugin, text: value.text };
      else live.conflict({ hook: "beforeTurn", winner: answer.plugin, loser: plugin });
    } else if (value.kind === "abortTurn") abort = { plugin, code: value.code, message: value.message };
  }
  return {
    ...(messages.length === 0 ? {} : { messages }),
    ...(abort === undefined ? {} : { abort }),
    ...(answer === undefined ? {} : { answer }),
    ...(compact ? { compact } : {}),
    ...(instructions.length === 0 ? {} : { instructions: instructions.join("\n\n") }),
  };
}
