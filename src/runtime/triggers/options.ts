// Checks the options of subscriptions for untyped callers.
import {
  type SubscribeOptions,
  type SubscriptionPatch,
  type TriggerDeclaration,
  type TriggerOn,
  triggerName,
} from "../../kernel/trigger.ts";
import { RuntimeError } from "../../model/errors.ts";
import { defined, isObject, type Json } from "../../model/json.ts";
import { type Known, requireKnown } from "../../model/known.ts";
import { isSchedule, type MissedRuns, type TriggerSource, type TriggerTarget } from "../../model/trigger.ts";
import { requireWords } from "../checks.ts";
import type { Core } from "../core.ts";
import { recordable as recordableJson, requireTask, taskName } from "../jobs/options.ts";
import type { CallerPlace } from "../services/session-service.ts";
import { occasionOf, requireSchedule, type Schedule } from "./schedule.ts";

export const SUBSCRIBE: Known<SubscribeOptions> = {
  id: true,
  label: true,
  on: true,
  send: true,
  operation: true,
  isElsewhere: true,
  input: true,
  wake: true,
  isEnabled: true,
};
type KeysOf<T> = T extends unknown ? keyof T : never;
const ON: { readonly [K in KeysOf<TriggerOn>]: true } = {
  event: true,
  source: true,
  cron: true,
  timeZone: true,
  missed: true,
  everyMs: true,
  commits: true,
};
const KINDS = ["event", "cron", "everyMs", "commits"] as const;
const ALONG: { readonly [K in (typeof KINDS)[number]]: readonly string[] } = {
  event: ["source"],
  cron: ["timeZone", "missed"],
  everyMs: ["missed"],
  commits: [],
};
const MISSED: readonly unknown[] = ["skip", "once", "all"] satisfies MissedRuns[];
export const ID_MAX = 256;

export const invalid = (field: string, problem: string): never => {
  throw new RuntimeError("trigger.invalid", { field, problem });
};

/** The source of a subscription. `from`: the start of an interval. */
export function sourceOf(on: TriggerOn, declared: readonly TriggerDeclaration[], from: number): TriggerSource {
  if (!isObject(on)) return invalid("on", on === undefined ? "is missing" : "is not an object");
  requireKnown("`on` of triggers.subscribe", on, ON);
  const given = Object.entries(on).flatMap(([key, value]) => (value === undefined ? [] : [key]));
  const [kind, ...others] = KINDS.filter((each) => given.includes(each));
  if (kind === undefined) return invalid("on", `has none of ${KINDS.join(", ")}`);
  if (others.length > 0) return invalid("on", `has ${[kind, ...others].join(" and ")}`);
  const stray = given.find((key) => key !== kind && !ALONG[kind].includes(key));
  if (stray !== undefined) return invalid(`on.${stray}`, `does not go with \`${kind}\``);
  const {
    event,
    source,
    cron,
    timeZone = "UTC",
    missed = "once",
    everyMs,
    commits,
  } = on as { [K in keyof typeof ON]?: unknown };
  if (kind === "event") return eventOf(triggerName(event, "on.event"), source, declared);
  if (kind === "commits") return commits === true ? { kind } : invalid("on.commits", "is not true");
  if (!MISSED.includes(missed)) invalid("on.missed", `is not one of ${MISSED.join(", ")}`);
  if (kind === "everyMs") {
    const interval = { kind: "interval", everyMs, from, missed } as Schedule;
    requireSchedule(interval, from);
    return interval;
  }
  if (typeof cron !== "string") return invalid("on.cron", "is not a text");
  if (typeof timeZone !== "string") return invalid("on.timeZone", "is not a text");
  const schedule = { kind, cron: cron.trim(), timeZone, missed } as Schedule;
  requireSchedule(schedule, from);
  return schedule;
}

function eventOf(event: string, source: unknown, declared: readonly TriggerDeclaration[]): TriggerSource {
  if (!declared.some(({ name }) => name === event))
    throw new RuntimeError("trigger.unknown", { event, known: declared.map(({ name }) => name) });
  if (source !== undefined) requireWords("source", source as string);
  return { kind: "event", event, ...defined({ source: source as string | undefined }) };
}

/** The target of a subscription. Fields that a change omits stay. */
export function targetOf(
  { core, sessionId, plugin }: CallerPlace,
  { send, operation, isElsewhere, input, wake }: SubscribeOptions | SubscriptionPatch,
  on: TriggerSource,
  before?: TriggerTarget,
): TriggerTarget {
  if (send !== undefined && operation !== undefined) return invalid("send", "does not go with `operation`");
  const isTurn = send !== undefined || (operation === undefined && before?.kind === "turn");
  if (isTurn && input !== undefined) return invalid("input", "does not go with `send`");
  if (isTurn && wake !== undefined) return invalid("wake", "does not go with `send`");
  if (isTurn && isElsewhere !== undefined) return invalid("isElsewhere", "does not go with `send`");
  if (send !== undefined) {
    if (typeof send !== "string" || send.trim() === "") return invalid("send", "is empty or not a text");
    return { kind: "turn", text: recordable(core, "send", send) as string };
  }
  if (operation === undefined && before === undefined) return invalid("send", "and `operation` are both missing");
  if (before !== undefined && [operation, isElsewhere, input, wake].every((field) => field === undefined))
    return before;
  const old = before?.kind === "job" ? before : undefined;
  const named = operation === undefined ? old?.operation : operation;
  const wire = taskName(named, plugin, (problem) => invalid("operation", problem));
  const end = wake === undefined ? (old?.wake ?? "none") : wake;
  if (!["none", "notify", "wake"].includes(end)) return invalid("wake", "is not one of none, notify, wake");
  if (isElsewhere !== undefined && typeof isElsewhere !== "boolean")
    return invalid("isElsewhere", "is not true or false");
  const json = input === undefined ? old?.input : recordable(core, "input", input);
  // Without an input the task gets the payload of the occurrence. For a schedule its form is known.
  // An unchanged task was checked when it was subscribed, so its plugin need not be installed here.
  const mayBeElsewhere = isElsewhere ?? operation === undefined;
  requireTask(core, sessionId, wire, mayBeElsewhere, json, isSchedule(on) ? occasionOf(0) : "later");
  return { kind: "job", operation: wire, wake: end, ...defined({ input: json }) };
}

/** Checks a value that is stored with a subscription. */
const recordable = (core: Core, field: string, value: unknown): Json =>
  recordableJson(core, field, value, (problem) => invalid(field, problem), "trigger");
