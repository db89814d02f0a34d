// Writes the chunks that bring the message of a client to the present state of a turn.
//
// writer-1 After the last chunk the client has the items of the turn, no matter with which items it began.
// writer-2 An open step can be reset. So text of a failed attempt disappears from the client.
// writer-3 A process that resumes a turn shows it again from the beginning. As long as that is what the client has,
//          nothing is written.
import type { OpenWait } from "../../model/view.ts";
import type { UiChunk } from "./chunks.ts";
import type { Item, Result, TextItem, ToolItem } from "./items.ts";

/** What the client shows. The text with an `id` can grow. */
export type Shown = (TextItem & { readonly id?: string }) | ToolItem;

/** A question about a call, of this turn or of a session below it. */
export interface Asked extends Pick<OpenWait, "id" | "wants" | "call" | "reason"> {
  /** The id of the item for the call. */
  readonly tool: string;
  /** The child of the session, if the call is of a session below. */
  readonly child?: string;
}

export class Writer {
  #shown: Shown[];
  #step: number;
  #chunks: UiChunk[] = [];
  #texts = 0;
  #isAside = false;
  /** The ids of questions that the client shows. */
  readonly #asked = new Set<string>();
  /** Calls of other sessions that the client shows because of a question, and whether they have a result. */
  readonly #others = new Map<string, boolean>();

  /** `shown`: the items that the client has already. */
  constructor(shown: readonly Shown[] = []) {
    this.#shown = [...shown];
    this.#step = shown.at(-1)?.step ?? -1;
  }

  get hasShown(): boolean {
    return this.#shown.length > 0;
  }

  /** The chunks since the last call. */
  take(): readonly UiChunk[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }

  /**
   * Shows the items. With `isReplay` they can be fewer than the client shows (writer-3). Returns whether they cover all
   * that the client shows.
   */
  show(items: readonly Item[], isReplay = false): boolean {
    let same = 0;
    while (same < this.#shown.length && same < items.length && this.#fits(same, items[same] as Item, isReplay)) same++;
    const isBehind = isReplay && same === items.length && same < this.#shown.length;
    for (let nth = 0; nth < same; nth++) this.#update(nth, items[nth] as Item);
    if (isBehind) return false;
    let rest = items.slice(same);
    if (same < this.#shown.length) {
      const last = this.#step;
      this.#reset();
      rest = items.filter(({ step }) => step >= last);
    }
    for (const item of rest) this.#add(item);
    return (
      !isReplay || this.#shown.every((each, nth) => each.kind === "tool" || each.text.length <= lengthOf(items[nth]))
    );
  }

  /**
   * Shows the open questions, and ends those of other sessions that are no longer open. A question about a call of the
   * turn waits until the call is shown, unless no more previews can come.
   */
  ask(waits: readonly Asked[], isLast: boolean): void {
    for (const { id, tool, wants, call, reason, child } of waits) {
      if (this.#asked.has(id)) continue;
      const isShown = this.#shown.some((each) => each.kind === "tool" && each.id === tool) || this.#others.has(tool);
      if (!isShown && child === undefined && !isLast) continue;
      if (!isShown) {
        this.#endText();
        this.#openAside();
        this.#call(tool, call.name, call.input);
        this.#others.set(tool, false);
      }
      this.#asked.add(id);
      // A client answers the other kinds with the output of a tool.
      if (wants === "approval" || wants === "interrupted")
        this.#chunks.push({ type: "tool-approval-request", approvalId: id, toolCallId: tool, reason });
    }
    for (const [tool, hasResult] of this.#others)
      if (!hasResult && !waits.some((wait) => wait.tool === tool)) {
        this.#chunks.push({ type: "tool-output-available", toolCallId: tool, output: "answered" });
        this.#others.set(tool, true);
      }
  }

  /**
   * Gives calls that have returned an output until hooks have looked at their results. A client sends its answers only if
   * all other calls of the step have an output.
   */
  hold(calls: readonly ToolItem[]): void {
    for (const { id } of calls) this.#result(id, { kind: "output", output: null });
  }

  /** Questions and calls of other sessions that the client shows already. */
  assume(asked: readonly string[], others: readonly string[], isAside: boolean): void {
    this.#isAside = isAside;
    for (const id of asked) this.#asked.add(id);
    for (const tool of others) this.#others.set(tool, false);
  }

  end(): void {
    this.#endText();
    if (this.#step >= 0 || this.#isAside) this.#chunks.push({ type: "finish-step" });
  }

  #fits(nth: number, item: Item, isReplay: boolean): boolean {
    const shown = this.#shown[nth] as Shown;
    if (shown.step !== item.step || shown.kind !== item.kind) return false;
    if (shown.kind === "tool") return shown.id === (item as ToolItem).id;
    const { text } = item as TextItem;
    if (text.length > shown.text.length) return shown.id !== undefined && text.startsWith(shown.text);
    return text === shown.text || (isReplay && nth === this.#shown.length - 1 && shown.text.startsWith(text));
  }

  #update(nth: number, item: Item): void {
    const shown = this.#shown[nth] as Shown;
    if (item.kind === "tool") {
      this.#shown[nth] = item.result === undefined ? shown : item;
      if (item.result !== undefined && !isEqual(item.result, (shown as ToolItem).result))
        this.#result(item.id, item.result);
      return;
    }
    const { id, text } = shown as TextItem & { readonly id?: string };
    if (id === undefined || item.text.length <= text.length) return;
    this.#chunks.push({ type: `${item.kind}-delta`, id, delta: item.text.slice(text.length) });
    this.#shown[nth] = { ...item, id };
  }

  #add(item: Item): void {
    this.#endText();
    this.#openStep(item.step);
    if (item.kind === "tool") {
      this.#call(item.id, item.name, item.input);
      if (item.result !== undefined) this.#result(item.id, item.result);
      this.#shown.push(item);
      return;
    }
    const id = String(this.#texts++);
    this.#chunks.push({ type: `${item.kind}-start`, id }, { type: `${item.kind}-delta`, id, delta: item.text });
    this.#shown.push({ ...item, id });
  }

  /** writer-2 */
  #reset(): void {
    this.#chunks.push({ type: "reset-step" });
    this.#shown = this.#shown.filter(({ step }) => step < this.#step);
    this.#asked.clear(); // The questions of the step are open, or no longer asked.
    this.#others.clear();
  }

  #openStep(step: number): void {
    if (step <= this.#step && !this.#isAside) return;
    this.#isAside = false;
    if (this.#step >= 0) this.#chunks.push({ type: "finish-step" });
    this.#chunks.push({ type: "start-step" });
    this.#step = step;
  }

  /**
   * Calls of other sessions have a separate step. A client sends the answers for its last step, and the call that waits
   * for the other session is open.
   */
  #openAside(): void {
    if (this.#isAside) return;
    if (this.#step >= 0) this.#chunks.push({ type: "finish-step" });
    this.#chunks.push({ type: "start-step" });
    this.#isAside = true;
  }

  #endText(): void {
    const last = this.#shown.at(-1);
    if (last === undefined || last.kind === "tool" || last.id === undefined) return;
    this.#chunks.push({ type: `${last.kind}-end`, id: last.id });
    const { id: _, ...ended } = last;
    this.#shown[this.#shown.length - 1] = ended;
  }

  #call(toolCallId: string, toolName: string, input: ToolItem["input"]): void {
    this.#chunks.push({ type: "tool-input-available", toolCallId, toolName, input, dynamic: true });
  }

  #result(toolCallId: string, result: Result): void {
    if (result.kind === "output")
      this.#chunks.push({ type: "tool-output-available", toolCallId, output: result.output });
    else if (result.kind === "error")
      this.#chunks.push({ type: "tool-output-error", toolCallId, errorText: result.text });
    else this.#chunks.push({ type: "tool-output-denied", toolCallId });
  }
}

const lengthOf = (item: Item | undefined): number =>
  item === undefined || item.kind === "tool" ? 0 : item.text.length;

const isEqual = (a: Result, b: Result | undefined): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);
