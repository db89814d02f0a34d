// Jobs as a model sees them: always short, for any number of jobs and any result.
import type { JobRecord, Jobs, Json } from "../../plugin.ts";
import { TEXTS } from "./texts.ts";

export const isOver = ({ state }: Pick<JobRecord, "state">): boolean => state !== "running" && state !== "idle";

const LABEL_CHARS_MAX = 200;
const LISTED_CHARS_MAX = 300;

/** A job for the model. `chars`: how many characters of its result are shown. */
export function shown(job: JobRecord, chars = LISTED_CHARS_MAX): { readonly [field: string]: Json } {
  const { id, kind, notBefore } = job;
  const isLater = notBefore !== undefined && job.startedAt === undefined && !isOver(job);
  return {
    id,
    label: labelOf(job),
    kind,
    ...outcomeOf(job, chars),
    ...(isLater ? { begins: new Date(notBefore).toISOString() } : {}),
    ...(job.cancel !== undefined && !isOver(job) ? { stopping: true } : {}),
  };
}

export const labelOf = ({ label }: JobRecord): string => cutTo(label, LABEL_CHARS_MAX);

/** The state of a job, with its result or error. */
export function outcomeOf({ state, result, error }: JobRecord, chars: number): { readonly [field: string]: Json } {
  return {
    state,
    ...(result === undefined || result === null ? {} : { result: cutJson(result, chars) }),
    ...(error === undefined ? {} : { error: { code: error.code, message: cutTo(error.message, chars) } }),
  };
}

function cutJson(value: Json, max: number): Json {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= max ? value : cutTo(text, max);
}

function cutTo(text: string, max: number): string {
  if (text.length <= max) return text;
  const cut = text.slice(0, max);
  return TEXTS.cut(cut.isWellFormed() ? cut : cut.slice(0, -1), text.length);
}

// ── Lists ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const LIVE_MAX = 100;
const ENDED_MAX = 20;
const PAGE = 1_000;

/** What `jobs_list` returns. Only one page of jobs is in memory at a time. */
export async function listed(jobs: Jobs): Promise<Json> {
  const live: JobRecord[] = [];
  let liveCount = 0;
  let ended: readonly JobRecord[] = [];
  for (let after: string | undefined; ; ) {
    const page = await jobs.list({ visibility: "managed", after, max: PAGE });
    const open = page.filter((job) => !isOver(job));
    liveCount += open.length;
    live.push(...open.slice(0, LIVE_MAX - live.length));
    const over = [...page.filter(isOver).reverse(), ...ended];
    ended = over.sort((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0)).slice(0, ENDED_MAX);
    after = page.at(-1)?.id;
    if (page.length < PAGE) break;
  }
  const left = liveCount - live.length;
  return {
    live: live.map((job) => shown(job)),
    ended: ended.map((job) => shown(job)),
    ...(left > 0 ? { note: TEXTS.moreLive(left) } : {}),
  };
}

const LINES_MAX = 16;
/** More jobs are read than shown, because agents have their own list and are skipped here. */
const READ_MAX = 128;

/** The jobs that have not ended, one line each, for the prompt. */
export async function linesOf(jobs: Pick<Jobs, "list">): Promise<string> {
  const live = await jobs.list({ isLive: true, visibility: "managed", max: READ_MAX });
  const own = live.filter(({ kind }) => kind !== "subagent");
  const lines = own
    .slice(0, LINES_MAX)
    .map(({ id, kind, state, label }) => `- ${id} (${kind}, ${state}): ${oneLine(label)}`);
  return [...lines, ...(own.length > LINES_MAX || live.length === READ_MAX ? [TEXTS.moreJobs] : [])].join("\n");
}

const LINE_CHARS_MAX = 100;
/** Without this, a label with line breaks could look like several jobs. */
const oneLine = (label: string): string => cutTo(label.replace(/\s+/gu, " ").trim(), LINE_CHARS_MAX);
