import { describe, expect, test } from "vitest";
import { cellLoop } from "../../test/turn/drivers.ts";
import type { Said } from "../../test/turn/play.ts";
import {
  call,
  executed,
  failed,
  gated,
  pass,
  replied,
  returned,
  settled,
  slept,
  type Telling,
  tell,
  waits,
} from "../../test/turn/tell.ts";
import { text } from "../model/message.ts";

const running = (limits = {}): Telling =>
  tell(cellLoop, limits).until("r1.ask").answer("r1.ask", replied("run count()"));

describe("a code cell", () => {
  test("runs, and the model is shown what it printed", () => {
    const turn = running();
    expect(turn.effect("r1.exec")).toMatchObject({ kind: "exec", cell: { language: "ts", code: "count()" } });
    turn.answer("r1.exec", executed("9")).until("r2.ask");
    expect(turn.log.slice(1)).toEqual(["assistant: run count()", "user: [code done: 9]"]);
  });

  test("stays open while its calls are gated as they come, each call once", () => {
    const turn = running().called("r1.exec", 0, "a", "b");
    expect(turn.open).toEqual(["r1.exec", "r1.exec.gate.0"]);
    turn.called("r1.exec", 2, "c");
    expect(turn.open).toEqual(["r1.exec", "r1.exec.gate.0"]);
    turn.answer("r1.exec.gate.0", gated(pass(), pass()));
    expect(turn.open).toEqual(["r1.exec", "r1.exec.gate.1", "r1.exec.call.0", "r1.exec.call.1"]);
    expect(turn.effect("r1.exec.gate.1")).toMatchObject({ calls: [{ at: "2", call: { name: "c" } }] });
  });

  test("is given results one by one, in the order in which they returned", () => {
    const turn = running()
      .called("r1.exec", 0, "a", "b", "c")
      .answer("r1.exec.gate.0", gated(pass(), pass(), pass()));
    turn.answer("r1.exec.call.2", returned("c"));
    expect(turn.open).toContain("r1.exec.settle.2");
    turn.answer("r1.exec.call.1", returned("b")).answer("r1.exec.call.0", returned("a"));
    const order: string[] = [];
    for (let left = 3; left > 0; left--) {
      const settling = turn.open.filter((name) => name.includes("settle"));
      order.push(...settling);
      turn.answer(settling[0] as string, settled(1));
    }
    expect(order).toEqual(["r1.exec.settle.2", "r1.exec.settle.1", "r1.exec.settle.0"]);
    expect(turn.open).toEqual(["r1.exec"]);
  });

  test("settles before it gates, and a call that writes waits for both", () => {
    const turn = running()
      .called("r1.exec", 0, "a", "b")
      .answer("r1.exec.gate.0", gated(pass(), pass({ writes: true })));
    expect(turn.open).toEqual(["r1.exec", "r1.exec.call.0"]);
    turn.called("r1.exec", 2, "c").answer("r1.exec.call.0", returned("a"));
    expect(turn.open).toEqual(["r1.exec", "r1.exec.gate.1"]);
    turn.called("r1.exec", 3, "d").answer("r1.exec.gate.1", gated(waits()));
    expect(turn.open).toEqual(["r1.exec", "r1.exec.call.2.w", "r1.exec.settle.0"]);
    turn.answer("r1.exec.settle.0", settled(1));
    expect(turn.open).toEqual(["r1.exec", "r1.exec.call.2.w", "r1.exec.gate.2"]);
    turn.answer("r1.exec.gate.2", gated(waits()));
    expect(turn.open).toEqual(["r1.exec", "r1.exec.call.2.w", "r1.exec.call.3.w", "r1.exec.call.1"]);
    turn.called("r1.exec", 4, "e");
    expect(turn.open).not.toContain("r1.exec.gate.3");
    expect(turn.answer("r1.exec.call.1", returned("b")).open).toContain("r1.exec.settle.1");
  });

  test("that ends with calls still out gives them up, and knows nothing of what hooks have not seen", () => {
    const turn = running({ parallelCallsMax: 2 })
      .called("r1.exec", 0, "seen", "unseen", "out", "pay")
      .answer("r1.exec.gate.0", gated(pass(), pass(), pass(), waits()));
    turn
      .answer("r1.exec.call.0", returned("clean"))
      .answer("r1.exec.settle.0", { kind: "settled", results: [{ parts: [text("filtered")] }] });
    turn.answer("r1.exec.call.1", returned("secret"));
    expect(turn.open).toEqual(["r1.exec", "r1.exec.call.3.w", "r1.exec.call.2", "r1.exec.settle.1"]);
    turn.answer("r1.exec", { kind: "executed", output: { state: "stopped", parts: [text("Too long.")] } });
    expect(turn.last.dropped).toEqual(["r1.exec.call.3.w", "r1.exec.call.2", "r1.exec.settle.1"]);
    expect(turn.state.memo).toEqual([
      "0 ok: filtered",
      "1 unknown: Unknown: The code ended before this call did. It is not known whether the call took effect.",
      "2 unknown: Unknown: The code ended before this call did. It is not known whether the call took effect.",
      "3 cancelled: Cancelled: The call was not made.",
    ]);
  });

  test("cannot be finished by a result that hooks have not seen", () => {
    const turn = running().called("r1.exec", 0, "stop").answer("r1.exec.gate.0", gated(pass()));
    turn.answer("r1.exec.call.0", {
      kind: "returned",
      output: { kind: "value", value: 1, control: { kind: "finish", by: "tool", value: 1 } },
    });
    turn.answer("r1.exec", executed("over"));
    expect(turn.open).toEqual(["r1.after-work"]);
  });

  test("can be finished by a tool it called", () => {
    const turn = running().called("r1.exec", 0, "stop").answer("r1.exec.gate.0", gated(pass()));
    turn.answer("r1.exec.call.0", {
      kind: "returned",
      output: { kind: "value", value: 1, control: { kind: "finish", by: "tool", value: 1 } },
    });
    turn.answer("r1.exec.settle.0", settled(1)).answer("r1.exec", executed("over"));
    expect(turn.end()).toEqual({ kind: "finished", by: "tool", value: 1 });
  });

  test("that cannot be run ends the turn as its failure says, and its open calls are given up", () => {
    const turn = tell(cellLoop, {}, { step: 2 })
      .until("r1.ask")
      .answer("r1.ask", replied("run count()"))
      .called("r1.exec", 0, "a")
      .answer("r1.exec.gate.0", gated(pass()));
    turn.answer("r1.exec", failed("runtime", "No sandbox."));
    expect(turn.last.dropped).toEqual(["r1.exec.call.0"]);
    expect(turn.end()).toMatchObject({ kind: "failed", by: "runtime", reason: "No sandbox." });
  });

  test("of a turn that step 1 opened is told to the model as stopped, as its journal goes on from there", () => {
    const turn = tell(cellLoop, {}, { step: 1 }).until("r1.ask").answer("r1.ask", replied("run count()"));
    turn.answer("r1.exec", failed("runtime", "No sandbox.")).until("r2.ask");
    expect(turn.log.at(-1)).toBe("user: [code stopped: No sandbox.]");
  });

  test.each(["gate", "settle"])(
    "in which a hook stops the turn at a %s makes no more calls, and ends when the code has stopped",
    (seam) => {
      const abort = { plugin: "acme/guard", code: "guard.no", message: "Not today." };
      const turn = running().called("r1.exec", 0, "a", "b");
      if (seam === "settle")
        turn.answer("r1.exec.gate.0", gated(pass(), waits())).answer("r1.exec.call.0", returned("a"));
      const hooked: Said = seam === "gate" ? gated(pass(), waits()) : settled(1);
      turn.answer(seam === "gate" ? "r1.exec.gate.0" : "r1.exec.settle.0", { ...hooked, abort } as Said);
      expect(turn.open).toEqual(["r1.exec", "grace", `r1.exec.settle.${seam === "gate" ? 0 : 1}`]);
      turn.called("r1.exec", 2, "c");
      expect(turn.open).toHaveLength(3);
      turn.answer("r1.exec", { kind: "executed", output: { state: "stopped", parts: [text("Not today.")] } });
      expect(turn.end()).toMatchObject({ kind: "stopped", by: "plugin", code: "guard.no" });
      expect(turn.log.at(-1)).toBe("user: [code stopped: Not today.]");
    },
  );

  test.each(["gate.0", "settle.0"])("ends the turn when a hook fails at %s", (seam) => {
    const turn = running().called("r1.exec", 0, "a");
    if (seam === "settle.0") turn.answer("r1.exec.gate.0", gated(pass())).answer("r1.exec.call.0", returned("secret"));
    expect(turn.answer(`r1.exec.${seam}`, failed("plugin")).end()).toMatchObject({ kind: "failed", by: "plugin" });
    expect(JSON.stringify(turn.state)).not.toContain('"text":"secret"');
  });

  test("that is cancelled keeps what its calls return in the grace, and is stopped when it is over", () => {
    const turn = running()
      .called("r1.exec", 0, "quick", "slow", "pay")
      .answer("r1.exec.gate.0", gated(pass(), pass(), waits()))
      .cancel("enough");
    expect(turn.last.dropped).toEqual(["r1.exec.call.2.w"]);
    expect(turn.open).toEqual(["r1.exec", "r1.exec.call.0", "r1.exec.call.1", "grace", "r1.exec.settle.2"]);
    turn
      .answer("r1.exec.settle.2", settled(1))
      .answer("r1.exec.call.0", returned("in time"))
      .answer("r1.exec.settle.0", settled(1));
    turn.answer("grace", slept);
    expect(turn.last.dropped).toEqual(["r1.exec", "r1.exec.call.1"]);
    expect(turn.state.memo).toEqual([
      "0 ok: in time",
      "1 unknown: Unknown: The code ended before this call did. It is not known whether the call took effect.",
      expect.stringMatching("2 cancelled: Cancelled: The turn was cancelled: enough"),
    ]);
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "cancel", text: "run count()" });
    expect(turn.log.at(-1)).toMatch("user: [code stopped: The turn was cancelled");
  });

  test("in a crash loop ends with its turn", () => {
    const turn = running({ resumesMax: 0 }).called("r1.exec", 0, "a").answer("r1.exec.gate.0", gated(pass())).resume();
    expect(turn.last.dropped).toEqual(["r1.exec", "r1.exec.call.0"]);
    expect(turn.end()).toMatchObject({ kind: "failed", code: "turn.crash-loop", text: "run count()" });
  });

  test("and a call part that its protocol does not understand stay apart: the part is paired all the same", () => {
    const turn = tell(cellLoop)
      .until("r1.ask")
      .answer("r1.ask", replied("Nine.", call("search")));
    turn.end();
    expect(turn.log.at(-1)).toMatch("tool: [search cancelled");
  });
});
