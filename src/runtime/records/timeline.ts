// What happened in a turn, from its journal. The machine that runs turns folds the events, so that the start and the
// end of an item are those of the real effect. No extra data is recorded for the timeline.
import type { EffectName } from "../../model/ids.ts";
import { defined, type Json } from "../../model/json.ts";
import type { TimelineItem } from "../../model/turn-record.ts";
import { waitIdOf } from "../../model/wait.ts";
import type { ProtocolDriver } from "../../turn/driver.ts";
import type { Effect } from "../../turn/effect.ts";
import type { Answer, Changes, Opened, TurnEvent } from "../../turn/event.ts";
import { isOnlyWaiting } from "../../turn/state.ts";
import { begin, step } from "../../turn/step.ts";

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Common = Pick<TimelineItem, "effect" | "round" | "startedAt">;
/** The item of an effect, while its events are read. A model call has an item for each attempt. */
type Item = TimelineItem extends infer One ? (One extends TimelineItem ? Writable<One> : never) : never;

export interface Folded {
  readonly items: readonly TimelineItem[];
  readonly isExact: boolean;
}

/** Follows the events with the turn's driver, or without one if it is missing here. */
export function timelineOf(events: readonly TurnEvent[], driver: ProtocolDriver | undefined): Folded {
  if (driver !== undefined) {
    try {
      return { items: foldedItems(events, driver), isExact: true };
    } catch {
      // Another version of the machine recorded the journal.
    }
  }
  return { items: plainItems(events), isExact: false };
}

function foldedItems([opened, ...events]: readonly TurnEvent[], driver: ProtocolDriver): readonly TimelineItem[] {
  const items: Item[] = [];
  const open = new Map<EffectName, { readonly effect: Effect; readonly item: Item }>();
  const { model } = (opened as Opened).config;
  let round = 1;
  const start = (effects: readonly Effect[], startedAt: number): void => {
    for (const effect of effects) {
      if ("round" in effect) round = effect.round;
      const item = itemOf(effect, { effect: effect.name, round, startedAt }, model);
      items.push(item);
      open.set(effect.name, { effect, item });
    }
  };
  const begun = begin(opened as Opened);
  let { state } = begun;
  start(begun.effects, (opened as Opened).at);
  for (const event of events) {
    const before = "effect" in event ? open.get(event.effect) : undefined;
    if ("effect" in event) open.delete(event.effect);
    if (before === undefined) items.push(besideItem(event, round));
    else items.push(...answered(before.item, before.effect, event as Answer));
    const next = step(driver, state, event);
    state = next.state;
    for (const name of next.dropped) {
      const dropped = open.get(name);
      if (dropped !== undefined) dropped.item.endedAt = event.at;
      open.delete(name);
    }
    start(next.effects, event.at);
  }
  return sorted(items);
}

/**
 * `waited`: the turn was parked, or released while it only waited, and was resumed for an answer or a time. `fault`: a
 * process released it because the store failed. `crash`: a process died or closed in the middle of its work.
 */
export type WhyResumed = "waited" | "fault" | "crash";

/** The reason of each resume. Empty without a driver that can follow the events. */
export function whyResumed(
  [opened, ...events]: readonly TurnEvent[],
  driver: ProtocolDriver | undefined,
): readonly WhyResumed[] {
  if (driver === undefined) return [];
  const why: WhyResumed[] = [];
  try {
    let { state } = begin(opened as Opened);
    for (const event of events) {
      if (event.kind === "resumed") why.push(event.isFault ? "fault" : isOnlyWaiting(state) ? "waited" : "crash");
      state = step(driver, state, event).state;
    }
  } catch {
    // Another version of the machine recorded the rest of the journal.
  }
  return why;
}

const STAGES = {
  prepare: "prepare",
  respond: "respond",
  gate: "gate",
  settle: "settle",
  boundary: "boundary",
  compact: "compact",
  finalize: "finalize",
} as const;

/** The item of an effect that has no answer yet. */
function itemOf(effect: Effect, common: Common, model: string): Item {
  switch (effect.kind) {
    case "ask":
      return { ...common, kind: "model", model, attempt: 1 };
    case "call":
      return { ...common, kind: "tool", call: effect.call, attempt: effect.attempt };
    case "exec": {
      const delivery = effect.deliver === undefined ? {} : ({ isDelivery: true } as const);
      return { ...common, kind: "cell", code: effect.cell.code, ...delivery };
    }
    case "wait": {
      const { about, until, at, key } = effect;
      const asked = { ...common, startedAt: at, kind: "wait" as const, id: waitIdOf(key), until };
      if (about.kind === "turns") return { ...asked, wants: "turns", reason: "" };
      return { ...asked, wants: about.kind, reason: about.reason, call: about.call };
    }
    case "sleep":
      return { ...common, startedAt: effect.at, kind: "sleep", until: effect.until };
    default:
      return { ...common, kind: "hooks", stage: STAGES[effect.kind] };
  }
}

/** Completes the item of an effect with its answer. Returns the items of further attempts. */
function answered(item: Item, effect: Effect, event: Answer): readonly Item[] {
  Object.assign(item, { endedAt: event.at }, sideEffects(event));
  if (event.kind === "failed") {
    const { code, message, plugin } = event.error;
    item.error = defined({ code, message, plugin }) as NonNullable<Item["error"]>;
  }
  switch (item.kind) {
    case "model":
      return modelAttempts(item, event);
    case "tool":
      if (event.kind === "returned") item.output = event.output;
      if (event.kind === "deferred") item.isDeferred = true;
      if (event.kind === "interrupted") item.isInterrupted = true;
      return [];
    case "cell":
      if (event.kind === "executed") item.state = event.output.state;
      return [];
    case "wait":
      if (event.kind === "resolved") {
        const { answer } = event;
        item.how = answer.kind === "value" ? "answered" : answer.kind;
        if (answer.kind !== "timeout" && answer.by !== undefined) item.by = answer.by;
      }
      return [];
    case "hooks":
      if ("abort" in event && event.abort !== undefined) item.abort = event.abort;
      if (event.kind === "bounded" && event.inputs !== undefined) item.inputs = event.inputs.length;
      if (event.kind === "compacted" && event.seed !== undefined) item.isFrame = true;
      if (event.kind === "prepared" && event.frame !== undefined) item.isFrame = true;
      if (event.kind === "gated" && effect.kind === "gate")
        item.verdicts = event.verdicts.map((verdict, nth) => {
          const { reason, plugin } = verdict.kind === "wait" ? verdict : {};
          const { name } = effect.calls[nth]!.call;
          return defined({ name, verdict: verdict.kind, reason, plugin }) as NonNullable<typeof item.verdicts>[number];
        });
      return [];
    default:
      return [];
  }
}

/** Splits a model call into its attempts. The given item becomes the first one. */
function modelAttempts(first: Item & { kind: "model" }, event: Answer): readonly Item[] {
  if (event.kind !== "replied" && event.kind !== "failed") return [];
  const { attempts = [] } = event;
  const model = event.model ?? first.model;
  first.model = model;
  const { effect, round } = first;
  const items: (Item & { kind: "model" })[] = [first];
  for (let nth = 1; nth < attempts.length; nth++)
    items.push({ effect, round, startedAt: 0, kind: "model", model, attempt: nth + 1 });
  for (const [nth, { startedAt, ms, error, waitedMs }] of attempts.entries())
    Object.assign(
      items[nth]!,
      defined({ startedAt, endedAt: startedAt + ms, waitedMs, failure: error && `${error.class}: ${error.message}` }),
    );
  const last = items.at(-1)!;
  if (event.kind === "replied") {
    const { finish, usage, parts } = event.reply;
    Object.assign(last, defined({ finish, usage, parts, firstMs: event.firstMs }));
  } else {
    Object.assign(last, defined({ usage: event.usage, parts: event.partial, error: first.error }));
    if (last !== first) delete first.error;
  }
  return items.slice(1);
}

function sideEffects(event: {
  readonly changes?: Changes;
  readonly spawns?: readonly { readonly id: unknown }[];
}): object {
  const { changes, spawns } = event;
  const states =
    changes && Object.fromEntries(Object.entries(changes).map(([id, { state }]): [string, Json] => [id, state]));
  return defined({ changes: states, jobs: spawns?.map(({ id }) => id) });
}

/** The item of an event that answers no effect. */
function besideItem(event: TurnEvent, round: number): Item {
  const common = { effect: "" as EffectName, round, startedAt: event.at, endedAt: event.at };
  switch (event.kind) {
    case "resumed":
      return { ...common, kind: "resumed", ...defined({ by: event.by, isFault: event.isFault }) };
    case "cancelled":
      return { ...common, kind: "cancelled", reason: event.reason };
    case "applied":
      return { ...common, kind: "operation", operation: event.operation, ...sideEffects(event) };
    default:
      return { ...common, kind: "event", event: event.kind };
  }
}

/** The plain events, if no driver here can follow them. */
function plainItems([, ...events]: readonly TurnEvent[]): readonly TimelineItem[] {
  let before = events[0]?.at ?? 0;
  let round = 1;
  return events.map((event): TimelineItem => {
    if (!("effect" in event)) return besideItem(event, round);
    round = Number(/^r(\d+)\./.exec(event.effect)?.[1] ?? round);
    const common = { effect: event.effect, round, startedAt: before, endedAt: event.at };
    before = event.at;
    if (event.kind !== "replied") return { ...common, ...sideEffects(event), kind: "event", event: event.kind };
    const { finish, usage, parts, route } = event.reply;
    return {
      ...common,
      ...sideEffects(event),
      kind: "model",
      model: event.model ?? route,
      attempt: 1,
      finish,
      usage,
      parts,
    };
  });
}

const sorted = (items: readonly TimelineItem[]): readonly TimelineItem[] =>
  items.toSorted((a, b) => a.startedAt - b.startedAt);
