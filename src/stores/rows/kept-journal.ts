import type { Json } from "../../model/json.ts";
import type { Part } from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { TurnJournal } from "../store.ts";
import { decodeEvents, encodeEvents, type KeptJournal } from "./codec.ts";
import { corrupt } from "./faults.ts";

/** A shorter text is stored again: to look for it costs more than its bytes. */
const SHARED_MIN = 48;

/** Returns the texts of nodes, in an order that depends on the nodes alone. */
function textsOf(entries: readonly Entry[]): readonly string[] {
  const texts: string[] = [];
  const add = (part: Part): void => {
    if (part.kind === "toolCall") texts.push(JSON.stringify(part.input) ?? "");
    else if (part.kind === "toolResult") for (const inner of part.parts) add(inner as Part);
    else if ("text" in part && typeof part.text === "string") texts.push(part.text);
  };
  for (const entry of entries) if (entry.kind === "message") for (const part of entry.message.parts) add(part);
  return texts;
}

/**
 * Every commit runs this, so the usual case is cheap: a reply is in its message, and a result is a text of the next
 * message. Only other texts are searched among all texts.
 */
export function packJournal({ setting, events }: TurnJournal, entries: readonly Entry[]): KeptJournal {
  const packer = new Packer(entries);
  const packed: unknown[] = encodeEvents(events) as unknown[];
  let route: unknown;
  for (let nth = 0; nth < packed.length; nth++) {
    const tuple = packed[nth];
    if (!Array.isArray(tuple)) packed[nth] = packer.pack(tuple, false);
    else if (tuple.length > RETURNED_LENGTH) {
      tuple[CONTENT] = packer.reply(events[nth] as TurnEvent) ?? packer.pack(tuple[CONTENT], false);
      const own = tuple[ROUTE];
      tuple[ROUTE] = own === route ? SAME : packer.pack(own, false);
      route = own;
    } else if (tuple.length === RETURNED_LENGTH) tuple[CONTENT] = packer.result(tuple[CONTENT]);
  }
  return { ...(setting === undefined ? {} : { setting }), packed: packed as unknown as Json };
}

// Of the tuples of the codec: bounded events have three items, results four, and replies more.
const RETURNED_LENGTH = 4;
const CONTENT = 3;
const ROUTE = 6;

class Packer {
  readonly #entries: readonly Entry[];
  /** The index of the entry after the latest reply, which has the results of its calls. */
  #next = 0;
  #nextResult = 0;
  #places: Map<string, number> | undefined;

  constructor(entries: readonly Entry[]) {
    this.#entries = entries;
  }

  /** Returns the position of the message whose parts are this same object. */
  #message(parts: unknown): string | undefined {
    for (let nth = this.#next; nth < this.#entries.length; nth++) {
      const entry = this.#entries[nth] as Entry;
      if (entry.kind !== "message" || entry.message.parts !== parts) continue;
      this.#next = nth + 1;
      this.#nextResult = 0;
      return `~@${nth.toString(36)}`;
    }
    return undefined;
  }

  reply(event: TurnEvent): string | undefined {
    return event.kind === "replied" ? this.#message(event.reply.parts) : undefined;
  }

  result(value: unknown): unknown {
    const isText = typeof value === "string";
    const text = isText ? value : JSON.stringify(value);
    if (text.length < SHARED_MIN) return this.pack(value, false);
    const entry = this.#entries[this.#next];
    const parts = entry?.kind === "message" ? entry.message.parts : [];
    for (let nth = this.#nextResult; nth < parts.length; nth++) {
      if (resultText(parts[nth]) !== text) continue;
      this.#nextResult = nth + 1;
      return `${isText ? "~" : "~="}#${this.#next.toString(36)}.${nth.toString(36)}`;
    }
    return this.pack(value, true);
  }

  #place(text: string): string | undefined {
    if (text.length < SHARED_MIN) return undefined;
    this.#places ??= new Map(placesOf(this.#entries).map((each, nth) => [each, nth]));
    return this.#places.get(text)?.toString(36);
  }

  pack(value: unknown, isValue: boolean): unknown {
    if (typeof value === "string") {
      const place = this.#place(value);
      if (place !== undefined) return `~${place}`;
      return value.charCodeAt(0) === TILDE ? `~${value}` : value;
    }
    if (typeof value !== "object" || value === null) return value;
    if (isValue) {
      const place = this.#place(JSON.stringify(value));
      if (place !== undefined) return `~=${place}`;
    }
    return Array.isArray(value) ? this.#list(value) : this.#object(value as { readonly [name: string]: unknown });
  }

  // Most values contain nothing to pack, and are not copied.

  #list(values: readonly unknown[]): readonly unknown[] {
    let copy: unknown[] | undefined;
    for (let nth = 0; nth < values.length; nth++) {
      const packed = this.pack(values[nth], false);
      if (packed !== values[nth]) (copy ??= [...values])[nth] = packed;
    }
    return copy ?? values;
  }

  #object(value: { readonly [name: string]: unknown }): unknown {
    let copy: { [name: string]: unknown } | undefined;
    for (const name in value) {
      const field = value[name];
      const shared = name === "parts" ? this.#message(field) : undefined;
      const packed = shared ?? this.pack(field, name === "value" || name === "input");
      if (packed === field) continue;
      copy ??= { ...value };
      setOwn(copy, name, packed);
    }
    return copy ?? value;
  }
}

/** Replaces the route that equals that of the previous reply. */
const SAME = "~";

const placesOf = (entries: readonly Entry[]): readonly string[] => [
  ...new Set(textsOf(entries).filter(({ length }) => length >= SHARED_MIN)),
];

function resultText(part: Part | undefined): string | undefined {
  const inner = part?.kind === "toolResult" ? part.parts[0] : undefined;
  return inner?.kind === "text" ? inner.text : undefined;
}

export function unpackJournal(stored: KeptJournal, entries: readonly Entry[], item: string): readonly TurnEvent[] {
  if ("events" in stored) return stored.events;
  let places: readonly string[] | undefined;
  const partsAt = (place: string): readonly Part[] => {
    const entry = entries[Number.parseInt(place, 36)];
    if (entry?.kind !== "message") throw corrupt(item, "it refers to a message that is missing");
    return entry.message.parts;
  };
  const at = (place: string): string => {
    const [message = "", nth = ""] = place.slice(1).split(".");
    const text = place.startsWith("#")
      ? resultText(partsAt(message)[Number.parseInt(nth, 36)])
      : (places ??= placesOf(entries))[Number.parseInt(place, 36)];
    if (text === undefined) throw corrupt(item, "it refers to a text that is missing");
    return text;
  };
  const unpack = (value: unknown): unknown => {
    if (typeof value === "string") {
      if (value.charCodeAt(0) !== TILDE) return value;
      if (value[1] === "~") return value.slice(1);
      if (value[1] === "@") return partsAt(value.slice(2));
      return value[1] === "=" ? JSON.parse(at(value.slice(2))) : at(value.slice(1));
    }
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(unpack);
    const whole: { [name: string]: unknown } = {};
    for (const name in value) setOwn(whole, name, unpack((value as { readonly [name: string]: unknown })[name]));
    return whole;
  };
  const { packed } = stored;
  if (!Array.isArray(packed)) throw corrupt(item, "it is not a list of events");
  let route: unknown;
  const encoded = packed.map((each): unknown => {
    if (!Array.isArray(each) || each.length <= RETURNED_LENGTH) return unpack(each);
    route = each[ROUTE] === SAME ? route : unpack(each[ROUTE]);
    return [...each.slice(0, ROUTE).map(unpack), route, ...each.slice(ROUTE + 1)];
  });
  return decodeEvents(encoded as Parameters<typeof decodeEvents>[0]);
}

const TILDE = 0x7e;

/** A plain assignment to `__proto__` would be lost. */
function setOwn(target: { [name: string]: unknown }, name: string, value: unknown): void {
  if (name !== "__proto__") target[name] = value;
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
