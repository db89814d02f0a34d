import { asEffectName, type EffectName, type InputId, nodeId } from "../model/ids.ts";
import { isObject, type Json } from "../model/json.ts";
import { callsOf, type Draft, type Message, type ToolCallPart, type ToolResultPart, text } from "../model/message.ts";
import type { Addition, Entry } from "../model/node.ts";
import { hasOpenCalls } from "../model/pairing.ts";
import { TEXTS } from "../model/texts.ts";
import { BATCH_TOOL, projectOutput, type ResultPart, statusOf, type ToolCall, type ToolOutput } from "../model/tool.ts";
import { addUsage, NO_USAGE, type Spent, type Usage } from "../model/usage.ts";
import type { WaitAnswer } from "../model/wait.ts";
import { delivered } from "./asked.ts";
import type { Appending, Changes, Opened, TurnEvent } from "./event.ts";
import type { PlacedAppend, TurnState } from "./state.ts";

/** The content of a journal without the machine that wrote it. */
export interface Salvaged {
  readonly entries: readonly Entry[];
  readonly changes: Changes;
  readonly usage: Usage;
  readonly asks: number;
  readonly spent: readonly Spent[];
  readonly inputs: readonly InputId[];
  readonly placed?: readonly PlacedAppend[];
  readonly applied?: TurnState["applied"];
  readonly config?: TurnState["config"];
}

/**
 * Stores a turn that the current machine or protocol cannot fold: messages and results, in the order of the journal.
 * Open calls get a result that explains the interruption.
 */
export function salvage(opened: Opened, journal: readonly TurnEvent[], why: string): Salvaged {
  const salvaging = new Salvaging(opened, { kind: "unknown", reason: why });
  for (const event of journal) salvaging.take(event);
  return salvaging.done();
}

/** A call of an open turn, with its result if that is known and no hook must see it first. */
interface CallSoFar {
  readonly effect: EffectName;
  readonly call: ToolCall;
  readonly state: "running" | "returned" | "ended";
  readonly output?: ToolOutput;
}

/**
 * Returns the content of an open turn's journal. Calls whose results are not in the entries are returned separately.
 */
export function soFar(
  opened: Opened,
  journal: readonly TurnEvent[],
): { readonly entries: readonly Entry[]; readonly calls: readonly CallSoFar[] } {
  const salvaging = new Salvaging(opened, { kind: "unknown", reason: "" });
  for (const event of journal) salvaging.take(event);
  return salvaging.soFar();
}

export const callIn = ({ callId: id, name, input, malformed }: ToolCallPart): ToolCall =>
  malformed === undefined ? { id, name, input } : { id, name, input, malformed };

/** Returns the position of a call that code has made in this segment: `r1.exec.call.0`. */
export const placeIn = (segment: EffectName, at: string): EffectName =>
  asEffectName(`${segment.replace(/\.d\d+$/, "")}.call.${at}`);

type Decided = { readonly approved?: Json; readonly reason?: Json; readonly args?: Json };

class Salvaging {
  readonly #opened: Opened;
  /** The result of a call whose real result is unknown. */
  readonly #interrupted: ToolOutput;
  readonly #entries: Entry[] = [];
  /** By position, `r2.call.0`. */
  readonly #results = new Map<string, { readonly output: ToolOutput; readonly parts?: readonly ResultPart[] }>();
  #round = "";
  /** Positions of the reply's calls, in the order in which they were gated and settled. */
  #places: readonly string[] = [];
  /** The names of calls inside a batch. */
  readonly #names = new Map<string, string>();
  /** There are after-hooks, and they have not seen the results of this round. */
  #isToSettle = false;
  #settles = false;
  #deferred = new Set<string>();
  /** Calls that were approved with other arguments. The next gate is for these, in call order. */
  #edited: readonly string[] = [];
  #applied: NonNullable<TurnState["applied"]> = [];
  #config: TurnState["config"];
  #frame: { readonly task: string; readonly seed?: Json; readonly name?: string } | undefined;
  #pendingAppends: readonly Appending[] = [];
  readonly #placed: PlacedAppend[] = [];
  #changes: Changes = {};
  #usage = NO_USAGE;
  #asks = 0;
  #spent: readonly Spent[] = [];
  #inputs: readonly InputId[];
  /** Calls that the code of this round has made. */
  #called: readonly { readonly effect: EffectName; readonly call: ToolCall }[] = [];

  constructor(opened: Opened, interrupted: ToolOutput) {
    this.#opened = opened;
    this.#interrupted = interrupted;
    this.#inputs = [opened.inputId];
    const { input, inputId } = opened;
    this.#add({ ...input, origin: input.origin ?? { kind: "input", inputId } }, opened.at);
  }

  take(event: TurnEvent): void {
    this.#take(event);
    this.#place(event.at);
  }

  #take(event: TurnEvent): void {
    if ("changes" in event && event.changes !== undefined) this.#changes = { ...this.#changes, ...event.changes };
    if ("spent" in event && event.spent !== undefined) this.#spent = [...this.#spent, ...event.spent];
    const { at } = event;
    if ("appends" in event && event.appends !== undefined)
      this.#pendingAppends = [...this.#pendingAppends, ...event.appends];
    if ("taken" in event && event.taken !== undefined) this.#inputs = [...this.#inputs, ...event.taken];
    if (event.kind !== "returned" && event.kind !== "gated" && event.kind !== "settled") this.#place(at);
    switch (event.kind) {
      case "replied":
        this.#pair(at);
        this.#round = event.effect.slice(0, event.effect.indexOf("."));
        this.#asks++;
        this.#places = this.#placesOf(event.reply.parts);
        this.#isToSettle = this.#settles;
        this.#usage = addUsage(this.#usage, event.reply.usage);
        if (event.reply.parts.length > 0) this.#add({ role: "assistant", parts: event.reply.parts }, at);
        return;
      case "responded":
        return this.#respond(event.parts);
      case "gated": {
        const edited = this.#edited;
        const places = event.effect.endsWith(".gate")
          ? this.#places
          : this.#places.filter((place) => edited.includes(place));
        this.#edited = [];
        for (const [index, verdict] of event.verdicts.entries())
          if (verdict.kind === "settled") this.#results.set(places[index] ?? "", verdict);
        return;
      }
      case "returned": {
        const { control } = event.output.kind === "value" ? event.output : {};
        if (control?.kind === "switchFrame") this.#frame ??= control;
        return void this.#results.set(event.effect.replace(/\.a\d+$/, ""), event);
      }
      case "deferred":
        // A call that waits for other turns is made again afterwards and has no result before.
        return event.on === undefined ? void this.#deferred.add(event.effect.replace(/\.a\d+$/, "")) : undefined;
      case "resolved":
        // `.w` is a question of the gate, before the call was made; `.w1` is one of an attempt.
        return this.#resolve(
          event.effect.replace(/\.w\d*(\.\d+)?$/, ""),
          event.answer,
          /\.w(\.\d+)?$/.test(event.effect),
        );
      case "applied":
        if (event.config !== undefined) this.#config = event.config;
        if (event.parts !== undefined) this.#applied = [...this.#applied, ...event.parts];
        return;
      case "settled":
        this.#isToSettle = false;
        for (const [index, settlement] of event.results.entries()) {
          const place = this.#places[index] ?? "";
          const before = this.#results.get(place) ?? { output: this.#interrupted };
          if (settlement !== null) this.#results.set(place, { ...before, ...settlement });
        }
        return this.#say(event.messages, at);
      case "called":
        this.#called = [
          ...this.#called,
          ...event.calls.map(({ at: place, call }) => ({ effect: placeIn(event.effect, place), call })),
        ];
        return;
      case "executed": {
        this.#called = [];
        const { state: status, parts } = event.output;
        this.#pair(at);
        return this.#add(
          { role: "user", parts: [{ kind: "codeOutput", status, parts }], origin: { kind: "runtime" } },
          at,
        );
      }
      case "bounded":
        this.#pair(at);
        this.#openFrame(at);
        this.#inputs = [...this.#inputs, ...(event.inputs ?? []).map(({ inputId }) => inputId)];
        for (const input of event.inputs ?? []) {
          const { inputId } = input;
          if ("nodes" in input) this.#addNodes(input.nodes, at);
          else this.#add({ ...input.message, origin: input.message.origin ?? { kind: "input", inputId } }, at);
        }
        return this.#say(event.messages, at);
      case "prepared":
        this.#settles = event.skips?.settle !== true;
        this.#frame ??= event.frame;
        this.#openFrame(at);
        return this.#say(event.messages, at);
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
    this.#openFrame(this.#opened.at);
    return {
      entries: this.#entries,
      changes: this.#changes,
      usage: this.#usage,
      asks: this.#asks,
      spent: this.#spent,
      inputs: this.#inputs,
      ...(this.#placed.length === 0 ? {} : { placed: this.#placed }),
      ...(this.#applied.length === 0 ? {} : { applied: this.#applied }),
      ...(this.#config === undefined ? {} : { config: this.#config }),
    };
  }

  soFar(): ReturnType<typeof soFar> {
    const last = this.#entries.at(-1);
    const open = last?.kind === "message" && last.message.role === "assistant" ? callsOf(last.message.parts) : [];
    const own = open.map((part, nth) => ({
      effect: asEffectName(`${this.#round}.call.${nth}`),
      call: callIn(part),
    }));
    const calls = [...own, ...this.#called].map(({ effect, call }): CallSoFar => {
      const output = this.#results.get(effect)?.output;
      if (output === undefined) return { effect, call, state: "running" };
      return this.#isToSettle ? { effect, call, state: "returned" } : { effect, call, state: "ended", output };
    });
    return { entries: this.#entries, calls };
  }

  /** Adds what hooks and tools appended. While calls have no result, it is held back. */
  #place(at: number): void {
    const last = this.#entries.at(-1);
    if (this.#pendingAppends.length === 0 || (last?.kind === "message" && hasOpenCalls(last.message))) return;
    for (const { nodes, operation } of this.#pendingAppends) {
      if (operation !== undefined && this.#placed.some(({ name }) => name === operation.name)) continue;
      if (operation !== undefined) this.#placed.push({ ...operation, from: this.#entries.length, count: nodes.length });
      this.#addNodes(nodes, at);
    }
    this.#pendingAppends = [];
  }

  #addNodes(nodes: readonly Addition[], at: number): void {
    for (const node of nodes)
      if (node.kind === "message") this.#add(node.message, at);
      else this.#entries.push({ at, ...node });
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

  /** A batch is replaced by its calls. */
  #placesOf(parts: Message["parts"]): readonly string[] {
    const hasBatch = this.#opened.protocol.id.endsWith("/batch");
    return callsOf(parts).flatMap(({ name, input }, index) => {
      const place = `${this.#round}.call.${index}`;
      const inside = hasBatch && name === BATCH_TOOL && isObject(input) ? input.calls : undefined;
      if (!Array.isArray(inside) || inside.length === 0) return [place];
      return inside.map((call, each) => {
        this.#names.set(`${place}.${each}`, isObject(call) ? String(call.tool) : "");
        return `${place}.${each}`;
      });
    });
  }

  #resolve(place: string, answer: WaitAnswer, isApproval: boolean): void {
    if (!isApproval) {
      // The result of an interrupted call is unknown, with any answer.
      if (answer.kind === "value" && this.#deferred.has(place))
        this.#results.set(place, { output: delivered(answer.value) });
      return;
    }
    const said = (answer.kind === "value" ? answer.value : null) as Decided | null;
    if (said?.approved === true) {
      if (said.args !== undefined) this.#edited = [...this.#edited, place];
      return;
    }
    const reasons = { value: TEXTS.notApproved, timeout: TEXTS.unanswered, revoked: TEXTS.revoked };
    const reason = typeof said?.reason === "string" ? said.reason : reasons[answer.kind];
    const name = "the call";
    this.#results.set(place, {
      output: {
        kind: "failure",
        failure: { class: "denied", code: "tool.denied", message: TEXTS.denied(name, reason) },
      },
    });
  }

  #openFrame(at: number): void {
    const frame = this.#frame;
    if (frame === undefined) return;
    this.#frame = undefined;
    this.#pair(at);
    const { task, name } = frame;
    this.#entries.push({ at, kind: "frame", reason: "task", task, ...(name === undefined ? {} : { name }) });
    const seed =
      frame.seed === undefined ? "" : `\n\n${typeof frame.seed === "string" ? frame.seed : JSON.stringify(frame.seed)}`;
    this.#add({ role: "user", parts: [text(`${frame.task}${seed}`)], origin: { kind: "runtime" } }, at);
  }

  /** Only its results may follow a call. */
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
    this.#place(at);
  }

  /** Returns the result of a batch from those of its calls. */
  #resultOf(index: number): { readonly output: ToolOutput; readonly parts?: readonly ResultPart[] } {
    const place = `${this.#round}.call.${index}`;
    if (this.#isToSettle) return { output: this.#interrupted }; // A hook may have to redact the result.
    const own = this.#results.get(place);
    if (own !== undefined) return own;
    const inside = this.#places.filter((each) => each.startsWith(`${place}.`));
    if (inside.length === 0) return { output: this.#interrupted };
    const results = inside.map((each) => this.#results.get(each) ?? { output: this.#interrupted });
    const best = results.find(({ output }) => statusOf(output) === "ok") ?? results[0];
    return {
      output: best?.output ?? this.#interrupted,
      parts: results.flatMap(({ output, parts }, nth) => [
        text(`[${nth + 1}] ${this.#names.get(inside[nth] ?? "") ?? ""}: ${statusOf(output)}`),
        ...(parts ?? projectOutput(output)),
      ]),
    };
  }
}
