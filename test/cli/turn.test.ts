import { EventEmitter } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import type { Io } from "../../src/cli/io.ts";
import { livePrinter, plainPrinter } from "../../src/cli/print.ts";
import { takeTurn } from "../../src/cli/turn.ts";
import { Questions } from "../../src/cli/waits.ts";
import { createRuntime, definePlugin, defineTool } from "../../src/index.ts";
import { approvals } from "../../src/plugins/approvals/index.ts";
import { calls, says, scripted } from "../../src/providers/scripted.ts";
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
    reported: new Set<string>(),
  };
  const questions = new Questions(agent, async () => true);
  const taken = await takeTurn(agent, "Go", plainPrinter(io, { verbose: true }), io, questions);
  expect(taken).toBe("left");
  expect(interrupts.listenerCount("interrupt")).toBe(0);
  expect(String(stderr.read())).toContain("Cancelling. Ctrl-C again leaves at once.");
  await runtime.close();
});

test("E6 K12 an issue of a turn is printed once, with its hint: on stderr for a pipe, as a line on a terminal", async () => {
  const [stdout, stderr, terminal] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const io: Io = {
    stdin: Readable.from([]),
    stdout,
    stderr,
    env: {},
    cwd: "",
    version: "0.0.0",
    interrupts: new EventEmitter(),
  };
  const refund = defineTool({
    name: "refund",
    description: "Refunds.",
    input: { type: "object" },
    execute: () => "ok",
  });
  const sick = definePlugin({
    id: "acme/sick",
    setup: () => ({
      beforeToolCall: () => {
        throw new Error("I am sick.");
      },
    }),
  });
  const model = scripted(...[1, 2, 3, 4].flatMap((turn) => [calls("refund"), says(`${turn}`)]));
  const policy = approvals({ rules: [{ tool: "refnud", verdict: "ask" }] });
  await using runtime = await createRuntime({ store: memory(), model, tools: [refund], plugins: [policy, sick] });
  for (const [printer, output] of [
    [plainPrinter(io), stderr],
    [livePrinter({ ...io, stdout: terminal }), terminal],
  ] as const) {
    const agent = {
      session: await runtime.session(),
      waits: runtime.waits,
      wake: async () => {},
      wakeBelow: async () => {},
      reported: new Set<string>(),
    };
    for (let turn = 0; turn < 2; turn++)
      await takeTurn(agent, "Go", printer, io, new Questions(agent, async () => true));
    const lines = String(output.read())
      .split("\n")
      .filter((line) => line.includes("Issue"));
    expect(lines).toEqual([
      expect.stringMatching(/^(bowline: )?Issue in bowline\/approvals: .*the tool refnud.*Did you mean refund\?/),
      expect.stringMatching(/^(bowline: )?Issue in acme\/sick: .*I am sick\./),
    ]);
  }
  expect(String(stdout.read())).toBe("1\n2\n");
});
