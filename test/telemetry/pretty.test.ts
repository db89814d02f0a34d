import { stripVTControlCharacters } from "node:util";
import { defineTool, question, type Span, type TelemetryEvent } from "bowline";
import { type PrettyOptions, pretty } from "bowline/telemetry";
import { calls, says, scripted } from "bowline/testing";
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { open } from "../kit/worlds.ts";
import { INPUT, search, searches } from "./kit.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** The lines of a turn, their times replaced. */
async function shownOf(options: PrettyOptions = {}): Promise<readonly string[]> {
  const lines: string[] = [];
  const telemetry = pretty({ write: (line) => void lines.push(line), ...options });
  await using world = await open(searches(), { tools: [search], telemetry });
  await world.session.turn(INPUT).result();
  return lines.map((line) => line.replace(/[\d.]+ m?s/g, "_").replace(/trn_\w+/, "trn"));
}

test("E4 pretty writes a line for each turn, round, model call and tool call that ends, below what it is a part of", async () => {
  expect(await shownOf()).toEqual([
    "    model follows/test  _  calls · 10 in, 5 out · first _\n",
    "    tool search  _  ok\n",
    "  round 1  _\n",
    "    model follows/test  _  stop · 10 in, 5 out · first _\n",
    "  round 2  _\n",
    "turn trn  _  answered · 20 in, 10 out\n",
  ]);
});

const wide = "漢字と絵文字🎉 ".repeat(40);
const unsafe = "\x1b[2J\x07\u202e\r\n\u2028 and \0 ".repeat(20);

const base = { id: "1", sessionId: "s", turnId: "t", startedAt: 1_000, endedAt: 91_000 } as const;
const spans = (words: string): readonly Span[] => {
  const error = { code: "tool.failed", message: words };
  const call = { id: "c", name: words, input: {} };
  const turn = {
    ...base,
    kind: "turn",
    turnId: words,
    label: words,
    model: words,
    error,
    how: "lost",
  } as never as Span;
  let deep: Span = turn;
  for (let depth = 0; depth < 60; depth++) deep = { ...base, kind: "round", round: depth, parent: deep } as Span;
  return [
    turn,
    deep,
    { ...base, kind: "model", model: words, purpose: words, attempt: 3, parent: turn, error } as never,
    { ...base, kind: "tool", call, attempt: 2, parent: deep, error } as never,
    { ...base, kind: "wait", wants: "question", call, by: words, how: "answered" } as never,
    { ...base, kind: "job", job: "task", operation: words, label: words, state: "failed", error } as never,
  ];
};
const event = (words: string): TelemetryEvent => ({ at: 1, name: words, about: { plugin: words, list: [words] } });

/** As a terminal counts: two columns for each wide character. */
const columnsOf = (line: string): number =>
  Array.from(line).reduce((sum, character) => sum + (character > "\u2e80" ? 2 : 1), 0);

test.each([
  ["long", "a long name ".repeat(30)],
  ["wide", wide],
  ["unsafe", unsafe],
])("E4 no line of pretty has more than 80 columns or a control character: %s names", (_, words) => {
  const lines: string[] = [];
  const listener = pretty({ write: (line) => void lines.push(line) });
  for (const span of spans(words)) listener.end?.(span);
  listener.event?.(undefined, event(words));
  expect(lines).toHaveLength(7);
  for (const line of lines) {
    expect(columnsOf(line.slice(0, -1))).toBeLessThanOrEqual(80);
    expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Bidi_Control}\p{Zl}]/u);
    expect(line.endsWith("\n")).toBe(true);
  }
  expect(lines.some((line) => line.includes("…"))).toBe(true);
});

test("E4 pretty hides what looks like a key in an error", () => {
  const lines: string[] = [];
  const error = { code: "auth", message: "Wrong key sk-1234567890abcdef" };
  const model = { ...base, kind: "model", model: "m", purpose: "turn", attempt: 1, error } as never;
  pretty({ write: (line) => void lines.push(line) }).end?.(model);
  expect(lines.join("")).toContain("auth: Wrong key [hidden]");
});

test("E4 pretty shows waits and events", async () => {
  const lines: string[] = [];
  const size = defineTool({
    name: "size",
    description: "Asks.",
    input: z.object({}),
    execute: () => question(z.string(), { text: "Which?" }),
  });
  const telemetry = pretty({ write: (line) => void lines.push(line) });
  await using world = await open(scripted(calls("size"), says("Done.")), { tools: [size], telemetry });
  const turn = world.session.turn("Go.");
  for await (const progress of turn)
    if (progress.kind === "waiting") await world.runtime.waits.resolve(progress.wait, { value: "M" }, { by: "anna" });
  expect(lines.join("")).toMatch(/^ {4}wait question {2}[\d.]+ ms {2}answered · size · by anna$/m);
  telemetry.event?.(undefined, { at: 1, name: "host.late", about: { event: "returned" } });
  expect(lines.at(-1)).toBe("· host.late  event=returned\n");
});

/** What goes to stderr if that is a terminal, or not. */
function written(isTTY: boolean): string {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const before = Object.getOwnPropertyDescriptor(process.stderr, "isTTY");
  Object.defineProperty(process.stderr, "isTTY", { value: isTTY, configurable: true });
  pretty().end?.({ ...base, kind: "round", round: 1 } as Span);
  if (before === undefined) Reflect.deleteProperty(process.stderr, "isTTY");
  else Object.defineProperty(process.stderr, "isTTY", before);
  return write.mock.calls.map(([words]) => String(words)).join("");
}

test("E4 pretty has colours on a terminal only, and not with NO_COLOR", () => {
  vi.stubEnv("TERM", "xterm");
  vi.stubEnv("NO_COLOR", "");
  expect(written(false)).toBe("round 1  90.0 s  \n".replace(/ +\n/, "\n"));
  vi.restoreAllMocks();
  const coloured = written(true);
  expect(coloured).not.toBe(stripVTControlCharacters(coloured));
  vi.restoreAllMocks();
  vi.stubEnv("NO_COLOR", "1");
  expect(written(true)).toBe("round 1  90.0 s\n");
});

test("E4 pretty writes colours elsewhere only if they are asked for", async () => {
  expect((await shownOf({ color: true })).join("")).toContain("\x1b[");
  expect((await shownOf()).join("")).not.toContain("\x1b[");
});
