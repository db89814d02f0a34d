import { EventEmitter } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import type { Io } from "../../src/cli/io.ts";
import { plainPrinter } from "../../src/cli/print.ts";
import { takeTurn } from "../../src/cli/turn.ts";
import { Questions } from "../../src/cli/waits.ts";
import { createRuntime, defineTool } from "../../src/index.ts";
import { calls, scripted } from "../../src/providers/scripted.ts";
import { memory } from "../../src/stores/memory.ts";

test("E6 a second Ctrl-C leaves, even when a tool does not listen", async () => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const interrupts: Io["interrupts"] = new EventEmitter();
  const io: Io = { stdin: Readable.from([]), stdout, stderr, env: {}, cwd: "", version: "0.0.0", interrupts };
  const deaf = defineTool({
    name: "deaf",
    description: "Never ends.",
    input: { type: "object" },
    execute: () => {
      setImmediate(() => {
        interrupts.emit("interrupt");
        interrupts.emit("interrupt");
      });
      return new Promise(() => {});
    },
  });
  const store = memory();
  const runtime = await createRuntime({ store, model: scripted(calls("deaf")), tools: [deaf] });
  const agent = {
    store,
    session: await runtime.session(),
    waits: runtime.waits,
    wake: async () => {},
    wakeBelow: async () => {},
  };
  const questions = new Questions(agent, async () => true);
  const taken = await takeTurn(agent, "Go", plainPrinter(io, { verbose: true }), io, questions);
  expect(taken).toBe("left");
  expect(interrupts.listenerCount("interrupt")).toBe(0);
  expect(String(stderr.read())).toContain("Cancelling. Ctrl-C again leaves at once.");
  await runtime.close();
});
