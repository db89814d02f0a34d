// What the conversation shows, as a flat list: made of the messages of a view, its running turn, and older nodes.
//
// An item keeps its key while a turn runs, when it is committed, and when older items come: what is unfolded stays so.
import type { ClientCall, ClientView, ClientWait, RunningTurn } from "bowline/client";
import type { Node } from "../../types.ts";

export type Message = NonNullable<ClientView["read"]>["messages"][number];
export type Part = Message["parts"][number];
export type Attachment = Extract<Part, { readonly kind: "attachment" }>;
type TextPart = Extract<Part, { readonly kind: "text" }>;
export type Result = Extract<Part, { readonly kind: "toolResult" | "codeOutput" }>;

export interface Words {
  readonly kind: "user" | "assistant" | "note";
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** Where a fork may begin. */
  readonly node?: string;
  /** Who wrote it, if neither a person nor the model did. */
  readonly by?: string;
  readonly isLive?: boolean;
  /** It waits for a turn, and can be withdrawn. */
  readonly waiting?: { readonly input: string; readonly isSteering: boolean };
}
export interface CallItem {
  readonly kind: "call";
  readonly name: string;
  readonly input: unknown;
  readonly result?: Result;
  /** Of a running turn. */
  readonly live?: ClientCall;
  readonly isPart?: boolean;
  /** It waits for an answer. */
  readonly isWaiting?: boolean;
}
export interface CellItem {
  readonly kind: "cell";
  readonly code: string;
  readonly result?: Result;
}
export interface EndItem {
  readonly kind: "end";
  readonly turnId: string;
  /** The last node of the turn. */
  readonly node: string;
  /** No other turn has ended since. */
  readonly isLast?: boolean;
  /** What a person said to open it, and its node. */
  readonly said?: { readonly parts: readonly Part[]; readonly node: string };
}
type Content =
  | Words
  | CallItem
  | CellItem
  | EndItem
  | { readonly kind: "reasoning"; readonly text: string; readonly isLive?: boolean }
  | { readonly kind: "frame"; readonly reason: string; readonly task?: string }
  | { readonly kind: "wait"; readonly wait: ClientWait }
  | { readonly kind: "retrying"; readonly of: NonNullable<RunningTurn["retrying"]> }
  | { readonly kind: "child"; readonly id: string; readonly view: ClientView }
  | { readonly kind: "working" };
export type Item = Content & { readonly key: string };

const commitOf = (node: string): string => node.slice(0, node.lastIndexOf("."));
const isTurn = (commit: string): boolean => commit.startsWith("trn_");

// ── Messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The names of items. Those of a turn are counted, so that a running turn and its messages have the same. */
class Names {
  readonly #counts = new Map<string, number>();
  next(turn: string, kind: string): string {
    const name = `${turn}/${kind}`;
    const n = this.#counts.get(name) ?? 0;
    this.#counts.set(name, n + 1);
    return `${name}/${n}`;
  }
}

/** Of a cell, the protocol shows only the prose before it. What it leaves out is the code, between tags. */
function cellIn({ text, shown }: TextPart): { readonly prose: string; readonly code?: string } {
  if (shown === undefined || shown === text) return { prose: text };
  const rest = (text.startsWith(shown) ? text.slice(shown.length) : text).trim();
  const [, , code = rest] = /^<(\w+)>[ \t]*\n?(.*?)\n?<\/\1>/s.exec(rest) ?? [];
  return { prose: shown, code };
}

class Builder {
  readonly items: Item[] = [];
  readonly #names: Names;
  readonly #calls = new Map<string, number>();
  #cell: number | undefined;
  #turn = "";
  #last = "";
  #said: EndItem["said"];

  constructor(names: Names) {
    this.#names = names;
  }

  /** `key` names the items of older messages: pages of history may begin within a turn. */
  message(message: Message, key?: string): void {
    const { id, role, parts, origin } = message;
    const turn = commitOf(id);
    if (turn !== this.#turn) this.end(turn);
    this.#last = id;
    if (origin?.kind === "carried" || role === "system") return;
    const name = (kind: string, n: number): string =>
      key === undefined ? this.#names.next(turn, kind) : `${key}/${n}`;
    if (origin?.kind === "input" && this.#said === undefined) this.#said = { parts, node: id };
    const hasCalls = parts.some(({ kind }) => kind === "toolCall");
    const place = hasCalls ? {} : { node: id };
    const attachments = parts.filter((part) => part.kind === "attachment");
    const isSaid = role === "user" && (origin === undefined || origin.kind === "input");
    const by = origin?.kind === "plugin" ? origin.plugin : origin?.kind === "runtime" ? "the runtime" : undefined;
    const kind = isSaid ? "user" : by === undefined && role === "assistant" ? "assistant" : "note";
    if (kind === "user") {
      const text = parts.flatMap((part) => (part.kind === "text" ? [part.shown ?? part.text] : [])).join("\n");
      this.items.push({ key: name("user", 0), kind, text, attachments, ...place });
      return;
    }
    for (const [n, part] of parts.entries()) {
      if (part.kind === "text") this.#text(part, name, n, kind, { ...place, ...(by === undefined ? {} : { by }) });
      else if (part.kind === "reasoning")
        this.items.push({ key: name("reasoning", n), kind: "reasoning", text: part.text });
      else if (part.kind === "toolCall") {
        this.#calls.set(part.callId, this.items.length);
        const input = part.malformed ?? part.input;
        this.items.push({ key: name("call", n), kind: "call", name: part.name, input });
      } else if (part.kind === "toolResult") {
        const at = this.#calls.get(part.callId);
        this.#calls.delete(part.callId);
        if (at !== undefined) this.items[at] = { ...(this.items[at] as CallItem & Item), result: part };
        else this.items.push({ key: name("result", n), kind: "call", name: part.name, input: undefined, result: part });
      } else if (part.kind === "codeOutput") {
        if (this.#cell !== undefined)
          this.items[this.#cell] = { ...(this.items[this.#cell] as CellItem & Item), result: part };
        else this.items.push({ key: name("cell", n), kind: "cell", code: "", result: part });
        this.#cell = undefined;
      }
    }
    if (attachments.length > 0) this.items.push({ key: name("files", parts.length), kind, text: "", attachments });
  }

  #text(part: TextPart, name: (kind: string, n: number) => string, n: number, kind: Words["kind"], more: object): void {
    const { prose, code } = cellIn(part);
    if (prose.trim() !== "") this.items.push({ key: name(kind, n), kind, text: prose, attachments: [], ...more });
    if (code === undefined) return;
    this.#cell = this.items.length;
    this.items.push({ key: `${name("cell", n)}/code`, kind: "cell", code });
  }

  frame(key: string, reason: string, task: string | undefined): void {
    this.items.push({ key, kind: "frame", reason, ...(task === undefined ? {} : { task }) });
  }

  /** The turn so far has ended, unless `next` is the same. Without `next` nothing follows. */
  end(next?: string): void {
    if (this.#turn !== "" && this.#turn !== next && isTurn(this.#turn)) {
      const said = { ...(this.#said && { said: this.#said }), ...(next === undefined && { isLast: true }) };
      this.items.push({ key: `${this.#turn}/end`, kind: "end", turnId: this.#turn, node: this.#last, ...said });
    }
    this.#turn = next ?? "";
    this.#calls.clear();
    this.#said = undefined;
    this.#cell = undefined;
  }
}

/** The items of older nodes, which come newest first. `first`: the message that follows them. */
export function itemsOfNodes(nodes: readonly Node[], first: string | undefined): readonly Item[] {
  const builder = new Builder(new Names());
  for (const node of nodes.toReversed()) {
    if (node.kind === "message") builder.message(node.message, node.id);
    else if (node.kind === "frame") builder.frame(node.id, node.reason, node.task);
  }
  const next = first === undefined ? "" : commitOf(first);
  if (nodes.length > 0) builder.end(next);
  return builder.items;
}

/** Where items may begin: at a whole turn, not after `index`. */
export function turnAt(messages: readonly Message[], index: number): number {
  const commitAt = (at: number): string => commitOf((messages[at] as Message).id);
  let at = Math.max(0, index);
  while (at > 0 && commitAt(at - 1) === commitAt(at)) at--;
  return at;
}

export function itemsOfMessages(messages: readonly Message[]): readonly Item[] {
  const builder = new Builder(new Names());
  for (const message of messages) builder.message(message);
  builder.end();
  return builder.items;
}

// ── The running turn ────────────────────────────────────────────────────────────────────────────────────────────────

export const roundOf = (effect: string): number => Number(/^r(\d+)\./.exec(effect)?.[1] ?? 0);

/** What the turn has taken, and the round before which it did. */
export interface Said {
  readonly before: number;
  readonly item: Item;
}

/** What a running turn shows: its messages as far as they are recorded before what it shows live, then that. */
export function itemsOfRunning(
  turn: RunningTurn | undefined,
  open: readonly Message[],
  said: readonly Said[] = [],
): readonly Item[] {
  const parts = turn?.parts ?? [];
  const first = parts.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...parts.map(({ effect }) => roundOf(effect)));
  const names = new Names();
  const builder = new Builder(names);
  const { items } = builder;
  let round = 0; // Each reply of the model begins a round.
  let shown = 0;
  let told = 0;
  const tell = (until: number): void => {
    for (; told < said.length && (said[told] as Said).before <= until; told++) items.push((said[told] as Said).item);
  };
  const live = (until: number): void => {
    for (; shown < parts.length; shown++) {
      const part = parts[shown] as RunningTurn["parts"][number];
      const at = roundOf(part.effect);
      if (at > until) return;
      tell(at);
      items.push(itemOfLive(part, (turn as RunningTurn).id, names, shown === parts.length - 1));
    }
  };
  const isAsked = (item: Item): boolean => item.kind === "call" && asksAbout(turn?.waits ?? [], item);
  for (const message of open) {
    if (message.role === "assistant") round++;
    const isSaid = message.role === "user" && message.parts.every(({ kind }) => kind !== "codeOutput");
    if (isSaid) live(round);
    if (isSaid || round < first) builder.message(message);
  }
  live(Number.POSITIVE_INFINITY);
  tell(Number.POSITIVE_INFINITY);
  if (turn === undefined) return items;
  for (const [id, view] of Object.entries(turn.children)) items.push({ key: `child/${id}`, kind: "child", id, view });
  if (turn.retrying !== undefined) items.push({ key: `${turn.id}/retrying`, kind: "retrying", of: turn.retrying });
  return [...items.map((item) => (isAsked(item) ? { ...item, isWaiting: true } : item)), ...turn.waits.map(itemOfWait)];
}

/** Places tell calls apart. A call that was recorded before has none here, and is known by its name. */
const asksAbout = (waits: readonly ClientWait[], { live, name, result }: CallItem): boolean =>
  result === undefined &&
  waits.some(({ effect, call }) => (live === undefined ? call.name === name : effect.startsWith(`${live.effect}.`)));

export const itemOfWait = (wait: ClientWait): Item => ({ key: `wait/${wait.id}`, kind: "wait", wait });

function itemOfLive(part: RunningTurn["parts"][number], turn: string, names: Names, isLive: boolean): Item {
  if (part.kind === "call") {
    const { name, input, parentId, effect } = part;
    if (parentId !== undefined)
      return { key: `${turn}/${effect}`, kind: "call", name, input, live: part, isPart: true };
    return { key: names.next(turn, "call"), kind: "call", name, input, live: part };
  }
  const { text } = part;
  if (part.kind === "reasoning") return { key: names.next(turn, "reasoning"), kind: "reasoning", text, isLive };
  return { key: names.next(turn, "assistant"), kind: "assistant", text, attachments: [], isLive };
}

/** A turn runs, and the last item does not show it. */
export const isSilent = (last: Item | undefined): boolean =>
  last === undefined ||
  last.kind === "user" ||
  last.kind === "note" ||
  (last.kind === "call" && (last.result !== undefined || last.live?.state === "ended")) ||
  (last.kind === "cell" && last.result !== undefined);

/** An input that is in no message yet. */
export function itemOfInput(input: string, parts: readonly Part[], isWaiting: boolean, isSteering: boolean): Item {
  const text = parts.flatMap((part) => (part.kind === "text" ? [part.shown ?? part.text] : [])).join("\n");
  const attachments = parts.filter((part) => part.kind === "attachment");
  const waiting = isWaiting ? { waiting: { input, isSteering } } : {};
  return { key: `input/${input}`, kind: "user", text, attachments, ...waiting };
}
