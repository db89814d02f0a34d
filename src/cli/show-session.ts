import type { PendingWait, Runtime, SessionSummary } from "../index.ts";
import type { TurnRecord } from "../model/turn-record.ts";
import { fit, price, since, table } from "./columns.ts";
import type { Io } from "./io.ts";
import { type LookSettings, NO_MODEL_NAME } from "./look.ts";
import { ago, counted, painter, tokens, waitedFor } from "./print.ts";
import { type Field, fieldLines, time } from "./show-turn.ts";
import { oneLine, textFor } from "./text.ts";
import { shortener, turnTable, widthFor } from "./turns.ts";

type Details = Awaited<ReturnType<Runtime["sessions"]["get"]>>;

/** The output of `--json`. */
interface ShownSession {
  readonly session: Omit<Details, "modelMismatch">;
  /** The latest ones. */
  readonly turns: readonly TurnRecord[];
  /** In this session and below it. */
  readonly waits: readonly PendingWait[];
  /** The latest ones. */
  readonly children: readonly SessionSummary[];
}

const TURNS = 10;
const CHILDREN = 10;

export async function sessionOf(runtime: Runtime, id: string): Promise<ShownSession> {
  const [session, turns, waits, children] = await Promise.all([
    runtime.sessions.get(id),
    runtime.turns.list({ session: id, max: TURNS }),
    runtime.waits.list({ tree: id }),
    runtime.sessions.list({ parent: id, order: "activity", max: CHILDREN }),
  ]);
  // The processes that run the session may have another default model than this process.
  const { modelMismatch: _, ...own } = session;
  const { model, ...config } = session.config;
  return {
    session: { ...own, config: model === NO_MODEL_NAME ? (config as Details["config"]) : session.config },
    turns,
    waits,
    children,
  };
}

export function sessionLines(io: Io, settings: LookSettings, shown: ShownSession): readonly string[] {
  const { session, turns, waits, children } = shown;
  const [width, paint, text] = [widthFor(io), painter(io), textFor(settings)];
  const lines: string[] = [paint("bold", fit(oneLine(`Session ${session.id}`, text), width))];
  const add = (head: string, of: readonly string[]): void => {
    if (of.length > 0) lines.push("", paint("bold", head), ...of.map((line) => `  ${line}`));
  };
  lines.push(...fieldLines(fieldsOf(shown, settings.prices), settings, width, paint));
  if (turns.length > 0) {
    const isAll = turns.length < TURNS || session.turns <= TURNS;
    add(isAll ? "Turns" : `The latest ${TURNS} turns`, turnTable(turns, width - 2, settings));
  }
  add(
    "Open waits",
    waits.map((wait) => {
      const where = wait.sessionId === session.id ? "" : `${wait.sessionId}: `;
      const words = oneLine(where + waitedFor(wait), text);
      return settings.full ? words : fit(words, width - 2);
    }),
  );
  if (children.length > 0)
    add(
      children.length < CHILDREN ? "Children" : `The latest ${CHILDREN} children`,
      childTable(children, width - 2, text),
    );
  return lines;
}

function fieldsOf({ session, turns }: ShownSession, prices: string | undefined): readonly Field[] {
  const { owner, tags, parentId, origin, createdAt, usage, cost, config } = session;
  const open = turns.find(({ state }) => state !== "ended" && state !== "queued");
  const latest = turns.find(({ startedAt, endedAt }) => (endedAt ?? startedAt) !== undefined);
  const activeAt = latest?.endedAt ?? latest?.startedAt ?? createdAt;
  const from = origin && `${origin.sessionId}${origin.at === undefined ? "" : ` at ${origin.at}`}`;
  return [
    ["state", open?.state ?? "idle"],
    ["owner", owner],
    ["tags", tags === undefined || tags.length === 0 ? undefined : tags.join(", ")],
    ["label", config.label],
    ["parent", parentId],
    ["fork of", from],
    ["used", `${counted(session.turns, "turn")}, ${tokens(usage)}`],
    ["cost", price(cost, prices) || undefined],
    ["created", `${time(createdAt)} (${ago(createdAt)})`],
    ["active", `${time(activeAt)} (${ago(activeAt)})`],
  ];
}

function childTable(
  children: readonly SessionSummary[],
  width: number,
  text: (words: string) => string,
): readonly string[] {
  const now = Date.now();
  const shorten = shortener(children.map(({ id }) => id));
  const cells = (cellOf: (child: SessionSummary) => string): readonly string[] =>
    children.map((child) => oneLine(cellOf(child), text));
  return table(
    [
      { head: "session", cells: cells(({ id }) => shorten(id)), least: 10 },
      { head: "active", cells: cells(({ activeAt }) => `${since(activeAt, now)} ago`) },
      { head: "state", cells: cells(({ state }) => state) },
      { head: "turns", cells: cells(({ turns }) => String(turns)), isRight: true },
      { head: "last words", cells: cells(({ lastWords = "" }) => lastWords), least: 10 },
    ],
    width,
  );
}
