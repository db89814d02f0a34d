// What a running turn has shown so far. This is a part of `fold` of `bowline/client`: the client is one file without
// imports, so the two cannot share code.
import type { Preview, PreviewKey } from "../../model/event.ts";
import type { EffectName } from "../../model/ids.ts";
import type { ToolCall, ToolOutput } from "../../model/tool.ts";

export type LivePart = LiveText | LiveCall;

interface LiveText {
  readonly kind: "text" | "reasoning";
  readonly effect: EffectName;
  readonly attempt: number;
  text: string;
}
interface LiveCall {
  readonly kind: "call";
  readonly effect: EffectName;
  readonly call: ToolCall;
  isReturned: boolean;
  output?: ToolOutput;
}

export class LiveTurn {
  /** Grows when another process resumes the turn, which shows it again from the beginning. */
  generation = 0;
  parts: LivePart[] = [];

  add(event: Preview): void {
    const { key } = event;
    if (key.generation < this.generation) return;
    if (key.generation > this.generation) this.parts = [];
    this.generation = key.generation;
    if (event.kind === "text" || event.kind === "reasoning") this.#text(event.kind, key, event.delta);
    else if (event.kind === "retracted") this.#drop(({ attempt }) => attempt === key.attempt, key);
    else if (event.kind === "toolStarted")
      this.parts.push({ kind: "call", effect: key.effect, call: event.call, isReturned: false });
    else if (event.kind === "toolReturned" || event.kind === "toolEnded") {
      const call = this.parts.find((part) => part.kind === "call" && part.effect === key.effect);
      if (call?.kind !== "call") return; // The start of the call was lost in a gap.
      call.isReturned = true;
      if (event.kind === "toolEnded") call.output = event.output;
    }
  }

  #text(kind: LiveText["kind"], key: PreviewKey, delta: string): void {
    const { effect, attempt } = key;
    this.#drop((part) => part.attempt < attempt, key);
    const last = this.parts.at(-1);
    if (last?.kind === kind && last.effect === effect && last.attempt === attempt) last.text += delta;
    else this.parts.push({ kind, effect, attempt, text: delta });
  }

  #drop(isVoid: (part: LiveText) => boolean, { effect }: PreviewKey): void {
    this.parts = this.parts.filter((part) => part.kind === "call" || part.effect !== effect || !isVoid(part));
  }
}
