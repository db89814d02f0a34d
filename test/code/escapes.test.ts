// Runs the attacks in escapes/. All guests share one thread, so that each attack is also a test of the next guest, which
// belongs to another session.

import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { hasCode } from "../../src/model/errors.ts";
import type { Json } from "../../src/model/json.ts";
import { quickjs } from "../../src/sandbox/quickjs/index.ts";
import type { CellBounds, Delivery, Guest, GuestError, Progress } from "../../src/sandbox/sandbox.ts";
import { sample } from "../kit/size.ts";
import { AROUND } from "./escapes/around.ts";
import type { Attack, Expected } from "./escapes/attack.ts";
import { DEPTH } from "./escapes/depth.ts";
import { ENDINGS } from "./escapes/endings.ts";
import { ERRORS } from "./escapes/errors.ts";
import { FLOODS } from "./escapes/floods.ts";
import { INTRINSICS } from "./escapes/intrinsics.ts";
import { LOOPS } from "./escapes/loops.ts";
import { MEMORY } from "./escapes/memory.ts";
import { REALM } from "./escapes/realm.ts";
import { VALUES } from "./escapes/values.ts";

/** Steps are the bound wherever possible: a slow machine needs as many of them as a fast one. */
const BOUNDS: CellBounds = {
  stepsMax: 100,
  segmentMs: 10_000,
  graceMs: 500,
  memoryBytesMax: 24 * 1024 * 1024,
  outputBytesMax: 64 * 1024,
  callsMax: 50,
};
const AT = Date.UTC(2030, 0, 1);
const DELIVERIES_MAX = 100;

const sandbox = quickjs({ workers: 1 });
const write = () => true;

beforeAll(() => {
  vi.spyOn(process.stdout, "write").mockImplementation(write);
  vi.spyOn(process.stderr, "write").mockImplementation(write);
});
afterEach(() => {
  expect(process.stdout.write).not.toHaveBeenCalled();
  expect(process.stderr.write).not.toHaveBeenCalled();
});
afterAll(async () => {
  vi.restoreAllMocks();
  await sandbox.close();
});

/** Runs a cell to its end. Its calls and sleeps are answered one at a time, in their order. */
async function run(guest: Guest, code: string, number: number, attack: Partial<Attack> = {}): Promise<Progress> {
  const acceptFinish = attack.refusesFinish !== true;
  const around = attack.around?.[number - 1];
  const cell = { ...around, code, file: `cell-${number}.ts`, seed: `${number}`, at: AT, acceptFinish };
  let progress = await guest.start(cell);
  const open: Delivery[] = [];
  const calls = [...progress.calls];
  let { printed } = progress;
  for (let at = AT + 1; progress.state === "waiting"; at++) {
    for (const { id, tool, input } of progress.calls) open.push({ id, at, ...answerOf(tool, input, attack.says) });
    for (const { id, reads } of progress.sleeps)
      open.push(reads === undefined ? { id, at, slept: true } : { id, at, value: { read: reads, list: [{ n: 1 }] } });
    const next = open.shift();
    if (next === undefined || at > AT + DELIVERIES_MAX) throw new Error("The cell waits for nothing.");
    progress = await guest.deliver(next);
    calls.push(...progress.calls);
    printed += progress.printed;
  }
  return { ...progress, calls, printed };
}

function answerOf(tool: string, input: Json, says = "null") {
  if (tool === "fail") return { error: { code: "tool.failed", message: "It failed." } };
  return { value: tool === "say" ? (JSON.parse(says) as Json) : input };
}

async function runAll(guest: Guest, attack: Attack): Promise<readonly Progress[]> {
  const ran: Progress[] = [];
  for (const [index, code] of attack.cells.entries()) ran.push(await run(guest, code, index + 1, attack));
  return ran;
}

function expectAsSaid(ran: readonly Progress[], expected: Expected): void {
  for (const { state } of ran.slice(0, -1)) expect(state).toBe("done");
  const last = ran.at(-1)!;
  const calls = ran.reduce((sum, each) => sum + each.calls.length, 0);
  const unhandled = "unhandled" in last ? last.unhandled?.map(titleOf).join("\n") : undefined;
  const error = last.state === "threw" ? titleOf(last.error) : undefined;
  const problem = last.state === "refused" ? last.problems.map((each) => each.message).join("\n") : undefined;
  const told: Record<string, unknown> = { ...last, calls, unhandled, error, problem };
  const message = JSON.stringify(last).slice(0, 1000);
  for (const [key, wanted] of Object.entries(expected)) {
    if (wanted instanceof RegExp) expect(told[key], message).toMatch(wanted);
    else expect(told[key], message).toEqual(wanted);
  }
}
const titleOf = ({ name, message }: GuestError): string => `${name}: ${message}`;

/** What only the host could have said. */
const HOST = [
  process.cwd(),
  import.meta.dirname,
  "node:",
  "node_modules",
  "file://",
  "worker",
  "wasm",
  "GuestVm",
  ".js:",
];

/** Nothing of the host is in what came back, and all of it has the form that the port promises. */
function expectClean(progress: Progress): void {
  const text = JSON.stringify(progress);
  for (const word of HOST) expect(text).not.toContain(word);
  const errors = "unhandled" in progress ? [...(progress.unhandled ?? [])] : [];
  if (progress.state === "threw") errors.push(progress.error);
  for (const { name, message, code = "", stack = "", line = 1, column = 1, ...rest } of errors) {
    expect([name, message, code, stack].map((each) => typeof each)).toEqual(Array(4).fill("string"));
    expect(`${name}${message}${code}${stack}`.length).toBeLessThan(10_000);
    expect([line, column].filter((each) => !(Number.isSafeInteger(each) && each >= 1))).toEqual([]);
    expect(stack).not.toContain("<bowline>");
    expect(rest).toEqual({});
  }
}

const WATCHED = [globalThis, process, process.env, Object, Error, JSON, Reflect, Math];
const PROTOTYPES = [Object, Array, Function, Promise, Error, String, Map].map((each) => each.prototype as object);
const hostNow = () => [
  ...[...WATCHED, ...PROTOTYPES].map((each) => Reflect.ownKeys(each).map(String).join()),
  process.exitCode,
  process.cwd(),
];

/** The next cell of a guest declares, prints, calls and has a value. */
async function expectAlive(guest: Guest): Promise<void> {
  const next = await run(guest, "const next: number = 41; print('n', next); (await tools.echo({ next })).next + 1", 9);
  expect(next, JSON.stringify(next)).toMatchObject({ state: "done", value: "42", printed: "n 41\n" });
}

const ATTACKS = [REALM, ERRORS, VALUES, AROUND, INTRINSICS, ENDINGS, LOOPS, MEMORY, DEPTH, FLOODS].flat();
/** They do most to the heap. A second run must leave the same bytes. */
const REPEATED: ReadonlySet<Attack> = new Set(
  [VALUES, AROUND, INTRINSICS, ENDINGS].flat().filter((_, at) => at % sample(3, 1) === 0),
);

for (const attack of ATTACKS) test(`P8 ${attack.name}`, () => withstand(attack));

async function withstand(attack: Attack): Promise<void> {
  const bounds = { ...BOUNDS, ...attack.bounds };
  const before = hostNow();
  const guest = await sandbox.open(undefined, bounds);
  const ran = await runAll(guest, attack);
  expectAsSaid(ran, attack.expect);
  ran.forEach(expectClean);
  expect(hostNow()).toEqual(before);

  // With the usual bounds: those of an attack may leave an honest cell too little time on a busy machine.
  if (ran.at(-1)?.state === "stopped") await withGuest(BOUNDS, expectAlive);
  else {
    await expectAlive(guest).catch((error) => {
      if (!hasCode(error, "code.lost")) throw error; // The cell was too hard to read for its thread.
      return withGuest(BOUNDS, expectAlive);
    });
    if (REPEATED.has(attack))
      await withGuest(bounds, async (another) => expect(await runAll(another, attack)).toEqual(ran));
  }
  await guest.close();
}

async function withGuest(bounds: CellBounds, use: (guest: Guest) => Promise<void>): Promise<void> {
  const guest = await sandbox.open(undefined, bounds);
  await use(guest);
  await guest.close();
}

test("P8 a guest sees nothing of another in the same thread", async () => {
  const [one, two] = [await sandbox.open(undefined, BOUNDS), await sandbox.open(undefined, BOUNDS)];
  const marks = `globalThis.marker = Array.prototype.marker = Math.marker = Error.marker = print.marker = 1;
    let held = new Promise(() => {}); 1`;
  expect(await run(one, marks, 1)).toMatchObject({ state: "done" });
  const look = "[typeof marker, [].marker, Math.marker, Error.marker, print.marker, typeof held].join()";
  expect(await run(two, look, 1)).toMatchObject({ state: "done", value: '"undefined,,,,,undefined"' });
  await one.close();
  expect(await run(two, "typeof marker", 2)).toMatchObject({ state: "done", value: '"undefined"' });
  await two.close();
});

test("P8 a guest that waits is not moved by one that is stopped", async () => {
  const waiting = await sandbox.open(undefined, BOUNDS);
  const cell = { file: "cell-1.ts", seed: "1", at: AT, acceptFinish: true };
  expect(await waiting.start({ ...cell, code: "const x = await tools.echo(1); x + 1" })).toMatchObject({
    state: "waiting",
  });
  for (const code of ["for (;;);", "for (let i = 0; ; i++) print(i)", "const a = []; for (;;) a.push({})"]) {
    const other = await sandbox.open(undefined, { ...BOUNDS, memoryBytesMax: 4 * 1024 * 1024 });
    expect(await other.start({ ...cell, code })).toMatchObject({ state: "stopped" });
    await other.close();
  }
  expect(await waiting.deliver({ id: 0, at: AT + 1, value: 1 })).toMatchObject({ state: "done", value: "2" });
  await waiting.close();
});
