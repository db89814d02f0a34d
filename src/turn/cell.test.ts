import { describe, expect, test } from "vitest";
import { cellLoop } from "../../test/turn/drivers.ts";
import type { AnswerContent } from "../../test/turn/play.ts";
import {
  call,
  executed,
  failed,
  gated,
  pass,
  replied,
  resolved,
  returned,
  settled,
  slept,
  type Telling,
  tell,
  waits,
} from "../../test/turn/tell.ts";
import { asCallId } from "../model/ids.ts";
import { text } from "../model/message.ts";
import type { ProtocolDriver } from "./driver.ts";
import { itemsOf } from "./log.ts";

const FINISHES: AnswerContent = {
  kind: "returned",
  output: { kind: "value", value: 1, control: { kind: "finish", by: "tool", value: 1 } },
};

const running = (limits = {}): Telling =>
  tell(cellLoop, limits).until("r1.ask").answer("r1.ask", replied("run count()"));

describe("a code cell", () => {
  test("runs, and the model is shown what it printed", () => {
    const turn = running();
    expect(turn.effect("r1.exec")).toMatchObject({ kind: "exec", cell: { language: "ts", code: "count()" } });
    turn.answer("r1.exec", executed("9")).until("r2.ask");
    expect(turn.log.slice(1)).toEqual(["assistant: run count()", "user: [code done: 9]"]);
  });

  test("waits for its calls, which are gated as they come, and is not open meanwhile", () => {
    const turn = running().called("r1.exec", 0, "a", "b");
    expect(turn.open).toEqual(["r1.exec.gate.0"]);
    turn.answer("r1.exec.gate.0", gated(pass(), pass()));
    expect(turn.open).toEqual(["r1.exec.call.0", "r1.exec.call.1"]);
    turn.answer("r1.exec.call.0", returned("a")).answer("r1.exec.settle.0", settled(1));
    expect(turn.open).toEqual(["r1.exec.call.1", "r1.exec.d1"]);
    turn.called("r1.exec.d1", 2, "c");
    expect(turn.effect("r1.exec.gate.1")).toMatchObject({ calls: [{ at: "2", call: { name: "c" } }] });
  });

  test("P9 receives each result in a separate segment, with the result and the time of its arrival", () => {
    const turn = running().called("r1.exec", 0, "a").answer("r1.exec.gate.0", gated(pass()));
    turn.answer("r1.exec.call.0", returned("nine")).answer("r1.exec.settle.0", settled(1));
    expect(turn.effect("r1.exec.d1")).toEqual({
      name: "r1.exec.d1",
      kind: "exec",
      cell: { language: "ts", code: "count()", acceptFinish: true },
      time: turn.at,
      deliver: { at: "0", output: { kind: "value", value: "nine" } },
    });
  });

  test("is given results one by one, in the order in which they returned", () => {
    const turn = running()
      .called("r1.exec", 0, "a", "b", "c")
      .answer("r1.exec.gate.0", gated(pass(), pass(), pass()));
    turn.answer("r1.exec.call.2", returned("c"));
    expect(turn.open).toContain("r1.exec.settle.2");
    turn.answer("r1.exec.call.1", returned("b")).answer("r1.exec.call.0", returned("a"));
    const order: string[] = [];
    while (!turn.open.includes("r1.exec.d1")) {
      const [settling = ""] = turn.open.filter((name) => name.includes("settle"));
      order.push(settling);
      turn.answer(settling, settled(1));
    }
    expect(order).toEqual(["r1.exec.settle.2", "r1.exec.settle.1", "r1.exec.settle.0"]);
    expect(turn.open).toEqual(["r1.exec.d1"]);
    expect(turn.effect("r1.exec.d1")).toMatchObject({ deliver: { at: "2" } });
    turn.answer("r1.exec.d1", { kind: "called", calls: [] });
    expect(turn.effect("r1.exec.d2")).toMatchObject({ deliver: { at: "1" } });
    turn.answer("r1.exec.d2", { kind: "called", calls: [] });
    expect(turn.effect("r1.exec.d3")).toMatchObject({ deliver: { at: "0" } });
    turn.answer("r1.exec.d3", executed("abc")).until("r2.ask");
  });

  test("runs alone: while it does nothing is gated or settled, and a call that writes waits", () => {
    const turn = running()
      .called("r1.exec", 0, "a", "b", "c")
      .answer("r1.exec.gate.0", gated(pass(), pass(), pass({ writes: true })))
      .answer("r1.exec.call.0", returned("a"))
      .answer("r1.exec.settle.0", settled(1));
    expect(turn.open).toEqual(["r1.exec.call.1", "r1.exec.d1"]);
    turn.answer("r1.exec.call.1", returned("b"));
    expect(turn.open).toEqual(["r1.exec.d1"]);
    turn.called("r1.exec.d1", 3, "d");
    expect(turn.open).toEqual(["r1.exec.settle.1"]);
    turn.answer("r1.exec.settle.1", settled(1));
    expect(turn.open).toEqual(["r1.exec.gate.1"]);
    turn.answer("r1.exec.gate.1", gated(waits()));
    expect(turn.open).toEqual(["r1.exec.call.3.w", "r1.exec.d2"]);
    turn.answer("r1.exec.d2", { kind: "called", calls: [] });
    expect(turn.open).toEqual(["r1.exec.call.3.w", "r1.exec.call.2"]);
  });

  test("P9 gives a result to the code at once where no hook wants to see it, and no policy applies", () => {
    const turn = tell(cellLoop)
      .answer("r1.prepare", { kind: "prepared", skips: { gate: true, settle: true, finalize: true } })
      .answer("r1.ask", replied("run count()"))
      .called("r1.exec", 0, "a", "b");
    expect(turn.open).toEqual(["r1.exec.call.0", "r1.exec.call.1"]);
    turn.answer("r1.exec.call.1", returned("b"));
    expect(turn.open).toEqual(["r1.exec.call.0", "r1.exec.d1"]);
  });

  test("sleeps by the clock of the turn, and is resumed when the sleep ends", () => {
    const turn = running().answer("r1.exec", { kind: "called", calls: [], sleeps: [{ at: "0", ms: 250 }] });
    expect(turn.open).toEqual(["r1.exec.sleep.0"]);
    expect(turn.sleepMs("r1.exec.sleep.0")).toBe(250);
    turn.answer("r1.exec.sleep.0", slept);
    expect(turn.effect("r1.exec.d1")).toMatchObject({ deliver: { at: "0" } });
    expect(turn.effect("r1.exec.d1")).not.toHaveProperty("deliver.output");
  });

  test("that waits for nothing has stalled", () => {
    const turn = running().answer("r1.exec", { kind: "called", calls: [] }).until("r2.ask");
    expect(turn.log.at(-1)).toMatch("user: [code stalled: The code waits for nothing that could come.");
  });

  test.each([
    ["a call", { calls: ["0"], sleeps: [] }],
    ["a sleep", { calls: [], sleeps: ["1"] }],
    ["a new one", { calls: ["5"], sleeps: ["5"] }],
  ])("cannot take the position of %s twice", (_, { calls, sleeps }) => {
    const turn = running().answer("r1.exec", {
      kind: "called",
      calls: [{ at: "0", call: { id: asCallId("cell_0"), name: "a", input: {} } }],
      sleeps: [{ at: "1", ms: 5 }],
    });
    turn.answer("r1.exec.sleep.1", slept).until("r1.exec.d1");
    const again = {
      kind: "called",
      calls: calls.map((at) => ({ at, call: { id: asCallId("again"), name: "a", input: {} } })),
      sleeps: sleeps.map((at) => ({ at, ms: 5 })),
    } as const;
    expect(() => turn.answer("r1.exec.d1", again)).toThrow(expect.objectContaining({ code: "turn.diverged" }));
  });

  test("may make as many calls as a reply, over all its segments; what is more is refused", () => {
    const turn = running({ callsPerRoundMax: 2 }).called("r1.exec", 0, "a").until("r1.exec.d1");
    turn.called("r1.exec.d1", 1, "b", "c").until("r1.exec.d2");
    turn.answer("r1.exec.d2", { kind: "called", calls: [] }).until("r1.exec.d3");
    const given = [turn.effect("r1.exec.d3")].map((effect) => (effect.kind === "exec" ? effect.deliver : undefined));
    expect(given).toMatchObject([{ output: { kind: "value" } }]);
    turn.answer("r1.exec.d3", executed("over"));
    expect(turn.state.memo).toEqual([
      expect.stringMatching("0 ok"),
      expect.stringMatching("1 ok"),
      expect.stringMatching("2 failed: Error .tool.too-many.: This call was not made"),
    ]);
  });

  test("that ends with open calls drops them, and the record has nothing that hooks have not seen", () => {
    const turn = running({ parallelCallsMax: 2 })
      .called("r1.exec", 0, "seen", "unseen", "out", "pay")
      .answer("r1.exec.gate.0", gated(pass(), pass(), pass(), waits()));
    turn
      .answer("r1.exec.call.0", returned("clean"))
      .answer("r1.exec.settle.0", { kind: "settled", results: [{ parts: [text("filtered")] }] });
    turn.answer("r1.exec.call.1", returned("secret"));
    expect(turn.open).toEqual(["r1.exec.call.3.w", "r1.exec.call.2", "r1.exec.d1"]);
    turn.answer("r1.exec.d1", { kind: "executed", output: { state: "stopped", parts: [text("Too long.")] } });
    expect(turn.last.dropped).toEqual(["r1.exec.call.3.w", "r1.exec.call.2"]);
    expect(turn.state.memo).toEqual([
      "0 ok: filtered",
      "1 unknown: Unknown: The code ended before this call did. It is not known whether the call took effect.",
      "2 unknown: Unknown: The code ended before this call did. It is not known whether the call took effect.",
      "3 cancelled: Cancelled: The call was not made.",
    ]);
  });

  test("cannot be finished by a result that hooks have not seen", () => {
    const turn = running().called("r1.exec", 0, "a", "stop").answer("r1.exec.gate.0", gated(pass(), pass()));
    turn.answer("r1.exec.call.0", returned("a")).answer("r1.exec.settle.0", settled(1));
    turn.answer("r1.exec.call.1", FINISHES).answer("r1.exec.d1", executed("over"));
    expect(turn.open).toEqual(["r1.after-work"]);
  });

  test("can be finished by a tool it called", () => {
    const turn = running().called("r1.exec", 0, "stop").answer("r1.exec.gate.0", gated(pass()));
    turn
      .answer("r1.exec.call.0", FINISHES)
      .answer("r1.exec.settle.0", settled(1))
      .answer("r1.exec.d1", executed("over"));
    expect(turn.end()).toEqual({ kind: "finished", by: "tool", value: 1 });
  });

  test("that cannot be run ends the turn with the failure, and its open calls are dropped", () => {
    const turn = tell(cellLoop, {}, { step: 2 })
      .until("r1.ask")
      .answer("r1.ask", replied("run count()"))
      .called("r1.exec", 0, "a", "b")
      .answer("r1.exec.gate.0", gated(pass(), pass()))
      .answer("r1.exec.call.0", returned("a"))
      .answer("r1.exec.settle.0", settled(1));
    turn.answer("r1.exec.d1", failed("runtime", "No sandbox."));
    expect(turn.last.dropped).toEqual(["r1.exec.call.1"]);
    expect(turn.end()).toMatchObject({ kind: "failed", by: "runtime", reason: "No sandbox." });
  });

  test("of a turn that step 1 opened is shown to the model as stopped, because its journal continues from there", () => {
    const turn = tell(cellLoop, {}, { step: 1 }).until("r1.ask").answer("r1.ask", replied("run count()"));
    turn.answer("r1.exec", failed("runtime", "No sandbox.")).until("r2.ask");
    expect(turn.log.at(-1)).toMatch("user: [code stopped: No sandbox. The code was stopped");
  });

  test.each(["gate", "settle"])(
    "in which a hook stops the turn at a %s makes no more calls, and ends when they are settled",
    (seam) => {
      const abort = { plugin: "acme/guard", code: "guard.no", message: "Not today." };
      const turn = running().called("r1.exec", 0, "a", "b");
      if (seam === "settle")
        turn.answer("r1.exec.gate.0", gated(pass(), waits())).answer("r1.exec.call.0", returned("a"));
      const hooked: AnswerContent = seam === "gate" ? gated(pass(), waits()) : settled(1);
      turn.answer(seam === "gate" ? "r1.exec.gate.0" : "r1.exec.settle.0", { ...hooked, abort } as AnswerContent);
      expect(turn.open).toEqual(["grace", `r1.exec.settle.${seam === "gate" ? 0 : 1}`]);
      expect(turn.end()).toMatchObject({ kind: "stopped", by: "plugin", code: "guard.no" });
      expect(turn.log.at(-1)).toMatch("user: [code stopped: Not today. The code was stopped");
    },
  );

  test.each(["gate.0", "settle.0"])("ends the turn when a hook fails at %s", (seam) => {
    const turn = running().called("r1.exec", 0, "a");
    if (seam === "settle.0") turn.answer("r1.exec.gate.0", gated(pass())).answer("r1.exec.call.0", returned("secret"));
    expect(turn.answer(`r1.exec.${seam}`, failed("plugin")).end()).toMatchObject({ kind: "failed", by: "plugin" });
    expect(JSON.stringify(turn.state)).not.toContain('"text":"secret"');
  });

  test("that is cancelled keeps the results that its calls return in the grace, and is stopped when the grace ends", () => {
    const turn = running()
      .called("r1.exec", 0, "quick", "slow", "pay")
      .answer("r1.exec.gate.0", gated(pass(), pass(), waits()))
      .cancel("enough");
    expect(turn.last.dropped).toEqual(["r1.exec.call.2.w"]);
    expect(turn.open).toEqual(["r1.exec.call.0", "r1.exec.call.1", "grace", "r1.exec.settle.2"]);
    turn
      .answer("r1.exec.settle.2", settled(1))
      .answer("r1.exec.call.0", returned("in time"))
      .answer("r1.exec.settle.0", settled(1));
    expect(turn.open).toEqual(["r1.exec.call.1", "grace"]);
    turn.answer("grace", slept);
    expect(turn.last.dropped).toEqual(["r1.exec.call.1"]);
    turn.answer("r1.exec.settle.1", settled(1));
    expect(turn.state.memo).toEqual([
      "0 ok: in time",
      expect.stringMatching("1 unknown: Unknown: The call did not end in time after the turn was stopped"),
      expect.stringMatching("2 cancelled: Cancelled: The turn was cancelled: enough"),
    ]);
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "cancel", text: "run count()" });
    expect(turn.log.at(-1)).toMatch("user: [code stopped: The turn was cancelled");
  });

  test("that is cancelled while it computes has until the end of the grace; calls it still makes are cancelled", () => {
    const turn = running().cancel("enough");
    expect(turn.open).toEqual(["r1.exec", "grace"]);
    turn.called("r1.exec", 0, "late", "later");
    expect(turn.open).toEqual(["grace", "r1.exec.settle.0"]);
    turn.answer("r1.exec.settle.0", settled(1)).answer("r1.exec.settle.1", settled(1));
    expect(turn.state.memo).toEqual([
      expect.stringMatching("0 cancelled: Cancelled: The turn was cancelled: enough"),
      expect.stringMatching("1 cancelled: Cancelled: The turn was cancelled: enough"),
    ]);
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "cancel" });

    const deaf = running().cancel("enough").answer("grace", slept);
    expect(deaf.last.dropped).toEqual(["r1.exec"]);
    expect(deaf.end()).toMatchObject({ kind: "stopped", by: "cancel" });
  });

  test("that sleeps ends at once when the turn is cancelled", () => {
    const turn = running().answer("r1.exec", { kind: "called", calls: [], sleeps: [{ at: "0", ms: 60_000 }] });
    turn.cancel("enough");
    expect(turn.last.dropped).toEqual(["r1.exec.sleep.0"]);
    expect(turn.open).toEqual(["grace", "finalize"]);
  });

  test("in a crash loop ends with its turn, and the model reads that its variables are gone", () => {
    const turn = running({ resumesMax: 0 }).called("r1.exec", 0, "a").answer("r1.exec.gate.0", gated(pass())).resume();
    expect(turn.last.dropped).toEqual(["r1.exec.call.0"]);
    expect(turn.log.at(-1)).toMatch("user: This turn ended before what its code keeps could be saved.");
    expect(turn.end()).toMatchObject({ kind: "failed", code: "turn.crash-loop", text: "run count()" });
  });

  test("P9 T9 keeps who was asked about its calls beside what came of it", () => {
    const turn = running().called("r1.exec", 0, "look", "pay").answer("r1.exec.gate.0", gated(pass(), waits()));
    turn.answer("r1.exec.call.1.w", resolved({ approved: true, reason: "Go on." }, "Ann")).until("r1.exec.d1");
    turn.answer("r1.exec.d1", { kind: "called", calls: [] }).until("r1.exec.d2").answer("r1.exec.d2", executed("paid"));
    const part = itemsOf(turn.state.log)
      .flatMap((entry) => (entry.kind === "message" ? entry.message.parts : []))
      .at(-1);
    expect(part).toMatchObject({
      kind: "codeOutput",
      trail: [{ name: "pay", asked: [{ kind: "approval", answer: { by: "Ann", approved: true } }] }],
    });
  });

  test("in which nothing succeeds counts as a round without progress, whatever its protocol decides", () => {
    const asking: ProtocolDriver = { ...cellLoop, onExec: () => ({ kind: "ask" }) };
    const turn = tell(asking, { noProgressMax: 2 }).until("r1.ask").answer("r1.ask", replied("run a()"));
    turn.answer("r1.exec", { kind: "executed", output: { state: "threw", parts: [] } }).until("r2.ask");
    turn
      .answer("r2.ask", replied("run b()"))
      .answer("r2.exec", { kind: "executed", output: { state: "refused", parts: [] } });
    expect(turn.end()).toMatchObject({ kind: "stopped", code: "limit.no-progress" });
  });

  test("of a turn whose end fails is not kept, and the model reads it; a turn without cells adds no message", () => {
    const turn = running().answer("r1.exec", executed("9")).until("r2.ask").answer("r2.ask", replied("Nine."));
    turn.until("finalize").answer("finalize", failed("plugin"));
    expect(turn.log.at(-1)).toMatch("user: This turn ended before what its code keeps could be saved.");
    const plain = tell(cellLoop).until("r1.ask").answer("r1.ask", replied("Nine.")).until("finalize");
    expect(plain.answer("finalize", failed("plugin")).log.at(-1)).toBe("assistant: Nine.");
  });

  test("in a frame with a new task begins with nothing; after a compaction it keeps its variables", () => {
    const turn = running().answer("r1.exec", executed("9")).until("r2.ask");
    expect(turn.answer("r2.ask", replied("run more()")).effect("r2.exec")).not.toHaveProperty("isFresh");
    turn.answer("r2.exec", executed("10")).until("r3.ask").answer("r3.ask", replied("task Count the stripes"));
    turn.until("r4.ask").answer("r4.ask", replied("run again()"));
    expect(turn.effect("r4.exec")).toMatchObject({ isFresh: true });
    turn.answer("r4.exec", executed("11")).until("r5.ask").answer("r5.ask", replied("run still()"));
    expect(turn.effect("r5.exec")).not.toHaveProperty("isFresh");

    const compacted = tell(cellLoop)
      .answer("r1.prepare", { kind: "prepared", compacts: true })
      .answer("r1.ask", replied("run count()"))
      .answer("r1.exec", executed("9"))
      .answer("r1.after-work", { kind: "bounded", compact: true })
      .answer("r1.compact", { kind: "compacted", seed: [{ role: "user", parts: [text("So far: nine.")] }] });
    compacted.until("r2.ask").answer("r2.ask", replied("run more()"));
    expect(compacted.log).toContain("— compaction —");
    expect(compacted.effect("r2.exec")).not.toHaveProperty("isFresh");
  });

  test("and a call part that its protocol does not understand stay apart: the part is paired all the same", () => {
    const turn = tell(cellLoop)
      .until("r1.ask")
      .answer("r1.ask", replied("Nine.", call("search")));
    turn.end();
    expect(turn.log.at(-1)).toMatch("tool: [search cancelled");
  });
});
