// The lines of a turn's timeline: each item with its duration and a bar.
import { textOf } from "../model/message.ts";
import type { RecordedRound, TimelineItem, TurnTimeline } from "../model/turn-record.ts";
import { tokensIn } from "../model/usage.ts";
import { bar, fit, lasting, padded, short, widthOf } from "./columns.ts";
import type { LookSettings } from "./look.ts";
import type { Paint } from "./print.ts";
import { jsonFor, oneLine, textFor } from "./text.ts";

export interface TimelineStyle {
  readonly settings: LookSettings;
  readonly width: number;
  readonly paint: Paint;
  /** Where the bars of an open turn end. */
  readonly now?: number | undefined;
}
type Of<Kind extends TimelineItem["kind"]> = Extract<TimelineItem, { readonly kind: Kind }>;
type Show = (value: unknown) => string;

const TIME = 7;

export function timelineLines(timeline: TurnTimeline, style: TimelineStyle): readonly string[] {
  const { items, rounds, startedAt } = timeline;
  const { settings, width, paint } = style;
  const latest = items.reduce((latest, each) => Math.max(latest, each.endedAt ?? each.startedAt), timeline.endedAt);
  const whole = { from: startedAt, to: Math.max(latest, style.now ?? latest) };
  const cells = width < 64 ? 10 : Math.min(40, Math.floor(width / 4));
  const room = width - cells - TIME - 2;
  const lines: string[] = [];
  let round = 0;
  for (const item of items) {
    if (item.round !== round) {
      round = item.round;
      lines.push(paint("bold", `round ${round}`));
      const shown = rounds.find((each) => each.round === round);
      if (settings.full && shown !== undefined)
        lines.push(
          ...promptLines(
            shown,
            rounds.find((each) => each.round === round - 1),
            settings,
          ),
        );
    }
    const indent = " ".repeat(2 + 2 * depthOf(item));
    const end = item.endedAt ?? whole.to;
    const isOpen = item.endedAt === undefined && item.kind !== "wait" && item.kind !== "sleep";
    const standing = isOpen ? (style.now === undefined ? "unfinished" : "running") : undefined;
    const label = indent + labelOf(item, room - indent.length, settings, standing);
    // A mark has no duration. The time when a process died is not recorded.
    const time = isMark(item) || standing === "unfinished" ? "" : lasting(end - item.startedAt);
    const drawn = bar(item.startedAt, end, whole, cells, FILL[item.kind]);
    lines.push(`${padded(fit(label, room), room)} ${time.padStart(TIME)} ${paint(toneOf(item), drawn)}`.trimEnd());
    if (settings.full) lines.push(...fullLines(item, `${indent}  `, settings));
  }
  return lines;
}

const isMark = ({ kind, startedAt, endedAt }: TimelineItem): boolean =>
  (kind === "resumed" || kind === "cancelled") && endedAt === startedAt;

/** Work time is dark, and waiting time is light. */
const FILL: { readonly [kind in TimelineItem["kind"]]?: string } = {
  wait: "░",
  sleep: "░",
  resumed: "!",
  cancelled: "!",
};

function toneOf(item: TimelineItem): "red" | "yellow" | "cyan" | "dim" {
  const isFailed = item.error !== undefined || (item.kind === "model" && item.failure !== undefined);
  if (isFailed || (item.kind === "tool" && item.output?.kind === "failure")) return "red";
  if (item.kind === "resumed" || item.kind === "cancelled") return "red";
  if (item.kind === "wait" || item.kind === "sleep") return "yellow";
  return item.kind === "hooks" ? "dim" : "cyan";
}

/** Calls of code and of a batch are inside another call. */
function depthOf({ effect }: TimelineItem): number {
  const calls = effect.match(/\.call\.\d+/g)?.length ?? 0;
  return Math.max(0, calls + (effect.includes(".exec.") ? 1 : 0) - 1);
}

// ── One line ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** An item in one line of this width. */
function labelOf(item: TimelineItem, room: number, settings: LookSettings, standing: string | undefined): string {
  const text = textFor(settings);
  const show: Show = (value) => oneLine(typeof value === "string" ? value : jsonFor(settings, value), text);
  const line = (parts: readonly string[]): string => parts.map((part) => oneLine(part, text)).join("  ");
  const notes = [...(standing === undefined || item.kind === "tool" ? [] : [standing]), ...notesOf(item)];
  const after = notes.length === 0 ? "" : `  ${line(notes)}`;
  if (item.kind === "tool") return toolLabel(item, room, show, standing, after);
  if (item.kind === "wait") return waitLabel(item, room, show, after);
  if (item.kind === "model") return modelLabel(oneLine(item.model, text), line([...modelParts(item), ...notes]), room);
  return fit(line([...partsOf(item), ...notes]), room);
}

/** If there is no room, the name of the model is shortened, because the head of the turn has it in full. */
function modelLabel(model: string, rest: string, room: number): string {
  const label = (name: string): string => `model ${name}${rest === "" ? "" : `  ${rest}`}`;
  const whole = label(model);
  if (widthOf(whole) <= room) return whole;
  const name = model.slice(model.indexOf("/") + 1);
  return fit(label(fit(name, Math.max(NAME_LEAST, room - widthOf(label(""))))), room);
}
const NAME_LEAST = 10;

function partsOf(item: Exclude<TimelineItem, Of<"model" | "tool" | "wait">>): readonly string[] {
  switch (item.kind) {
    case "hooks":
      return hooksParts(item);
    case "cell": {
      const end = item.state === undefined ? "" : ` -> ${item.state}`;
      return [`code${item.isDelivery ? " continues" : ""} ${item.code.trim()}${end}`];
    }
    case "sleep":
      return [`sleep of ${lasting(item.until - item.startedAt)}`];
    case "resumed": {
      const by = item.by === undefined ? "" : ` by ${processIn(item.by)}`;
      return [`resumed${by}${item.isFault ? " after an error of its store" : ""}`];
    }
    case "cancelled":
      return [`cancelled: ${item.reason}`];
    case "operation":
      return [`operation ${item.operation}`];
    case "event":
      return [`${item.event} (${item.effect})`];
  }
}

function modelParts({ attempt, firstMs, usage, finish, failure, waitedMs, error }: Of<"model">): readonly string[] {
  const parts: string[] = [];
  if (attempt > 1) parts.push(`attempt ${attempt}`);
  if (firstMs !== undefined) parts.push(`first ${lasting(firstMs)}`);
  if (usage !== undefined && tokensIn(usage) > 0) {
    const { input, cacheRead, cacheWrite, output, reasoning } = usage;
    parts.push(`${short(input + cacheRead + cacheWrite)} -> ${short(output + reasoning)} tokens`);
  }
  if (finish !== undefined && finish !== "stop" && finish !== "calls") parts.push(`ended: ${finish}`);
  if (failure !== undefined && error === undefined) parts.push(failure);
  if (waitedMs !== undefined) parts.push(`again after ${lasting(waitedMs)}`);
  return parts;
}

function hooksParts({ stage, verdicts = [], inputs, isFrame, abort }: Of<"hooks">): readonly string[] {
  const judged = verdicts.map(({ name, verdict, plugin, reason }) => {
    const by = plugin === undefined ? "" : ` by ${plugin}`;
    return `${name}: ${verdict}${by}${reason === undefined ? "" : ` (${reason})`}`;
  });
  const parts = [`hooks ${stage}`];
  if (judged.length > 0) parts.push(judged.join(", "));
  if (abort !== undefined) parts.push(`${abort.plugin} ended the turn: ${abort.message} [${abort.code}]`);
  if (inputs !== undefined) parts.push(`took ${inputs} input${inputs === 1 ? "" : "s"}`);
  if (isFrame) parts.push("new frame");
  return parts;
}

/** Notes about an effect: its error, its state changes and its jobs. */
function notesOf({ error, changes = {}, jobs = [] }: TimelineItem): readonly string[] {
  const changed = Object.keys(changes);
  return [
    ...(error === undefined
      ? []
      : [`failed${error.plugin === undefined ? "" : ` in ${error.plugin}`} [${error.code}]: ${error.message}`]),
    ...(changed.length === 0 ? [] : [`changed ${changed.join(", ")}`]),
    ...(jobs.length === 0 ? [] : [`started ${jobs.join(", ")}`]),
  ];
}

function toolLabel(item: Of<"tool">, room: number, show: Show, standing: string | undefined, notes: string): string {
  const { call, attempt } = item;
  const name = `tool ${show(call.name)}${attempt > 1 ? ` (attempt ${attempt})` : ""}`;
  return inRoom(name, show(call.malformed ?? call.input), `${resultOf(item, show, standing)}${notes}`, room);
}

function resultOf({ output, isDeferred, isInterrupted }: Of<"tool">, show: Show, standing: string | undefined): string {
  if (isDeferred) return " -> deferred";
  if (isInterrupted) return " -> interrupted by a crash";
  if (output === undefined) return standing === undefined ? "" : ` -> ${standing}`;
  switch (output.kind) {
    case "value":
      return ` -> ${show(output.value)}`;
    case "failure":
      return ` -> failed: ${show(output.failure.message)} [${show(output.failure.code)}]`;
    default:
      return ` -> ${output.kind}: ${show(output.reason)}`;
  }
}

export const WANTED = {
  approval: "approval of",
  interrupted: "permission to repeat",
  question: "answer to",
  result: "result of",
  turns: "for other turns or jobs",
} as const;

function waitLabel(item: Of<"wait">, room: number, show: Show, notes: string): string {
  const { call, wants, until, how } = item;
  const what = `wait ${WANTED[wants]}${call === undefined ? "" : ` ${show(call.name)}`}`;
  const left = until - Date.now();
  const end = how === undefined ? `open${left > 0 ? `, ${lasting(left)} left` : ""}` : answerOf(item, show);
  return inRoom(what, call === undefined ? "" : show(call.input), ` -> ${end}${notes}`, room, ARGUMENTS_LEAST);
}

export function answerOf({ how, by, until }: Pick<Of<"wait">, "how" | "by" | "until">, show: Show): string {
  if (how === undefined) return `open until ${new Date(until).toISOString().slice(0, 16)}Z`;
  return how === "timeout" ? "nobody answered in time" : `${how}${by === undefined ? "" : ` by ${show(by)}`}`;
}

/** The arguments of a wait can be cut to this length, because the name of the person who answered matters more. */
const ARGUMENTS_LEAST = 6;

/**
 * `name arguments -> result` in one line. If both are long, the arguments get `least` columns of the rest, or half of
 * it.
 */
function inRoom(name: string, input: string, result: string, room: number, least?: number): string {
  const left = room - widthOf(name) - 1;
  const forInput = Math.max(left - widthOf(result), least ?? Math.floor(left / 2));
  const start = input === "" ? name : `${name} ${fit(input, Math.max(forInput, 0))}`;
  return start + fit(result, Math.max(room - widthOf(start), 0));
}

/** `process 7 on host` of a process's name, which has the form `host/boot/pid/start`. */
export function processIn(name: string): string {
  const [, host, pid] = /^(.*?)\/(?:[^/]*\/)?(\d+)(?:\/[^/]*)?$/.exec(name) ?? [];
  return pid === undefined ? name : `process ${pid} on ${host}`;
}

// ── All of it ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** The prompt and the tools of a round, if they differ from those of the previous round. */
function promptLines(
  { prompt, tools, tail }: RecordedRound,
  before: RecordedRound | undefined,
  settings: LookSettings,
): readonly string[] {
  const names = (round: RecordedRound | undefined): string => (round?.tools ?? []).map(({ name }) => name).join(", ");
  return [
    ...(prompt === undefined || prompt === before?.prompt ? [] : block("prompt", prompt, "  ", settings)),
    ...(tools === undefined || names({ tools } as RecordedRound) === names(before)
      ? []
      : block("tools", names({ tools } as RecordedRound), "  ", settings)),
    ...(tail === undefined ? [] : block("after the conversation", tail, "  ", settings)),
  ];
}

function fullLines(item: TimelineItem, indent: string, settings: LookSettings): readonly string[] {
  const all = (name: string, value: unknown): readonly string[] =>
    value === undefined
      ? []
      : block(name, typeof value === "string" ? value : jsonFor(settings, value, 2), indent, settings);
  switch (item.kind) {
    case "model": {
      const calls = (item.parts ?? []).flatMap((part) =>
        part.kind === "toolCall" ? [`${part.name} ${jsonFor(settings, part.malformed ?? part.input)}`] : [],
      );
      const thoughts = (item.parts ?? []).flatMap((part) => (part.kind === "reasoning" ? [part.text] : []));
      return [
        ...all("reasoning", thoughts.join("\n") || undefined),
        ...all("text", textOf(item.parts ?? []) || undefined),
        ...all("calls", calls.join("\n") || undefined),
      ];
    }
    case "tool": {
      const { call, output } = item;
      const result =
        output?.kind === "value" ? output.value : output?.kind === "failure" ? output.failure : output?.reason;
      return [...all("arguments", call.malformed ?? call.input), ...all("result", result)];
    }
    case "wait":
      return [...all("arguments", item.call?.input), ...all("reason", item.reason || undefined)];
    case "cell":
      return all("code", item.code);
    default:
      return [];
  }
}

/** A name and the text below it, line by line. */
function block(name: string, words: string, indent: string, settings: LookSettings): readonly string[] {
  const lines = textFor(settings)(words).split("\n");
  return lines.length === 1
    ? [`${indent}${name}: ${lines[0]}`]
    : [`${indent}${name}:`, ...lines.map((line) => `${indent}  ${line}`)];
}
