// Monitors as a model sees them: always short, for any output of the commands.
import type { JobRecord, Jobs, Json, MonitorStatus } from "../../plugin.ts";
import { TEXTS } from "./texts.ts";

const LABEL_CHARS_MAX = 200;
const LINE_CHARS_MAX = 500;

export function shown({ id, label, state, lines, lastLine, exitCode, error }: MonitorStatus): {
  readonly [field: string]: Json;
} {
  return {
    id,
    label: cutTo(label, LABEL_CHARS_MAX),
    state,
    ...(state === "starting" ? { note: TEXTS.begins } : { lines }),
    ...(lastLine === undefined ? {} : { lastLine: cutTo(lastLine, LINE_CHARS_MAX) }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(error === undefined ? {} : { error: { code: error.code, message: cutTo(error.message, LINE_CHARS_MAX) } }),
  };
}

// ── The prompt ──────────────────────────────────────────────────────────────────────────────────────────────────────

const LISTED_MAX = 16;
const LISTED_CHARS_MAX = 100;

/** The monitors that run, one line each. A prompt hook cannot read monitors, but it can read their jobs. */
export async function linesOf(jobs: Pick<Jobs, "list">): Promise<string> {
  const live = await jobs.list({ kind: "monitor", isLive: true, max: LISTED_MAX + 1 });
  const lines = live.slice(0, LISTED_MAX).flatMap((job) => lineOf(job) ?? []);
  return [...lines, ...(live.length > LISTED_MAX ? [TEXTS.moreMonitors] : [])].join("\n");
}

/** Undefined for a job of the app with the kind `monitor`: these tools cannot stop it. */
function lineOf({ input, label, wake }: JobRecord): string | undefined {
  const { id } = (input ?? {}) as { readonly id?: Json };
  return typeof id === "string" ? `- ${oneLine(id)} (${wake}): ${oneLine(label)}` : undefined;
}

/** Without this, a text with line breaks could look like several monitors. */
const oneLine = (text: string): string => cutTo(text.replace(/\s+/gu, " ").trim(), LISTED_CHARS_MAX);

function cutTo(text: string, max: number): string {
  if (text.length <= max) return text;
  const cut = text.slice(0, max);
  return TEXTS.cut(cut.isWellFormed() ? cut : cut.slice(0, -1), text.length);
}
