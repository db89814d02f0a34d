import { EventEmitter } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import type { Agent } from "../../src/cli/agent.ts";
import type { Io } from "../../src/cli/io.ts";
import { plainPrinter } from "../../src/cli/print.ts";
import { finishLeft } from "../../src/cli/turn.ts";
import { Questions } from "../../src/cli/waits.ts";
import { createRuntime } from "../../src/index.ts";
import { says, scripted } from "../../src/providers/scripted.ts";
import { memory } from "../../src/stores/memory.ts";

/** What is shown of a turn that somebody else began. */
async function shown(lost: (turnId: string) => Agent["lost"], isEnded: boolean) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const interrupts: Io["interrupts"] = new EventEmitter();
  const io: Io = { stdin: Readable.from([]), stdout, stderr, env: {}, cwd: "", version: "0.0.0", interrupts };
  const store = memory();
  const runtime = await createRuntime({ store, model: scripted(says("Here I am.")) });
  const session = await runtime.session();
  const turn = session.turn("Where are you?");
  const turnId = await turn.id;
  await turn.result();
  const seen = isEnded ? store : { ...store, terminal: () => undefined, journal: () => [] };
  const left = [{ sessionId: session.id, turnId, words: "Where are\nyou?\x1b[2J" }];
  const agent = { session, waits: runtime.waits, store: seen, left, lost: lost(turnId) } as unknown as Agent;
  const questions = new Questions(agent, async () => true);
  expect(await finishLeft(agent, () => plainPrinter(io, { verbose: true }), io, questions)).toBe("finished");
  expect(interrupts.listenerCount("interrupt")).toBe(0);
  await runtime.close();
  return { stdout: String(stdout.read() ?? ""), stderr: String(stderr.read()) };
}

test("E6 a left turn that has already ended when it is checked is still reported", async () => {
  const { stdout, stderr } = await shown(() => new Map(), true);
  expect(stdout).toBe("Here I am.\n");
  expect(stderr).toMatch(/^Finishing the interrupted turn: Where are you\?\\u\{1b\}\[2J\nanswered · /);
});

test("E6 a left turn that cannot be resumed is reported and not waited for", async () => {
  const { stdout, stderr } = await shown((id) => new Map([[id, "it was begun by another host."]]), false);
  expect(stdout).toBe("");
  expect(stderr).toContain("bowline: The turn could not continue here: it was begun by another host.\n");
});

test("E6 D8 a chat follows its session on when the store fails for a moment", async () => {
  const asked: (string | undefined)[] = [];
  const fact = (id: string) => ({ kind: "waiting", fact: true, cursor: id, wait: id, sessionId: "s" });
  async function* observe({ after }: { readonly after?: string }) {
    asked.push(after);
    yield fact(`w${asked.length}`);
    if (asked.length === 1) throw new Error("The store is busy.");
  }
  const session = { id: "s", observe };
  const agent = { session, wake: async () => {}, wakeBelow: () => Promise.reject(new Error("Busy.")) };
  const questions = new Questions(agent as unknown as Agent, async () => true);
  let heard = 0;
  questions.onNew = () => void heard++;
  await questions.listen("c0", new AbortController().signal);
  expect({ asked, heard }).toEqual({ asked: ["c0", "w1"], heard: 2 });
});
