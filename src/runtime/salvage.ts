import type { InputId } from "../model/ids.ts";
import { nodeId } from "../model/ids.ts";
import { callsOf, type Draft, type Message, type ToolResultPart } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import { projectOutput, type ResultPart, statusOf, type ToolOutput } from "../model/tool.ts";
import { addUsage, NO_USAGE, type Spent, type Usage } from "../model/usage.ts";
import type { Changes, Opened, TurnEvent } from "../turn/event.ts";

/** What a journal holds, without the machine that made it. */
export interface Salvaged {
  readonly entries: readonly Entry[];
  readonly changes: Changes;
  readonly usage: Usage;
  readonly asks: number;
  readonly spent: readonly Spent[];
  readonly inputs: readonly InputId[];
}

const INTERRUPTED: ToolOutput = { kind: "unknown", reason: "It was interrupted by an upgrade." };

/**
 * A turn that today's machine or protocol cannot fold is kept all the same: what was said and what came back, in the
 * order of the journal; calls that were open get a result that says so.
 */
export function salvage(opened: Opened, journal: readonly TurnEvent[]): Salvaged {
  const salvaging = new Salvaging(opened);
  for (const event of journal) salvaging.take(event);
  return salvaging.done();
}

class Salvaging {
  readonly #opened: Opened;
  readonly #entries: Entry[] = [];
  /** By position, `r2.call.0`. */
  readonly #results = new Map<string, { readonly output: ToolOutput; readonly parts?: readonly ResultPart[] }>();
  #round = "";
  #changes: Changes = {};
  #usage = NO_USAGE;
  #asks = 0;
  #spent: readonly Spent[] = [];
  #inputs: readonly InputId[];

  constructor(opened: Opened) {
    this.#opened = opened;
    this.#inputs = [opened.inputId];
    this.#add({ ...opened.input, origin: { kind: "input", inputId: opened.inputId } }, opened.at);
  }

  take(event: TurnEvent): void {
    if ("changes" in event && event.changes !== undefined) this.#changes = { ...this.#changes, ...event.changes };
    if ("spent" in event && event.spent !== undefined) this.#spent = [...this.#spent, ...event.spent];
    const { at } = event;
    switch (event.kind) {
      case "replied":
        this.#pair(at);
        this.#round = event.effect.slice(0, event.effect.indexOf("."));
        this.#asks++;
        this.#usage = addUsage(this.#usage, event.reply.usage);
        if (event.reply.parts.length > 0) this.#add({ role: "assistant", parts: event.reply.parts }, at);
        return;
      case "responded":
        return this.#respond(event.parts);
      case "gated":
        for (const [index, verdict] of event.verdicts.entries())
          if (verdict.kind === "settled") this.#results.set(`${this.#round}.call.${index}`, verdict);
        return;
      case "returned":
        return void this.#results.set(event.effect.replace(/\.a\d+$/, ""), event);
      case "settled":
        for (const [index, settlement] of event.results.entries()) {
          const place = `${this.#round}.call.${index}`;
          const before = this.#results.get(place) ?? { output: INTERRUPTED };
          if (settlement !== null) this.#results.set(place, { ...before, ...settlement });
        }
        return this.#say(event.messages, at);
      case "bounded":
        this.#pair(at);
        this.#inputs = [...this.#inputs, ...(event.inputs ?? []).map(({ inputId }) => inputId)];
        for (const { inputId, message } of event.inputs ?? [])
          this.#add({ ...message, origin: { kind: "input", inputId } }, at);
        return this.#say(event.messages, at);
      case "prepared":
      case "finalized":
        return this.#say(event.messages, at);
      case "compacted":
        if (event.seed === undefined) return;
        this.#pair(at);
        this.#entries.push({ at, kind: "frame", reason: "compaction" });
        return this.#say(event.seed, at);
      case "failed":
        if (event.usage !== undefined) this.#usage = addUsage(this.#usage, event.usage);
        if (event.partial !== undefined && event.partial.length > 0) {
          this.#pair(at);
          this.#add({ role: "assistant", parts: event.partial, origin: { kind: "partial" } }, at);
        }
        return;
      default:
        return;
    }
  }

  done(): Salvaged {
    this.#pair(this.#opened.at);
    return {
      entries: this.#entries,
      changes: this.#changes,
      usage: this.#usage,
      asks: this.#asks,
      spent: this.#spent,
      inputs: this.#inputs,
    };
  }

  #add(draft: Draft, at: number): void {
    const message: Message = { id: nodeId(this.#opened.turnId, this.#entries.length), ...draft };
    this.#entries.push({ at, kind: "message", message });
  }

  #say(drafts: readonly Draft[] | undefined, at: number): void {
    if (drafts === undefined || drafts.length === 0) return;
    this.#pair(at);
    for (const draft of drafts) this.#add(draft, at);
  }

  #respond(parts: Message["parts"] | undefined): void {
    const last = this.#entries.at(-1);
    if (parts === undefined || last?.kind !== "message" || last.message.role !== "assistant") return;
    this.#entries[this.#entries.length - 1] = { ...last, message: { ...last.message, parts } };
  }

  /** I4: nothing follows a call but its result. */
  #pair(at: number): void {
    const last = this.#entries.at(-1);
    if (last?.kind !== "message" || last.message.role !== "assistant") return;
    const calls = callsOf(last.message.parts);
    if (calls.length === 0) return;
    const parts = calls.map(({ callId, name }, index): ToolResultPart => {
      const { output, parts: shown } = this.#resultOf(index);
      return { kind: "toolResult", callId, name, status: statusOf(output), parts: shown ?? projectOutput(output) };
    });
    this.#add({ role: "tool", parts }, at);
  }

  /** Of a batch, what its calls came to. */
  #resultOf(index: number): { readonly output: ToolOutput; readonly parts?: readonly ResultPart[] } {
    const place = `${this.#round}.call.${index}`;
    const own = this.#results.get(place);
    if (own !== undefined) return own;
    const inside = [...this.#results].filter(([each]) => each.startsWith(`${place}.`)).map(([, result]) => result);
    const first = inside[0];
    if (first === undefined) return { output: INTERRUPTED };
    return { output: first.output, parts: inside.flatMap(({ output, parts }) => parts ?? projectOutput(output)) };
  }
}
