import type { Json } from "../../model/json.ts";
import type { Part } from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { TurnJournal } from "../store.ts";
import { decodeEvents, encodeEvents, type KeptJournal } from "./codec.ts";
import { corrupt } from "./faults.ts";

/** A shorter text takes no more room than its position. */
const SHARED_MIN = 12;

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

export function packJournal({ setting, events }: TurnJournal, entries: readonly Entry[]): KeptJournal {
  const places = new Map<string, number>();
  for (const text of textsOf(entries))
    if (text.length >= SHARED_MIN && !places.has(text)) places.set(text, places.size);
  const pack = (value: unknown, isValue: boolean): unknown => {
    if (typeof value === "string") {
      const place = value.length < SHARED_MIN ? undefined : places.get(value);
      if (place !== undefined) return `~${place.toString(36)}`;
      return value.charCodeAt(0) === TILDE ? `~${value}` : value;
    }
    if (typeof value !== "object" || value === null) return value;
    if (isValue) {
      const place = places.get(JSON.stringify(value));
      if (place !== undefined) return `~=${place.toString(36)}`;
    }
    if (Array.isArray(value)) return value.map((each) => pack(each, false));
    const packed: { [name: string]: unknown } = {};
    for (const name in value) {
      const field = (value as { readonly [name: string]: unknown })[name];
      if (field !== undefined) setOwn(packed, name, pack(field, name === "value" || name === "input"));
    }
    return packed;
  };
  // Tuples of the codec have a value as their last item.
  const packed = encodeEvents(events).map((event) =>
    Array.isArray(event) ? event.map((each) => pack(each, true)) : pack(event, false),
  );
  return { ...(setting === undefined ? {} : { setting }), packed: packed as unknown as Json };
}

export function unpackJournal(kept: KeptJournal, entries: readonly Entry[], item: string): readonly TurnEvent[] {
  if ("events" in kept) return kept.events;
  const places = [...new Set(textsOf(entries).filter(({ length }) => length >= SHARED_MIN))];
  const at = (number: string): string => {
    const text = places[Number.parseInt(number, 36)];
    if (text === undefined) throw corrupt(item, "it refers to a text that is missing");
    return text;
  };
  const unpack = (value: unknown): unknown => {
    if (typeof value === "string") {
      if (value.charCodeAt(0) !== TILDE) return value;
      if (value[1] === "~") return value.slice(1);
      return value[1] === "=" ? JSON.parse(at(value.slice(2))) : at(value.slice(1));
    }
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(unpack);
    const whole: { [name: string]: unknown } = {};
    for (const name in value) setOwn(whole, name, unpack((value as { readonly [name: string]: unknown })[name]));
    return whole;
  };
  const { packed } = kept;
  if (!Array.isArray(packed)) throw corrupt(item, "it is not a list of events");
  return decodeEvents(packed.map(unpack) as Parameters<typeof decodeEvents>[0]);
}

const TILDE = 0x7e;

/** A plain assignment to `__proto__` would be lost. */
function setOwn(target: { [name: string]: unknown }, name: string, value: unknown): void {
  if (name !== "__proto__") target[name] = value;
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
