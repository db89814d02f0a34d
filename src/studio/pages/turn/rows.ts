// The rows of a timeline: rounds with their items. Hooks that only passed are one row of their round.
import { count, firstWords, shortJson, tokensOf } from "../../format.ts";
import type { TimelineItem, TurnTimeline } from "../../types.ts";
import type { Interval } from "./scale.ts";

export type Of<Kind extends TimelineItem["kind"]> = Extract<TimelineItem, { readonly kind: Kind }>;

export interface Round extends Interval {
  readonly round: number;
  readonly items: readonly Keyed[];
  readonly tokens: number;
}
/** An item with a name that stays the same while the turn grows. */
export interface Keyed {
  readonly key: string;
  readonly item: TimelineItem;
  /** Calls of code and of a batch are inside another call. */
  readonly depth: number;
}
export type Row =
  | { readonly kind: "round"; readonly key: string; readonly round: Round; readonly isOpen: boolean }
  | { readonly kind: "item"; readonly key: string; readonly one: Keyed }
  | { readonly kind: "hooks"; readonly key: string; readonly all: readonly Keyed[]; readonly isOpen: boolean };

export const endOf = (item: TimelineItem, now: number): number => {
  const end = item.endedAt ?? now;
  return Math.max(item.startedAt, item.kind === "model" ? end + (item.waitedMs ?? 0) : end);
};

/** Where nothing has an end yet, the turn is open until now. */
export function wholeOf({ startedAt, endedAt, isOpen, items }: TurnTimeline, now: number): Interval {
  const latest = items.reduce((most, item) => Math.max(most, endOf(item, endedAt)), endedAt);
  return { from: startedAt, to: isOpen ? Math.max(latest, now) : latest };
}

export function keyed(items: readonly TimelineItem[]): readonly Keyed[] {
  const seen = new Map<string, number>();
  return items.map((item) => {
    const attempt = item.kind === "model" ? `.${item.attempt}` : "";
    const name = item.effect === "" ? item.kind : `${item.effect}${attempt}`;
    const nth = seen.get(name) ?? 0;
    seen.set(name, nth + 1);
    return { key: nth === 0 ? name : `${name}~${nth}`, item, depth: depthOf(item) };
  });
}

function depthOf({ effect }: TimelineItem): number {
  const calls = effect.match(/\.call\.\d+/g)?.length ?? 0;
  return Math.max(0, calls + (effect.includes(".exec.") ? 1 : 0) - 1);
}

export function roundsOf(all: readonly Keyed[], now: number): readonly Round[] {
  const rounds = new Map<number, Keyed[]>();
  for (const each of all) {
    const own = rounds.get(each.item.round);
    if (own === undefined) rounds.set(each.item.round, [each]);
    else own.push(each);
  }
  return [...rounds].map(([round, items]) => ({
    round,
    items,
    from: items.reduce((least, { item }) => Math.min(least, item.startedAt), Number.POSITIVE_INFINITY),
    to: items.reduce((most, { item }) => Math.max(most, endOf(item, now)), 0),
    tokens: items.reduce((sum, { item }) => sum + (item.kind === "model" ? tokensOf(item.usage) : 0), 0),
  }));
}

/** A hook that took less than this and changed nothing is one of many. */
const HOOK_MS = 50;

/** Whether a reader looks for this hook: it decided, changed or broke something, or took its time. */
function isNotable(item: TimelineItem): boolean {
  if (item.kind !== "hooks") return true;
  const { verdicts = [], abort, inputs, isFrame, changes, jobs, error, startedAt, endedAt } = item;
  if (abort !== undefined || error !== undefined || isFrame || (inputs ?? 0) > 0) return true;
  if (changes !== undefined || jobs !== undefined || verdicts.some(({ verdict }) => verdict !== "pass")) return true;
  return endedAt === undefined || endedAt - startedAt >= HOOK_MS;
}

/** `closed`: rounds that show no items. `opened`: rounds that show all their hooks. */
export function rowsOf(
  rounds: readonly Round[],
  closed: ReadonlySet<number>,
  opened: ReadonlySet<number>,
): readonly Row[] {
  return rounds.flatMap((round): readonly Row[] => {
    const isOpen = !closed.has(round.round);
    const head: Row = { kind: "round", key: `round ${round.round}`, round, isOpen };
    if (!isOpen) return [head];
    const asRow = (one: Keyed): Row => ({ kind: "item", key: one.key, one });
    const quiet = round.items.filter(({ item }) => !isNotable(item));
    if (quiet.length === 0) return [head, ...round.items.map(asRow)];
    const hasHooks = opened.has(round.round);
    const shown = hasHooks ? round.items : round.items.filter(({ item }) => isNotable(item));
    return [
      head,
      ...shown.map(asRow),
      { kind: "hooks", key: `hooks ${round.round}`, all: quiet, isOpen: hasHooks } as const,
    ];
  });
}

type Tone = "ok" | "bad" | "off";

/** How an item ended, for its colour: a cancel is not a failure. */
export function toneOf(item: TimelineItem): Tone {
  switch (item.kind) {
    case "model":
      if (item.failure?.startsWith("cancelled")) return "off";
      return item.failure === undefined && item.error === undefined ? "ok" : "bad";
    case "tool":
      if (item.output?.kind === "cancelled") return "off";
      return item.isInterrupted || (item.output !== undefined && item.output.kind !== "value") ? "bad" : "ok";
    case "cell":
      return item.error === undefined && (item.state === undefined || item.state === "done") ? "ok" : "bad";
    case "hooks":
      return item.abort === undefined && item.error === undefined ? "ok" : "bad";
    case "cancelled":
      return "bad";
    default:
      return item.error === undefined ? "ok" : "bad";
  }
}

/** Its colour on the page. */
export const kindOf = (item: TimelineItem): string =>
  (
    ({ model: "model", tool: "tool", hooks: "hook", cell: "cell", wait: "wait", sleep: "wait" }) as {
      [kind: string]: string;
    }
  )[item.kind] ?? "other";

const WANTED: { readonly [wants: string]: string } = {
  approval: "Approval of",
  interrupted: "Leave to repeat",
  question: "Answer to",
  result: "Result of",
  turns: "Other turns or jobs",
};
const STAGES: { readonly [stage: string]: string } = {
  prepare: "Before the model",
  respond: "After the reply",
  gate: "Before calls",
  settle: "After calls",
  boundary: "Boundary",
  compact: "Compaction",
  finalize: "End of the turn",
};

/** What an item is, in a few words. */
export function nameOf(item: TimelineItem): string {
  switch (item.kind) {
    case "model":
      return item.model.slice(item.model.indexOf("/") + 1);
    case "tool":
      return item.call.name;
    case "hooks":
      return STAGES[item.stage] ?? item.stage;
    case "cell":
      return item.isDelivery ? "Code continues" : "Code";
    case "wait":
      return `${WANTED[item.wants] ?? item.wants}${item.call === undefined ? "" : ` ${item.call.name}`}`;
    case "sleep":
      return "Sleep";
    case "resumed":
      return "Resumed";
    case "cancelled":
      return "Cancelled";
    case "operation":
      return item.operation;
    case "event":
      return item.event;
  }
}

/** What else a row shows of it. */
export function noteOf(item: TimelineItem): string {
  const attempt = "attempt" in item && item.attempt > 1 ? `attempt ${item.attempt}` : "";
  const changed = item.changes === undefined ? "" : `changed ${Object.keys(item.changes).join(", ")}`;
  const notes = [attempt, ...kindNotes(item), item.error?.code ?? "", changed];
  return notes.filter((each) => each !== "").join(" · ");
}

/** More of its arguments is in the details of a call. */
const NOTE_MAX = 120;

function kindNotes(item: TimelineItem): readonly string[] {
  switch (item.kind) {
    case "model":
      return [item.failure?.split(":")[0] ?? "", tokensOf(item.usage) === 0 ? "" : tokenNote(item.usage!)];
    case "tool":
      if (item.isDeferred) return ["deferred"];
      if (item.isInterrupted) return ["interrupted by a crash"];
      return [
        item.output === undefined || item.output.kind === "value" ? "" : item.output.kind,
        firstWords(shortJson(item.call.input), NOTE_MAX),
      ];
    case "hooks": {
      const judged = (item.verdicts ?? []).filter(({ verdict }) => verdict !== "pass");
      const inputs = (item.inputs ?? 0) > 0 ? `took ${item.inputs} inputs` : "";
      return [...judged.map(({ name, verdict }) => `${name}: ${verdict}`), inputs, item.isFrame ? "new frame" : ""];
    }
    case "wait":
      return [item.how === undefined ? "" : item.by === undefined ? item.how : `${item.how} by ${item.by}`];
    case "cell":
      return [item.state ?? ""];
    case "resumed":
      return [processIn(item.by)];
    case "cancelled":
      return [item.reason];
    default:
      return [];
  }
}

const tokenNote = (usage: NonNullable<Of<"model">["usage"]>): string =>
  `${count(usage.input + usage.cacheRead + usage.cacheWrite)} → ${count(usage.output + usage.reasoning)} tokens`;

/** Why a process resumed the turn. A resume in the middle of work follows a crash; otherwise the turn only waited. */
export function whyResumed(item: Of<"resumed">, all: readonly Keyed[]): "crash" | "fault" | "wait" {
  if (item.isFault) return "fault";
  const { startedAt: at } = item;
  const isCut = all.some(({ item: { kind, startedAt, endedAt } }) => {
    const isWork = kind === "model" || kind === "tool" || kind === "cell" || kind === "hooks";
    return isWork && startedAt < at && (endedAt === undefined || endedAt > at);
  });
  return isCut ? "crash" : "wait";
}

/** `process 7 on host` of a process's name, which has the form `host/boot/pid/start`. */
export function processIn(name: string | undefined): string {
  if (name === undefined) return "";
  const [, host, pid] = /^(.*?)\/(?:[^/]*\/)?(\d+)(?:\/[^/]*)?$/.exec(name) ?? [];
  return pid === undefined ? name : `process ${pid} on ${host}`;
}
