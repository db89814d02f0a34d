import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect, test } from "vitest";
import { asSessionId, asWaitKey, type SessionId } from "../../model/ids.ts";
import {
  alice,
  ann,
  answering,
  begin,
  commit,
  NOW,
  newSession,
  newWait,
  opening,
  said,
  slept,
  turnId,
} from "../../testing/cast.ts";
import { isProvenDead, thisProcess } from "../rows/process.ts";
import { sqlite } from "../sqlite.ts";
import type { Lease, Store } from "../store.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-processes-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** What a worker is made of, in a process of its own. */
const KIT = `
import { writeSync } from "node:fs";
import { sqlite } from ${JSON.stringify(new URL("../sqlite.ts", import.meta.url).href)};
import { alice, answering, commit, ended, opening, send as sendTo, slept, usage } from ${JSON.stringify(new URL("../../testing/cast.ts", import.meta.url).href)};
import { thisProcess } from ${JSON.stringify(new URL("../rows/process.ts", import.meta.url).href)};
const [path, me, isHeldBack] = process.argv.slice(1);
const from = isHeldBack && (await new Promise((resolve) => process.stdin.once("data", (said) => resolve(String(said)))));
const store = sqlite(path);
const owner = { id: me, process: thisProcess() };
const say = (words) => writeSync(1, words + "\\n");
const send = (session, name) => sendTo(store, name, { to: session, by: owner, key: name, at: Date.now(), pendingMax: 1e6 });
async function perform(lease, words, seq = 1) {
  for (let n = 0; n < 3; n++) await store.append(lease, seq++, [slept("e" + n)], Date.now());
  const done = await commit(store, lease, { ...answering(lease.turnId, words), usage: usage(1),
    plugins: { count: { version: "1", revision: 1, state: words } }, inputs: [lease.turnId.replace("turn", "input")] });
  if (done.branch !== undefined) say("branch " + words);
}
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
`;

interface Worker {
  readonly child: ChildProcess;
  readonly lines: string[];
  /** The next line it says; undefined when it has ended. */
  next(): Promise<string | undefined>;
  readonly ended: Promise<unknown>;
}

function work(program: string, ...args: readonly string[]): Worker {
  const child = spawn(process.execPath, ["--input-type=module", "-e", KIT + program, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const told = createInterface({ input: child.stdout! });
  const said = told[Symbol.asyncIterator]();
  const ended = once(child, "close");
  return {
    child,
    lines,
    async next() {
      const { value, done } = (await said.next()) as IteratorResult<string>;
      if (done) return undefined;
      lines.push(value);
      return value;
    },
    ended,
  };
}
async function toEnd(worker: Worker): Promise<readonly string[]> {
  while ((await worker.next()) !== undefined);
  await worker.ended;
  return worker.lines;
}

const me = { id: "me", process: thisProcess() };

async function finish(store: Store, lease: Lease, words: string): Promise<void> {
  const { branch } = await commit(store, lease, answering(lease.turnId, words));
  assert.equal(branch, undefined);
}

test("D3 S5 sqlite: two processes on one file lose no input and run none twice", async () => {
  const path = join(folder, "two.db");
  const store = sqlite(path);
  const [shared, ...own] = ["shared", "own-a", "own-b"].map(asSessionId) as [SessionId, SessionId, SessionId];
  for (const id of [shared, ...own]) await store.create(newSession(id));
  const each = 40;
  const program = `
    for (let n = 0; n < ${each}; n++) {
      const mine = await send("own-" + me, me + n);
      await perform(mine.lease, me + n);
      const receipt = await send("shared", "shared-" + me + n);
      if (receipt.kind === "opened") await perform(receipt.lease, receipt.lease.turnId.slice("turn-shared-".length));
      if ((await send("shared", "shared-" + me + n)).kind !== "known") say("doubled");
      await drain();
    }
    for (let idle = 0; idle < 5; await pause(3)) idle = (await drain()) === "idle" ? idle + 1 : 0;
    async function drain() {
      const answer = await store.open("shared", owner, Date.now(), opening);
      if (answer.kind === "resumed") say("took over");
      if (answer.kind === "opened") await perform(answer.lease, answer.lease.turnId.slice("turn-shared-".length));
      return answer.kind;
    }
    store.close();`;
  const workers = ["a", "b"].map((name) => work(program, path, name));
  for (const lines of await Promise.all(workers.map(toEnd))) expect(lines).toEqual([]);

  const words = (name: string) => Array.from({ length: each }, (_, n) => `${name}${n}`);
  expect([...(await said(store, shared))].sort()).toEqual([...words("a"), ...words("b")].sort());
  // The inputs of one worker keep their order, however the two met.
  expect((await said(store, shared)).filter((each) => each.startsWith("a"))).toEqual(words("a"));
  expect(await said(store, own[0])).toEqual(words("a"));
  expect(await said(store, own[1])).toEqual(words("b"));
  const session = await store.load(shared);
  expect([session?.revision, session?.turns, session?.usage.input]).toEqual([each * 2, each * 2, each * 2]);
  const facts = await store.changes(undefined, { max: 10_000 });
  expect(facts.length).toBe(each * 2 * 4);
  expect(new Set(facts.map((fact) => `${fact.kind} ${"turnId" in fact ? fact.turnId : ""}`)).size).toBe(facts.length);
  expect((await store.agenda(Date.now(), 10)).sessions).toEqual([]);
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
}, 60_000);

test("D4 sqlite: of a turn that parks and a process that answers, the second sees the first", async () => {
  const path = join(folder, "race.db");
  const store = sqlite(path, { durability: "process" });
  const races = 200;
  const sessions = Array.from({ length: races }, (_, n) => asSessionId(`s${n}`));
  for (const id of sessions) await store.create(newSession(id));
  const other = work(
    `
    say("ready");
    for (let n = 0; n < ${races}; ) {
      for (const { key } of await store.waits.list({ max: 10 })) {
        const { said } = await store.waits.resolve(key, { kind: "value", value: n }, Date.now());
        if (said !== "accepted") say(said);
        n++;
      }
    }
    store.close();`,
    path,
    "other",
  );
  expect(await other.next()).toBe("ready");
  const parked: SessionId[] = [];
  const until = Date.now() + 60_000;
  for (const id of sessions) {
    const lease = await begin(store, `go ${id}`, { to: id, by: me, at: Date.now() });
    const key = asWaitKey(`key ${id}`);
    await store.append(lease, 1, [slept("a")], Date.now(), [newWait(key, { until })]);
    // By chance before or after the answer, which the other process gives as soon as it sees the wait.
    for (const end = performance.now() + Math.random() * 3; performance.now() < end; );
    const answer = await store.park(lease, { turnId: lease.turnId, wakeAt: until, waits: [key] }, Date.now());
    if (answer.kind === "parked") parked.push(id);
    else expect(answer.mail.resolved).toMatchObject([{ key }]);
  }
  expect((await toEnd(other)).slice(1)).toEqual([]);
  expect(parked.length).toBeGreaterThan(0);
  expect(races - parked.length).toBeGreaterThan(0);
  const { sessions: awake } = await store.agenda(Date.now(), Infinity);
  expect([...awake].sort()).toEqual([...parked].sort());
  for (const id of parked) expect((await store.open(id, me, Date.now(), opening)).kind).toBe("resumed");
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
}, 60_000);

test("D3 sqlite: a process that was suspended past its lease writes nothing", async () => {
  const path = join(folder, "fence.db");
  const store = sqlite(path);
  await store.create(newSession());
  const sleeper = work(
    `
    const { lease } = await send(alice, "one");
    await store.append(lease, 1, [slept("before")], Date.now());
    say("held");
    await new Promise((resolve) => process.stdin.once("data", resolve));
    const tries = [() => store.append(lease, 2, [slept("after")], Date.now()), () => store.renew(lease, Date.now()),
      () => store.inputs.claim(lease, "b", 1), () => perform(lease, "late", 2), () => store.commit(lease, ended(lease))];
    for (const each of tries) try { await each(); say("wrote"); } catch (error) { say(error.code); }
    await store.release(lease);
    say("released");
    process.exit(0);`,
    path,
    "sleeper",
  );
  expect(await sleeper.next()).toBe("held");
  sleeper.child.kill("SIGSTOP");
  expect((await store.open(alice, me, Date.now(), opening)).kind).toBe("busy");
  expect((await store.agenda(Date.now(), 10)).sessions).toEqual([]);
  const answer = await store.open(alice, me, Date.now() + 60_000, opening);
  assert.ok(answer.kind === "resumed");
  expect(answer.journal.length).toBe(2);
  sleeper.child.kill("SIGCONT");
  sleeper.child.stdin!.write("go on\n");
  expect((await toEnd(sleeper)).slice(1)).toEqual([...Array(5).fill("lease.lost"), "released"]);
  expect((await store.journal(turnId("one"), 0)).length).toBe(2);
  expect((await store.open(alice, ann, Date.now() + 60_000, opening)).kind).toBe("busy");
  await finish(store, answer.lease, "done");
  expect(await said(store)).toEqual(["done"]);
  await store.close();
}, 30_000);

test("D1 D2 sqlite: thirty kills lose no acknowledged write, and cause no waiting", async () => {
  const path = join(folder, "kills.db");
  const first = sqlite(path);
  await first.create(newSession());
  await first.close();
  const program = `
    for (let n = Number(from); ; n++) {
      const receipt = await send(alice, "n" + n);
      if (receipt.kind !== "opened") { say("not opened but " + receipt.kind); break; }
      say("accepted " + n);
      await perform(receipt.lease, "n" + n);
      say("committed " + n);
    }`;
  let next = 0;
  let resumed = 0;
  // A process takes long to start: the next one does so meanwhile, and is held back before it opens the file.
  let following = work(program, path, "w0", "held back");
  for (let kill = 1; kill <= 30; kill++) {
    const worker = following;
    following = work(program, path, `w${kill}`, "held back");
    worker.child.stdin!.write(`${next}\n`);
    expect(await worker.next()).toBe(`accepted ${next}`);
    setTimeout(() => worker.child.kill("SIGKILL"), Math.random() * 25);
    const lines = await toEnd(worker);
    const acknowledged = lines.filter((line) => line.startsWith("committed")).length;
    const accepted = lines.filter((line) => line.startsWith("accepted")).length;

    const store = sqlite(path);
    expect(await store.check({ deep: true })).toEqual([]);
    const words = await said(store);
    expect(words).toEqual(words.map((_, n) => `n${n}`));
    expect(words.length).toBeGreaterThanOrEqual(next + acknowledged);
    expect(words.length).toBeLessThanOrEqual(next + acknowledged + 1);
    const answer = await store.open(alice, me, Date.now(), opening); // The lease has long to go, but its holder is dead.
    assert.ok(answer.kind === "resumed" || answer.kind === "idle", answer.kind);
    if (answer.kind === "resumed") {
      resumed++;
      expect(answer.lease.turnId).toBe(turnId(`n${words.length}`));
      const seqs = answer.journal.slice(1).map((event) => ("effect" in event ? event.effect : ""));
      expect(seqs).toEqual(["e0", "e1", "e2"].slice(0, seqs.length));
      await finish(store, answer.lease, `n${words.length}`);
    }
    next = (await said(store)).length;
    expect(next).toBeGreaterThanOrEqual(words.length);
    expect(await store.terminal(turnId(`n${next - 1}`))).toBeDefined();
    expect(accepted).toBeGreaterThan(0);
    await store.close();
  }
  following.child.kill("SIGKILL");
  await following.ended;
  expect(resumed).toBeGreaterThan(3);
}, 120_000);

test("D3 sqlite: of two runtimes in one process neither is dead to the other", async () => {
  const store = sqlite(":memory:");
  await store.create(newSession());
  await begin(store, "hello", { by: me });
  expect((await store.open(alice, { ...me, id: "other" }, NOW, opening)).kind).toBe("busy");
});

test("D3 sqlite: only a process of this machine that is certainly gone is dead", async () => {
  expect(isProvenDead(thisProcess())).toBe(false);
  expect(isProvenDead(`${hostname()}/${process.pid}`)).toBe(false);
  for (const nobody of ["elsewhere", "", "elsewhere/1", `elsewhere/boot/${process.pid}/1`, `${hostname()}/no-number`])
    expect(isProvenDead(nobody)).toBe(false);
  const worker = work(`say(owner.process); await new Promise(() => setInterval(() => {}, 1000));`, ":memory:", "w");
  const theirs = (await worker.next())!;
  const [host, boot, pid, start] = theirs.split("/") as [string, string, string, string];
  expect(isProvenDead(theirs)).toBe(false);
  expect(isProvenDead(`${host}/${pid}`)).toBe(false);
  if (process.platform === "linux") {
    expect(isProvenDead([host, boot, pid, `${Number(start) - 1}`].join("/"))).toBe(true); // Its number is used again.
    expect(isProvenDead([host, "an-earlier-start@1", pid, start].join("/"))).toBe(true);
    expect(isProvenDead([host, `${boot.split("@")[0]}@1`, pid, start].join("/"))).toBe(false); // Of another container.
  }
  worker.child.kill("SIGKILL");
  await worker.ended;
  expect(isProvenDead(theirs)).toBe(true);
  expect(isProvenDead(`${host}/${pid}`)).toBe(true);
});
