import type { Runtime } from "../index.ts";
import type { TurnDetails, TurnTimeline } from "../model/turn-record.ts";
import { wrapped } from "./columns.ts";
import { shownPlace } from "./database-file.ts";
import { EXIT, type Io, UsageError } from "./io.ts";
import { type LookSettings, warnOfUnpriced, withRuntime } from "./look.ts";
import { painter } from "./print.ts";
import { sessionLines, sessionOf } from "./show-session.ts";
import { turnHead } from "./show-turn.ts";
import { faultOf, jsonFor, messageOf, oneLine, textFor } from "./text.ts";
import { timelineLines } from "./timeline.ts";
import { widthFor } from "./turns.ts";

/** `bowline show <id>`: one turn with its timeline, or one session. */
export async function show(io: Io, settings: LookSettings, words: readonly string[]): Promise<number> {
  const [id = "", ...others] = words;
  if (id === "" || others.length > 0)
    throw new UsageError(
      "show takes one id, of a turn or of a session.",
      "bowline turns and bowline sessions list the ids.",
    );
  const shown = await withRuntime(io, settings, async (runtime) => {
    const found = await findById(runtime, id.replace(/…$/, ""));
    if (found === undefined) return undefined;
    return found.kind === "turn" ? turnOf(io, settings, runtime, found.turnId) : sessionOf(runtime, found.sessionId);
  });
  if (shown === undefined) throw unknownId(id, await shownPlace(io, settings.db));
  warnOfUnpriced(io, settings, "turn" in shown ? [shown.turn] : shown.turns);
  if (settings.json) io.stdout.write(`${jsonFor(settings, shown, 2)}\n`);
  else
    io.stdout.write(
      `${("turn" in shown ? turnLines(io, settings, shown) : sessionLines(io, settings, shown)).join("\n")}\n`,
    );
  return "problem" in shown && shown.problem?.code !== NOT_KEPT ? EXIT.failed : EXIT.ok;
}

const unknownId = (id: string, place: string): Error =>
  Object.assign(new Error(`There is no turn or session ${JSON.stringify(id)} in ${place} [turn.unknown].`), {
    code: "turn.unknown",
    hint: "bowline turns and bowline sessions list the ids.",
  });

// ── The id ──────────────────────────────────────────────────────────────────────────────────────────────────────────

type Found =
  | { readonly kind: "turn"; readonly turnId: string }
  | { readonly kind: "session"; readonly sessionId: string };

/** Finds a turn or a session by its id, or by the beginning of an id that is unique among the latest ids. */
async function findById(runtime: Runtime, id: string): Promise<Found | undefined> {
  if (await isThere(runtime.turns.get(id), "turn.unknown")) return { kind: "turn", turnId: id };
  if (await isThere(runtime.sessions.get(id), "session.unknown")) return { kind: "session", sessionId: id };
  if (id.length < BEGINNING) return undefined;
  const found: Found[] = [];
  const isIt = (other: string): boolean => [id, `trn_${id}`, `ses_${id}`].some((start) => other.startsWith(start));
  for await (const { id } of paged((after) => runtime.turns.list({ max: PAGE, after })))
    if (isIt(id)) found.push({ kind: "turn", turnId: id });
  for await (const { id } of paged((before) => runtime.sessions.list({ order: "activity", max: PAGE, before })))
    if (isIt(id)) found.push({ kind: "session", sessionId: id });
  if (found.length < 2) return found[0];
  const ids = found.slice(0, SHOWN).map((each) => (each.kind === "turn" ? each.turnId : each.sessionId));
  const more = found.length > ids.length ? ` and ${found.length - ids.length} more` : "";
  throw new UsageError(
    `${JSON.stringify(id)} is the beginning of ${found.length} ids: ${ids.join(", ")}${more}.`,
    "Use a longer part of the id.",
  );
}

const BEGINNING = 4;
const PAGE = 1_000;
const PAGES = 10;
const SHOWN = 5;

async function isThere(asked: Promise<unknown>, unknown: string): Promise<boolean> {
  try {
    await asked;
    return true;
  } catch (error) {
    if (faultOf(error).code === unknown) return false;
    throw error;
  }
}

async function* paged<T extends { readonly cursor: string }>(
  list: (cursor: string | undefined) => Promise<readonly T[]>,
): AsyncGenerator<T> {
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const found = await list(cursor);
    yield* found;
    if (found.length < PAGE) return;
    cursor = found.at(-1)?.cursor;
  }
}

// ── A turn ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const NOT_KEPT = "turn.no-journal";

/** The output of `--json`. */
interface ShownTurn {
  readonly turn: TurnDetails;
  readonly timeline?: TurnTimeline;
  /** Why there is no timeline. */
  readonly problem?: {
    readonly code?: string | undefined;
    readonly message: string;
    readonly hint?: string | undefined;
  };
}

async function turnOf(io: Io, settings: LookSettings, runtime: Runtime, id: string): Promise<ShownTurn> {
  const shown = await readTurn(runtime, id);
  if (shown.timeline === undefined || shown.timeline.isExact) return shown;
  // The turn may have run in code mode, whose plugins are loaded only for such turns.
  const inCode = await withRuntime(io, settings, (other) => readTurn(other, id), "code");
  return inCode.timeline?.isExact ? inCode : shown;
}

async function readTurn({ turns }: Runtime, id: string): Promise<ShownTurn> {
  const turn = await turns.get(id);
  try {
    return { turn, timeline: await turns.timeline(id) };
  } catch (error) {
    return { turn, problem: { ...faultOf(error), message: messageOf(error) } };
  }
}

function turnLines(io: Io, settings: LookSettings, { turn, timeline, problem }: ShownTurn): readonly string[] {
  const [width, paint, text] = [widthFor(io), painter(io), textFor(settings)];
  const lines = [...turnHead(turn, settings, width, paint), ""];
  if (timeline === undefined) {
    const { code, message = "", hint } = problem ?? {};
    const isNotKept = code === NOT_KEPT;
    lines.push(...wrapped(oneLine(isNotKept || hint === undefined ? message : `${message} ${hint}`, text), width));
    return lines;
  }
  const isMoving = turn.state === "running" || turn.state === "waiting";
  lines.push(...timelineLines(timeline, { settings, width, paint, now: isMoving ? Date.now() : undefined }));
  if (!timeline.isExact)
    lines.push(
      "",
      ...wrapped(
        "The times are the times of the journal's events, because this version has no protocol or plugins that can follow them.",
        width,
      ),
    );
  return lines;
}
