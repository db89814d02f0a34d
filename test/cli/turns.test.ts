import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createRuntime, definePlugin, defineTool, type Runtime, type Store, ToolError } from "bowline";
import { approvals } from "bowline/plugins/approvals";
import { ProviderFailure } from "bowline/provider";
import { both, calls, says, scripted, thinks } from "bowline/providers/scripted";
import { sqlite } from "bowline/stores/sqlite";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { postgres } from "../../src/stores/postgres.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { inProcess } from "./in-process.ts";
import { bowline, folder, start } from "./program.ts";

const WIDE = "日本語のとても長い言葉です、これは切らなければなりません";
const UNSAFE = "\x1b[31mred\u202eder";

const tool = (name: string, execute: () => Promise<unknown> | unknown) =>
  defineTool({ name, description: `Does ${name}.`, input: { type: "object" }, execute: execute as () => string });

const tools = [
  tool("search", async () => {
    await new Promise((resolve) => setTimeout(resolve, 150));
    return { found: [WIDE, UNSAFE] };
  }),
  tool("broken", () => {
    throw new ToolError("no.way", `It is ${UNSAFE}.`);
  }),
  tool("pay", () => "paid"),
];

/** Creates a child of the session that uses the tool. */
const family = definePlugin({
  id: "family",
  setup: () => ({
    tools: [
      defineTool({
        name: "beget",
        description: "Creates a child.",
        input: { type: "object" },
        execute: async (_, { sessions }) => (await sessions.create({ id: "kid", kind: "child" })).id,
      }),
    ],
  }),
});

/** Turns of every kind, as a program in production leaves them. Returns their ids. */
async function fill(store: Store) {
  const model = scripted(
    both(calls("search", { q: `${WIDE} ${UNSAFE}` }), calls("broken", {})),
    new ProviderFailure({ class: "overloaded", message: "too busy", retryAfterMs: 10 }),
    thinks("Hmm.", says("It is ", "done.")),
    calls("pay", { amount: 3 }),
    says("Paid."),
    new ProviderFailure({ class: "auth", message: "The key is wrong." }),
    calls("beget"),
    says("A child."),
    calls("pay", { amount: 4, to: WIDE }),
  );
  const plugins = [approvals({ rules: [{ tool: "pay", verdict: "ask" }] }), family];
  const runtime = await createRuntime({ store, model, tools, plugins, instructions: "Be brief.", recover: "manual" });
  const chat = await runtime.session("chat", { owner: "ann", tags: ["trial", "eu"] });
  const found = await ended(runtime, "chat", `Find ${WIDE}.\nAll of it.`);
  const paying = chat.turn("Pay 3.");
  await answer(runtime, "bob");
  await paying.result();
  const paid = await paying.id;
  const failed = await ended(runtime, undefined, "Hello?");
  const born = await ended(runtime, `${WIDE}`, "Beget!");
  const parking = (await runtime.session("parked")).turn("Pay 4.");
  await asked(runtime);
  const parked = await parking.id;
  parking.result().catch(() => {}); // It is parked when the runtime closes.
  await runtime.close();
  return { found, paid, failed, born, parked };
}

async function ended(runtime: Runtime, session: string | undefined, words: string) {
  const turn = (await runtime.session(session)).turn(words);
  await turn.result();
  return turn.id;
}

const asked = ({ waits }: Runtime) =>
  vi.waitFor(async () => {
    const [wait] = await waits.list();
    if (wait === undefined) throw new Error("Nothing waits yet.");
    return wait;
  });

async function answer(runtime: Runtime, by: string): Promise<void> {
  await runtime.waits.resolve((await asked(runtime)).key, { approved: true }, { by });
}

/** How many columns a terminal fills with the words: those of these tests, and no more than it. */
const width = (line: string): number =>
  Array.from(line).reduce((sum, each) => sum + (/[\u3000-\u9fff]/u.test(each) ? 2 : 1), 0);
const linesOf = (output: string): readonly string[] => output.trimEnd().split("\n");
const expectFits = (output: string, columns = 80): void =>
  expect(linesOf(output).filter((line) => width(line) > columns)).toEqual([]);
const SAFE = /^(?:\n|[^\p{Cc}\p{Bidi_Control}])*$/u;

const cwd = folder();
const db = "agent.db";
const look = (...args: string[]) => bowline([...args, "--db", db], { cwd });
let ids: Awaited<ReturnType<typeof fill>>;
beforeAll(async () => {
  ids = await fill(sqlite(join(cwd, db)));
});

describe.concurrent("bowline turns", () => {
  test("E4 bowline turns prints a list that fits 80 columns, the latest turn first", async () => {
    const { code, stdout, stderr } = await look("turns");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expectFits(stdout);
    const [head, ...rows] = linesOf(stdout).slice(0, -1);
    expect(head).toMatch(/^turn +ago +session +outcome +model +rounds +time +tokens$/);
    expect(rows.map((row) => row.split(" ")[0])).toEqual(
      [ids.parked, ids.born, ids.failed, ids.paid, ids.found].map((id) => id.slice(4, 14)),
    );
    expect(rows.map((row) => /waiting|answered|failed/.exec(row)?.[0])).toEqual([
      ...["waiting", "answered", "failed", "answered", "answered"],
    ]);
    expect(rows[1]).toContain("日本語");
    expect(rows[3]).toMatch(/^\S+ +\d+s +chat +answered +(?:scripted\/)?test +2 +[\d.]+ m?s +30$/);
    expect(rows[4]).toMatch(/ [\d.]+ m?s +30$/);
  });

  test.each([
    ["--session=chat", ["paid", "found"]],
    ["--state=waiting", ["parked"]],
    ["--outcome=failed", ["failed"]],
    ["--state=ended --model=scripted/test", ["born", "failed", "paid", "found"]],
    ["--model=other/model", []],
    ["--state=ended --since=2h", ["born", "failed", "paid", "found"]],
    ["--since=2100-01-01", []],
    ["--since=yesterday", ["parked", "born", "failed", "paid", "found"]],
    ["--until=yesterday", []],
    ["--until=2100-01-01T00:00", ["parked", "born", "failed", "paid", "found"]],
    ["--until=1h", []],
    ["--max=2", ["parked", "born"]],
  ] as const)("E4 bowline turns %s narrows the list", async (options, expected) => {
    const { code, stdout } = await inProcess(["turns", "--db", db, "--json", ...options.split(" ")], "", { cwd });
    const found = (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id);
    expect({ code, found }).toEqual({ code: 0, found: expected.map((name) => ids[name]) });
  });

  test("E4 a list without a match is one line, and an unknown session is an error", async () => {
    expect(await look("turns", "--outcome", "finished")).toMatchObject({
      code: 0,
      stdout: "No turn in agent.db matches.\n",
    });
    const { code, stdout, stderr } = await look("turns", "--session", "nobody");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^bowline: Session nobody does not exist\. .*\n$/);
  });

  test("E4 bowline turns --prices adds the cost; without prices there is none", async () => {
    const prices = join(cwd, "prices.json");
    writeFileSync(prices, JSON.stringify({ "scripted/test": { input: 3_000, output: 15_000 } }));
    const { stdout } = await look("turns", "--prices", "prices.json");
    expectFits(stdout);
    expect(linesOf(stdout)[0]).toMatch(/cost$/);
    expect(linesOf(stdout)[4]).toMatch(/ 30 +0\.2100$/); // 20 tokens in, 10 out.
    expect((await look("show", ids.paid, "--prices", prices)).stdout).toContain("10 out\n  cost      0.2100\n");
    expect(linesOf(stdout).at(-1)).toMatch(/^5 turns .* 0\.\d{4}$/);
    expect((await look("turns")).stdout).not.toContain("cost");
    expect((await look("show", "parked")).stdout).not.toContain("cost");
    writeFileSync(join(cwd, "wrong.json"), '{"scripted/test":{"input":-1}}');
    expect(await look("turns", "--prices", "wrong.json")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^bowline: Invalid option `prices`: .*\n$/),
    });
  });

  test("E4 the last line has the sum of the turns", async () => {
    const rows = linesOf((await look("turns", "--state", "ended")).stdout);
    expect(rows.at(-1)).toMatch(/^4 turns +\d+ +[\d.]+ m?s +\d+$/);
    const tokens = rows.slice(1, -1).map((row) => Number(row.split(/ +/).at(-1)));
    expect(Number(rows.at(-1)?.split(/ +/).at(-1))).toBe(tokens.reduce((sum, each) => sum + each, 0));
    expect(linesOf((await look("turns", "--max", "1")).stdout)).toHaveLength(2);
  });

  test("E4 --prices without a model of the turns warns on stderr, and no sum leaves a cost out", async () => {
    writeFileSync(join(cwd, "other.json"), JSON.stringify({ test: { input: 3, output: 15 } }));
    const warning = "bowline: other.json has no price for scripted/test. Its names are <provider>/<model>.\n";
    for (const args of [["turns"], ["turns", "--json"], ["show", ids.paid], ["show", "chat"]])
      expect(await look(...args, "--prices", "other.json")).toMatchObject({ code: 0, stderr: warning });
    expect((await look("turns", "--prices", "other.json")).stdout).not.toContain("cost");
  });

  test("E4 a list with room for whole ids prints them", async () => {
    const { stdout } = await look("show", "parked");
    expectFits(stdout);
    expect(stdout).toContain(`\n  ${ids.parked}  `);
  });
});

describe.concurrent("bowline show", () => {
  test("E4 bowline show prints a timeline that fits 80 columns", async () => {
    const { code, stdout, stderr } = await look("show", ids.found);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expectFits(stdout);
    const text = stdout.replaceAll(/ +/g, " ");
    expect(text).toMatch(
      /^Turn trn_\w+\n session chat\n input Find 日本語.*…\n outcome answered: It is done\.\n used scripted\/test, 2 rounds, 20 tokens in, 10 out\n started \d{4}-\S+Z \(just now\), took [\d.]+ m?s\n\nround 1\n/,
    );
    expect(text).toMatch(/\n model scripted\/test (?:first \d+ ms )?10 -> 5 tokens \d+ ms /);
    expect(text).toMatch(/\n hooks gate search: pass, broken: pass \d+ ms /);
    expect(text).toMatch(/\n tool search \{"q":"日本語.*… -> \{"found":\["日.*… \d+ ms /);
    expect(text).toMatch(/\n tool broken \{\} -> failed: It is \\u\{1b\}\[31mred.*… \d+ ms /);
    expect(text).toMatch(
      /\nround 2\n(?: hooks.*\n)* model (?:scripted\/)?test overloaded: too busy .*\n model (?:scripted\/)?test attempt 2 /,
    );
  });

  test("E4 the bars of a timeline are proportional: where an item starts in the turn, and how long it is", async () => {
    const lines = linesOf((await look("show", ids.found)).stdout);
    const barOf = (label: RegExp) => {
      const line = lines.find((each) => label.test(each))!;
      const [, lead = "", bar = ""] = / m?s ( *)([█▏░]+)$/.exec(line) ?? [];
      return { from: lead.length, length: bar.length };
    };
    const { timeline } = JSON.parse((await look("show", ids.found, "--json")).stdout);
    const whole = timeline.endedAt - timeline.startedAt;
    const search = timeline.items.find((each: { call?: { name: string } }) => each.call?.name === "search");
    const drawn = barOf(/ tool search/);
    expect(Math.abs(drawn.from - (20 * (search.startedAt - timeline.startedAt)) / whole)).toBeLessThanOrEqual(1);
    expect(Math.abs(drawn.length - (20 * (search.endedAt - search.startedAt)) / whole)).toBeLessThanOrEqual(1.5);
    expect(barOf(/ hooks prepare/)).toMatchObject({ from: 0 });
    expect(barOf(/ attempt 2/).from).toBeGreaterThanOrEqual(drawn.from + drawn.length - 1);
  });

  test("E4 a timeline shows who answered a wait, and which plugin asked", async () => {
    const { stdout } = await look("show", ids.paid);
    expectFits(stdout);
    expect(stdout).toMatch(/\n {2}wait {6}approval of pay \{"amount":3\}: answered by bob after [\d.]+ m?s\n/);
    expect(stdout).toMatch(/\n {2}hooks gate {2}pay: wait by bowline\/approvals/);
    expect(stdout).toMatch(/\n {2}wait approval of pay \{"amo.* -> answered by bob +[\d.]+ m?s +░+\n/);
    expect(stdout).toMatch(/\n {2}tool pay \{"amount":3\} -> paid /);
  });

  test("E4 a parked turn is shown with what it waits for", async () => {
    const { code, stdout } = await look("show", ids.parked);
    expect(code).toBe(0);
    expectFits(stdout);
    expect(stdout).toMatch(/\n {2}state {5}waiting\n/);
    expect(stdout).toMatch(/\n {2}wait approval of pay \{"am.* -> open, 6d 23h left +[\dm]+[\d.]* m?s +░+\n$/);
  });

  test("E4 a failed turn is shown with its reason and code", async () => {
    const { code, stdout } = await look("show", ids.failed);
    expect(code).toBe(0);
    expectFits(stdout);
    expect(stdout.replaceAll(/\s+/g, " ")).toMatch(
      / outcome failed \(provider\): .*The key is wrong\..* \[\w+\.\w+\] used /,
    );
    expect(stdout).toMatch(/\n {2}model (?:scripted\/)?test {2}failed \[\w+\.\w+\]: /);
  });

  test("E4 --full prints whole arguments, results and prompts", async () => {
    const { stdout } = await look("show", ids.found, "--full");
    expect(stdout).toContain("\n  prompt: Be brief.\n");
    expect(stdout).toContain("All of it.");
    expect(stdout).toContain('\n    arguments:\n      {\n        "q":');
    expect(stdout).toContain(`"${WIDE}",\n`);
    expect(stdout).toContain("\n    reasoning: Hmm.\n    text: It is done.\n");
    expect(stdout).toMatch(SAFE);
  });

  test("E4 control and bidirectional characters of calls are spelt out; --raw prints them as they came", async () => {
    for (const args of [[], ["--full"], ["--json"]]) {
      const { stdout } = await look("show", ids.found, ...args);
      expect(stdout).toMatch(SAFE);
      expect(stdout).toContain("[31mred");
    }
    const { stdout } = await look("show", ids.found, "--full", "--raw");
    expect(stdout).toContain(UNSAFE);
  });

  test("E4 --json prints the data of the API", async () => {
    const [list, turn, session] = await Promise.all(
      [["turns"], ["show", ids.paid], ["show", "chat"]].map(async (args) =>
        JSON.parse((await look(...args, "--json")).stdout),
      ),
    );
    const runtime = await createRuntime({ store: sqlite(join(cwd, db)), model: scripted(), recover: "never" });
    const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
    expect(list).toEqual(plain(await runtime.turns.list()));
    expect(turn).toEqual(
      plain({ turn: await runtime.turns.get(ids.paid), timeline: await runtime.turns.timeline(ids.paid) }),
    );
    const { modelMismatch: _, ...whole } = await runtime.sessions.get("chat");
    const { model: __, ...config } = whole.config;
    expect(session).toEqual(
      plain({
        session: { ...whole, config },
        turns: await runtime.turns.list({ session: "chat" }),
        waits: [],
        children: [],
      }),
    );
    const [wait] = await runtime.waits.list();
    const keys = await Promise.all([look("show", "parked", "--json"), look("show", ids.parked, "--json", "--full")]);
    for (const { stdout } of keys) {
      expect(stdout).toContain(wait!.id);
      expect(stdout).not.toContain(wait!.key); // The key can answer the wait.
    }
    await runtime.close();
  });

  test("E4 bowline show of a session prints its head, its latest turns, what it waits for and its children", async () => {
    const chat = await look("show", "chat");
    expect(chat.code).toBe(0);
    expectFits(chat.stdout);
    expect(chat.stdout).toMatch(
      /^Session chat\n {2}state {5}idle\n {2}owner {5}ann\n {2}tags {6}trial, eu\n {2}used {6}2 turns, 40 tokens in, 20 out\n {2}created .*\n {2}active .*\n\nTurns\n {2}turn .*\n {2}.*answered.*\n {2}.*answered.*\n$/,
    );
    const parked = await look("show", "parked");
    expectFits(parked.stdout);
    expect(parked.stdout).toMatch(/\n {2}state {5}waiting\n/);
    expect(parked.stdout).toMatch(/\n\nOpen waits\n {2}approval of pay \{"amount":4,"to":"日.*\n$/);
    const parent = await look("show", WIDE);
    expectFits(parent.stdout);
    expect(parent.stdout).toMatch(/\n\nChildren\n {2}session .*\n {2}kid .*idle +0\n$/);
    expect((await look("show", "kid")).stdout).toContain(`\n  parent    ${WIDE}\n`);
  });

  test("E4 the beginning of an id is enough, as bowline turns prints it", async () => {
    expect((await look("show", ids.paid.slice(4, 14))).stdout).toMatch(new RegExp(`^Turn ${ids.paid}\n`));
    expect((await look("show", "park")).stdout).toMatch(/^Session parked\n/);
    const { code, stderr } = await look("show", ids.paid.slice(4, 10));
    expect(code).toBe(2);
    expect(stderr).toMatch(/^bowline: "\w{6}" is the beginning of \d ids: trn_.* Use a longer part of the id\.\n$/);
  });

  test("E4 an unknown id is one line with its code", async () => {
    for (const id of ["nobody", "x", "trn_\x1b[31m"]) {
      const { code, stdout, stderr } = await look("show", id);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(
        /^bowline: There is no turn or session ".*" in agent\.db \[turn\.unknown\]\. bowline turns .*\n$/,
      );
      expect(stderr).toMatch(SAFE);
    }
  });
});

test.each([
  [["turns", "chat"], "turns takes no text."],
  [["turns", "--state", "done"], 'There is no state "done". There are queued, running, waiting, interrupted, ended.'],
  [["turns", "--outcome", "toString"], 'There is no outcome "toString".'],
  [["turns", "--since", "last week"], '"last week" is not a time.'],
  [["turns", "--until", "toString"], '"toString" is not a time. Such as --until 2h, --until yesterday'],
  [["turns", "--since", "2026-13-45"], '"2026-13-45" is not a time.'],
  [["turns", "--max", "0"], "--max is a whole number from 1 to 1000."],
  [["turns", "--max", "1e3"], "--max is a whole number"],
  [["turns", "--full"], "--full is for show."],
  [["turns", "--prices", "nowhere.json"], "The prices in nowhere.json cannot be read: "],
  [["turns", "--app", "agent.ts"], "--app is for chat, run, serve, acp, studio and worker."],
  [["sessions", "--max", "3"], "--max is for turns."],
  [["run", "--prices", "p.json", "hi"], "--prices is for turns, show and studio."],
  [["show"], "show takes one id"],
  [["show", "a", "b"], "show takes one id"],
  [["show", "a", "--since", "2h"], "--since is for turns."],
])("E4 wrong usage is one line and exit 2: %j", async (args, says) => {
  const { code, stdout, stderr } = await inProcess(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^bowline: .+\n$/);
  expect(stderr).toContain(says);
});

test("E4 E6 without a database each command that looks names the missing file, and no file is created", async () => {
  const cwd = folder();
  const commands = [["turns"], ["turns", "--json"], ["show", "chat"], ["sessions"], ["doctor"]];
  for (const [file, options] of [
    [join(".bowline", "agent.db"), []],
    ["mistyped.db", ["--db", "mistyped.db"]],
  ] as const)
    for (const args of commands)
      expect(await bowline([...args, ...options], { cwd })).toEqual({
        ...{ code: 1, stdout: "", stderr: `bowline: There is no file ${file}. Pass an existing file: --db <file>.\n` },
      });
  expect(readdirSync(cwd)).toEqual([]);
  await (await createRuntime({ store: sqlite(join(cwd, "empty.db")), model: scripted() })).close();
  expect(await bowline(["turns", "--db", "empty.db"], { cwd })).toMatchObject({
    ...{ code: 0, stdout: "There are no turns in empty.db yet.\n" },
  });
});

test("E4 a turn whose journal is not kept prints its record and why there is no timeline", async () => {
  const path = join(folder(), "a.db");
  const runtime = await createRuntime({ store: sqlite(path), model: scripted(says("Hi.")), keepJournals: false });
  const id = await ended(runtime, "s", "Hello.");
  await runtime.close();
  const { code, stdout } = await bowline(["show", id, "--db", path]);
  expect(code).toBe(0);
  expectFits(stdout);
  expect(stdout).toMatch(
    /\n {2}outcome {3}answered: Hi\.\n[\s\S]*\n\nThere is no journal of turn trn_\w+: it is not\s+kept\.\n$/,
  );
});

test("E4 a damaged journal is an error with its hint, and the record is printed all the same", async () => {
  const path = join(folder(), "a.db");
  const runtime = await createRuntime({ store: sqlite(path), model: scripted(says("Hi.")) });
  const id = await ended(runtime, "s", "Hello.");
  await runtime.close();
  const file = new DatabaseSync(path);
  file.exec("UPDATE turn SET input = replace(input, 'opened', 'closed')");
  file.close();
  expect((await bowline(["turns", "--db", path])).stdout).toContain("answered");
  const { code, stdout } = await bowline(["show", id, "--db", path]);
  expect(code).toBe(1);
  expectFits(stdout);
  expect(stdout).toMatch(/\n {2}outcome {3}answered: Hi\.\n/);
  expect(stdout.replaceAll("\n", " ")).toMatch(
    / is damaged: its checksum does not fit\. Restore the database from a backup; /,
  );
  const json = await bowline(["show", id, "--json", "--db", path]);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({ turn: { id }, problem: { code: "store.corrupt" } });
});

test("E4 the commands work while another process runs a turn, and show what a kill left and who resumed it", async () => {
  const cwd = folder();
  const asked = ["run", "--session", "s", "--verbose"];
  const first = start([...asked, "wait 3 seconds"], { cwd });
  await first.until(/wait \{/);
  const file = join(cwd, ".bowline", "agent.db");
  expect(existsSync(file)).toBe(true);
  const running = await bowline(["turns"], { cwd });
  expect(running.stdout).toMatch(/ s +running +demo\/offline +1 +[\d.]+ m?s\n$/);
  const open = await bowline(["show", "s"], { cwd });
  expect(open.stdout).toMatch(/\n {2}state {5}running\n/);
  const id = (JSON.parse((await bowline(["turns", "--json"], { cwd })).stdout) as { id: string }[])[0]!.id;
  const shown = await bowline(["show", id], { cwd });
  expectFits(shown.stdout);
  expect(shown.stdout).toMatch(/ so far\n[\s\S]*\n {2}tool wait \{"seconds":3\} -> running +[\d.]+ m?s +█+\n$/);
  first.child.kill("SIGKILL");
  await first.ended;

  expect((await bowline(["turns"], { cwd })).stdout).toMatch(/ s +interrupted +demo\/offline +1\n$/);
  const left = await bowline(["show", id], { cwd });
  expect(left.code).toBe(0);
  expect(left.stdout).toMatch(/\n {2}state {5}interrupted\n/);
  expect(left.stdout).toMatch(/\n {2}tool wait \{"seconds":3\} -> unfinished +[█▏]+\n$/);

  const second = start([...asked, "hello"], { cwd, input: "" });
  expect(await second.ended).toBe(0);
  const resumed = (await bowline(["show", id], { cwd })).stdout;
  expectFits(resumed);
  expect(resumed).toMatch(new RegExp(`\\n {2}resumed {3}\\S+Z by process ${second.child.pid} on `));
  expect(resumed).toMatch(new RegExp(`\\n {2}resumed by process ${second.child.pid} on .* !\\n`));
  expect(resumed).toMatch(/\n {2}tool wait \{"seconds":3\} \(attempt 2\)|tool wait \{"seconds":3\} -> 3 seconds/);
});

test("E4 a turn in code mode has an exact timeline, with the calls of its code below it", async () => {
  const cwd = folder();
  await bowline(["run", "--session", "s", "--mode", "code", "What is 21*2?"], { cwd });
  const [{ id }] = JSON.parse((await bowline(["turns", "--json"], { cwd })).stdout);
  const { stdout } = await bowline(["show", id], { cwd });
  expectFits(stdout);
  expect(stdout).toMatch(/\n {2}code const .*\n {4}tool calculator \{"expression":"21\*2"\} -> 42 .*\n/);
  expect(stdout).not.toContain("The times are");
});

test("E4 looking changes nothing in the file", async () => {
  const before = dump(join(cwd, db));
  for (const args of [["turns"], ["show", ids.parked], ["show", "parked"]]) await look(...args);
  expect(dump(join(cwd, db))).toEqual(before);
});

function dump(path: string): unknown {
  const file = new DatabaseSync(path, { readOnly: true });
  const names = file.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
  const all = names.map(({ name }) => [name, file.prepare(`SELECT * FROM ${name}`).all()]);
  file.close();
  return all;
}

describePostgres("bowline turns and bowline show on Postgres", () => {
  test("E4 the commands read a database as a file, and never print its password", async () => {
    const url = new URL(await freshDatabase());
    const empty = await inProcess(["turns", "--db", url.href]);
    expect(empty).toMatchObject({ code: 1, stderr: expect.stringMatching(/has no schema bowline\. .*\n$/) });
    const kept = await fill(postgres(url.href));
    url.password = "a-secret-of-ours";
    const list = await inProcess(["turns", "--db", url.href]);
    expect(list).toMatchObject({ code: 0, stderr: "" });
    expectFits(list.stdout);
    expect(linesOf(list.stdout)).toHaveLength(7);
    const shown = await inProcess(["show", kept.paid], "", { env: { BOWLINE_DB: url.href } });
    expect(shown.stdout).toMatch(/ -> answered by bob /);
    const unknown = await inProcess(["show", "nobody", "--db", url.href]);
    expect(unknown.stderr).toMatch(
      /^bowline: There is no turn or session "nobody" in postgres:\/\/.* \[turn\.unknown\]/,
    );
    expect(list.stdout + shown.stdout + unknown.stderr).not.toContain("a-secret-of-ours");
  });
});

test("E4 docs/cli.md has both commands and all of their options", () => {
  const page = readFileSync("docs/cli.md", "utf8");
  for (const word of [
    "bowline turns",
    "bowline show",
    "--state",
    "--outcome",
    "--since",
    "--until",
    "--max",
    "--full",
    "--prices",
  ])
    expect(page).toContain(word);
});
