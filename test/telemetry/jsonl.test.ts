import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import type { Span } from "bowline";
import { jsonl } from "bowline/telemetry";
import { expect, test } from "vitest";
import { eventually, within } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { open } from "../kit/worlds.ts";
import { INPUT, recorder, SECRET, search, searches, tellSecrets } from "./kit.ts";

type Line = { readonly [field: string]: unknown };
const linesOf = (path: string): readonly Line[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

test("E4 jsonl writes a line for each span that ends, with its ids, parent, times and results", async () => {
  const path = file();
  const seen = recorder();
  const world = await open(searches(), { tools: [search], telemetry: [jsonl(path), seen] });
  const turn = world.session.turn(INPUT, { metadata: { user: "u1" } });
  const { turnId, usage } = await turn.result();
  await world.runtime.close();

  const lines = linesOf(path);
  expect(lines.map(({ kind }) => kind)).toEqual(["model", "tool", "round", "model", "round", "commit", "turn"]);
  const ids = { sessionId: world.session.id, turnId, process: expect.stringMatching(`^${process.pid}-`) };
  for (const line of lines) expect(line).toMatchObject({ ...ids, ms: expect.any(Number) });
  const [model, tool, round] = lines as [Line, Line, Line];
  const last = lines.at(-1);
  expect([model.parentId, tool.parentId, round.parentId]).toEqual([round.id, round.id, last?.id]);
  expect(model).toMatchObject({ provider: "follows", attempt: 1, purpose: "turn", finish: "calls" });
  expect(tool).toMatchObject({ tool: "search", callId: "c1", status: "ok" });
  const [span] = seen.of("turn");
  expect(last).toMatchObject({
    startedAt: span?.startedAt,
    endedAt: span?.endedAt,
    outcome: "answered",
    how: "committed",
    usage,
    metadata: { user: "u1" },
  });
});

test("E4 jsonl writes no words of users, models, tools or errors unless content is on", async () => {
  const [silent, whole] = [file(), file()];
  await tellSecrets([jsonl(silent), jsonl(whole, { content: true })]);
  expect(readFileSync(silent, "utf8")).not.toContain(SECRET);
  expect(linesOf(silent).find(({ name, turnId }) => name === "hook.issue" && turnId !== undefined)).toMatchObject({
    kind: "event",
    about: { plugin: "acme/clumsy", code: "hook.failed" },
  });
  const lines = linesOf(whole);
  expect(linesOf(silent).map(({ kind }) => kind)).toEqual(lines.map(({ kind }) => kind));
  expect(lines.find(({ tool }) => tool === "search")).toMatchObject({ content: { arguments: { words: SECRET } } });
  expect(lines.find(({ kind, error }) => kind === "model" && error !== undefined)).toMatchObject({
    error: { code: "server", message: `500 for ${SECRET}` },
  });
});

test("E4 jsonl writes the kinds that are asked for; store calls only then", async () => {
  const [stores, turns] = [file(), file()];
  const telemetry = [jsonl(stores, { kinds: ["store"] }), jsonl(turns, { kinds: ["turn", "event"] })];
  const world = await open(searches(), { tools: [search], telemetry });
  await world.session.turn(INPUT).result();
  await world.runtime.close();
  expect(linesOf(stores).map(({ operation }) => operation)).toContain("commit");
  expect(linesOf(turns).map(({ kind }) => kind)).toEqual(["turn"]);
});

test("E4 jsonl appends to a file, which only its owner can read", async () => {
  const [path, old] = [file(), file()];
  writeFileSync(old, "{}\n");
  const world = await open(searches(), { tools: [search], telemetry: [jsonl(path), jsonl(old)] });
  await world.session.turn(INPUT).result();
  await world.runtime.close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(linesOf(old)).toHaveLength(linesOf(path).length + 1);
});

test("E4 two processes append to one file, and each line is whole", async () => {
  const path = file();
  const writer = new URL("writer.ts", import.meta.url).pathname;
  const run = (word: string) =>
    promisify(execFile)(process.execPath, ["--disable-warning=ExperimentalWarning", writer, path, "40", word]);
  await within(Promise.all([run("one "), run("two ")]), 25_000);
  const lines = linesOf(path);
  expect(new Set(lines.map((line) => line.process)).size).toBe(2);
  expect(lines.filter(({ kind }) => kind === "turn")).toHaveLength(80);
  const ids = lines.map((line) => `${line.process} ${line.id}`);
  expect(new Set(ids).size).toBe(ids.length);
  expect(statSync(path).size).toBeGreaterThan(1_000_000);
});

test("E4 a file that cannot be opened fails no turn and is reported once", async () => {
  const seen = recorder();
  const telemetry = [jsonl(`${file()}/none/x.jsonl`), seen];
  const world = await open(searches(), { tools: [search], telemetry });
  expect((await world.session.turn(INPUT).result()).outcome.kind).toBe("answered");
  await within(world.runtime.close());
  expect(seen.events).toMatchObject([
    { name: "telemetry.failed", about: { listener: 0, problem: expect.stringContaining("ENOENT") } },
  ]);
});

test.skipIf(!existsSync("/dev/full"))("E4 a full disk fails no turn and is reported once", async () => {
  const seen = recorder();
  const world = await open(searches(), { tools: [search], telemetry: [jsonl("/dev/full"), seen] });
  expect((await world.session.turn(INPUT).result()).outcome.kind).toBe("answered");
  await within(world.runtime.close());
  expect(seen.events).toMatchObject([
    { name: "telemetry.failed", about: { problem: expect.stringContaining("ENOSPC") } },
  ]);
});

const span = (id: number): Span =>
  ({ kind: "commit", id: String(id), startedAt: 1, endedAt: 2, outcome: "answered" }) as Span;

test("E4 when the file works again, its first line has the number of lost lines", async () => {
  const folder = file();
  const path = `${folder}/x.jsonl`;
  const listener = jsonl(path);
  listener.end?.(span(1));
  listener.end?.(span(2));
  const failure = await eventually(() => {
    try {
      listener.event?.(undefined, { at: 3, name: "again", about: {} });
    } catch (error) {
      return error as NodeJS.ErrnoException;
    }
    return undefined;
  });
  expect(failure.code).toBe("ENOENT");
  mkdirSync(folder);
  listener.end?.(span(4));
  await listener.close?.();
  const lines = linesOf(path);
  expect(lines[0]).toMatchObject({ kind: "dropped", lines: expect.any(Number) });
  expect(lines[0]?.lines).toBeGreaterThanOrEqual(2);
  expect(lines.at(-1)).toMatchObject({ kind: "commit", id: "4" });
  rmSync(folder, { recursive: true });
});

test("E4 a line that comes after the close is written too", async () => {
  const path = file();
  const listener = jsonl(path);
  await listener.close?.();
  listener.end?.(span(1));
  await eventually(() => (existsSync(path) && linesOf(path).length > 0 ? true : undefined));
  expect(linesOf(path)).toHaveLength(1);
});
