import { describe, expect, test } from "vitest";
import { cellLoop, toolLoop } from "../../test/turn/drivers.ts";
import type { AnswerContent } from "../../test/turn/play.ts";
import {
  approved,
  broke,
  call,
  deferred,
  executed,
  failed,
  gated,
  names,
  pass,
  replied,
  returned,
  settled,
  slept,
  type Telling,
  tell,
  waits,
} from "../../test/turn/tell.ts";
import { asInputId } from "../model/ids.ts";
import { text } from "../model/message.ts";

const said = (turn: Telling): Telling => turn.until("r1.ask").answer("r1.ask", replied("Let me look.", call("search")));
const prepared: AnswerContent = { kind: "prepared", responds: true, compacts: true };
const aside = { role: "user", parts: [text("Mind the date.")] } as const;

/** Where a cancel can find a turn: how it got there, what is open then, and an answer that comes in the grace. */
const PHASES: readonly { phase: string; reach: () => Telling; open: string; answer: AnswerContent; text: string }[] = [
  {
    phase: "preparing",
    reach: () => tell(toolLoop),
    open: "r1.prepare",
    answer: { kind: "prepared", frame: { task: "Another" } },
    text: "",
  },
  {
    phase: "asking",
    reach: () => tell(toolLoop).until("r1.ask"),
    open: "r1.ask",
    answer: replied("Nine.", call("search")),
    text: "Nine.",
  },
  {
    phase: "asking, with hooks on the reply",
    reach: () => tell(toolLoop).answer("r1.prepare", prepared),
    open: "r1.ask",
    answer: replied("Nine.", call("search")),
    text: "Nine.",
  },
  {
    phase: "responding",
    reach: () =>
      tell(toolLoop)
        .answer("r1.prepare", prepared)
        .answer("r1.ask", replied("Let me look.", call("search"))),
    open: "r1.respond",
    answer: { kind: "responded" },
    text: "Let me look.",
  },
  { phase: "gating", reach: () => said(tell(toolLoop)), open: "r1.gate", answer: gated(waits()), text: "Let me look." },
  {
    phase: "calling",
    reach: () => said(tell(toolLoop)).until("r1.call.0"),
    open: "r1.call.0",
    answer: deferred,
    text: "Let me look.",
  },
  {
    phase: "settling",
    reach: () => said(tell(toolLoop)).until("r1.settle"),
    open: "r1.settle",
    answer: settled(1),
    text: "Let me look.",
  },
  {
    phase: "bounding after work",
    reach: () => said(tell(toolLoop)).until("r1.after-work"),
    open: "r1.after-work",
    answer: { kind: "bounded", messages: [aside] },
    text: "Let me look.",
  },
  {
    phase: "bounding before completion",
    reach: () => tell(toolLoop).until("r1.before-completion"),
    open: "r1.before-completion",
    answer: { kind: "bounded", inputs: [{ inputId: asInputId("inp_2"), message: aside }] },
    text: "Nine kinds.",
  },
  {
    phase: "asking for too much",
    reach: () => tell(toolLoop).answer("r1.prepare", { kind: "prepared", compacts: true }),
    open: "r1.ask",
    answer: failed("context-overflow"),
    text: "",
  },
  {
    phase: "compacting",
    reach: () =>
      tell(toolLoop)
        .answer("r1.prepare", { kind: "prepared", compacts: true })
        .answer("r1.ask", failed("context-overflow")),
    open: "r1.compact",
    answer: { kind: "compacted", seed: [aside] },
    text: "",
  },
  {
    phase: "finalizing",
    reach: () => tell(toolLoop).until("finalize"),
    open: "finalize",
    answer: { kind: "finalized" },
    text: "Nine kinds.",
  },
  {
    phase: "executing",
    reach: () => tell(cellLoop).until("r1.ask").answer("r1.ask", replied("run count()")),
    open: "r1.exec",
    answer: executed("counted", { kinds: 9 }),
    text: "run count()",
  },
];

describe.each(PHASES)("a cancel while the turn is $phase", ({ reach, open, answer, text }) => {
  test("lets what is open finish, begins nothing new, and ends the turn cancelled", () => {
    const turn = reach();
    expect(turn.open).toEqual([open]);
    turn.cancel("wrong question");
    expect(turn.open).toEqual([open, "grace"]);
    expect(turn.last.dropped).toEqual([]);
    expect(turn.sleepMs("grace")).toBe(1_000);
    turn.answer(open, answer);
    expect(turn.last.effects.filter(({ kind }) => !["respond", "settle", "finalize"].includes(kind))).toEqual([]);
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "cancel", code: "turn.cancelled", text });
    expect(turn.state.winding).toMatchObject({ cancel: { requestId: "req_1", reason: "wrong question" } });
  });

  test("ends the turn when the grace has ended and it has not answered", () => {
    const turn = reach().cancel().answer("grace", slept);
    const isHeard = open === "finalize" || open === "r1.settle"; // These have deadlines of their own.
    expect(turn.last.dropped).toEqual(isHeard ? [] : [open]);
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "cancel", text: text === "Nine." ? "" : text });
  });

  test("survives a crash: the cancelled turn is resumed and ends the same", () => {
    expect(reach().cancel().resume().end()).toMatchObject({ kind: "stopped", by: "cancel" });
  });

  test("and the failure of what was open is not the outcome", () => {
    expect(reach().cancel().answer(open, failed("runtime")).end()).toMatchObject({ kind: "stopped", by: "cancel" });
  });
});

describe("T7 a cancel while calls are made", () => {
  const retry = { retry: { policy: "idempotent", attempts: 3, baseMs: 100, maxMs: 100 } } as const;
  const tools = ["quick", "slow", "flaky", "pay", "ask-bob", "queued", "serial"] as const;

  /** Two run, one pauses before its next attempt, one waits for approval and one for its result, two are queued. */
  function busy(): Telling {
    const turn = tell(toolLoop, { parallelCallsMax: 3 }).until("r1.ask");
    turn.answer("r1.ask", replied("Let me look.", ...tools.map((tool) => call(tool))));
    turn.answer("r1.gate", gated(pass(), pass(), pass(retry), waits(), pass(), pass(), pass({ isSerial: true })));
    turn.answer("r1.call.2", broke()).answer("r1.call.4", deferred).answer("r1.call.5", returned("done before"));
    expect(turn.open.toSorted()).toEqual(["r1.call.0", "r1.call.1", "r1.call.2.b1", "r1.call.3.w", "r1.call.4.w1"]);
    return turn;
  }
  const statuses = (turn: Telling): readonly string[] =>
    turn.log.find((line) => line.startsWith("tool:"))?.match(/(?<=\[)[\w-]+ \w+/g) ?? [];

  test("drops the waiting calls, lets the running calls finish, and starts nothing", () => {
    const turn = busy().cancel();
    expect([...turn.last.dropped].toSorted()).toEqual(["r1.call.2.b1", "r1.call.3.w", "r1.call.4.w1"]);
    expect(names(turn.last.effects)).toEqual(["grace"]);
    expect(turn.open).toEqual(["r1.call.0", "r1.call.1", "grace"]);
  });

  test("keeps what returns in the grace; the rest is unknown; every call has its result", () => {
    const turn = busy().cancel().answer("r1.call.0", returned("in time")).answer("grace", slept);
    expect(turn.last.dropped).toEqual(["r1.call.1"]);
    expect(turn.open).toEqual(["r1.settle"]);
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "cancel", text: "Let me look." });
    expect(statuses(turn)).toEqual([
      "quick ok",
      "slow unknown",
      "flaky cancelled",
      "pay cancelled",
      "ask-bob unknown",
      "queued ok",
      "serial cancelled",
    ]);
  });

  test("does not wait for the grace when everything has returned", () => {
    const turn = busy().cancel().answer("r1.call.0", returned("in time")).answer("r1.call.1", broke());
    expect(turn.open).toEqual(["grace", "r1.settle"]);
    turn.answer("r1.settle", settled(7));
    expect(turn.open).toEqual(["grace", "finalize"]);
    turn.answer("finalize", { kind: "finalized" });
    expect(turn.last.dropped).toEqual(["grace"]);
  });

  test("does not try again what fails in the grace, nor wait for what is deferred in it", () => {
    const turn = tell(toolLoop)
      .until("r1.ask")
      .answer("r1.ask", replied(call("a"), call("b"), call("c")))
      .answer("r1.gate", gated(pass(retry), pass(retry), pass()));
    turn.cancel().answer("r1.call.0", broke()).answer("r1.call.1", deferred);
    expect(turn.open).toEqual(["r1.call.2", "grace"]);
    turn.answer("r1.call.2", returned(1));
    expect(turn.open).toEqual(["grace", "r1.settle"]);
    turn.end();
    expect(statuses(turn)).toEqual(["a failed", "b unknown", "c ok"]);
  });

  test("asks nobody any more: approvals that the gate wants in the grace are not waited for", () => {
    const turn = tell(toolLoop)
      .until("r1.ask")
      .answer("r1.ask", replied(call("pay"), call("pay")))
      .cancel()
      .answer("r1.gate", gated(waits(), pass()));
    expect(turn.last).toMatchObject({ dropped: [], effects: [{ name: "r1.settle" }] });
    turn.end();
    expect(statuses(turn)).toEqual(["pay cancelled", "pay cancelled"]);
  });

  test("an approval that comes too late changes nothing", () => {
    const turn = tell(toolLoop)
      .until("r1.ask")
      .answer("r1.ask", replied(call("pay")))
      .answer("r1.gate", gated(waits()))
      .cancel();
    expect(() => turn.answer("r1.call.0.w", approved)).toThrow(expect.objectContaining({ code: "turn.diverged" }));
  });
});

describe("a cancel", () => {
  test("keeps what a model had said when its call broke off", () => {
    const turn = tell(toolLoop).until("r1.ask").cancel();
    turn.answer("r1.ask", {
      kind: "failed",
      error: { class: "cancelled", code: "cancelled", message: "Stopped." },
      partial: [text("Nine k"), call("search")],
    });
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "cancel", text: "Nine k" });
    expect(turn.log.slice(1)).toEqual(["partial: Nine k [search]", expect.stringMatching("tool: \\[search cancelled")]);
  });

  test("is the last word: the protocol is not asked what to do about a reply that comes after it", () => {
    const turn = tell(toolLoop).until("r1.ask").cancel().answer("r1.ask", replied());
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "cancel" });
    expect(turn.log).toEqual(["user: How many kinds of tiger?"]);
  });

  test("keeps what earlier rounds said and did", () => {
    const turn = said(tell(toolLoop)).until("r2.ask").cancel().answer("grace", slept);
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "cancel", text: "Let me look." });
    expect(turn.log).toHaveLength(3);
  });

  test("keeps an input that a boundary had just taken", () => {
    const turn = tell(toolLoop).until("r1.before-completion").cancel();
    turn.answer("r1.before-completion", { kind: "bounded", inputs: [{ inputId: asInputId("inp_2"), message: aside }] });
    turn.end();
    expect(turn.state.inputs).toEqual(["inp_1", "inp_2"]);
    expect(turn.log.at(-1)).toBe("user: Mind the date.");
  });

  test("after a plugin stopped the turn is noted, and the first reason stands", () => {
    const abort = { plugin: "acme/guard", code: "guard.no", message: "Not today." };
    const turn = said(tell(toolLoop))
      .answer("r1.gate", { ...gated(pass()), abort } as AnswerContent)
      .cancel();
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "plugin", code: "guard.no" });
    expect(turn.state.winding?.cancel).toEqual({ requestId: "req_1", reason: "enough" });
  });

  test("is the outcome that the hooks after the turn receive, even if the open effect failed", () => {
    const turn = tell(toolLoop).until("r1.ask").cancel().answer("r1.ask", failed("network"));
    expect(turn.effect("finalize")).toMatchObject({ outcome: { kind: "stopped", by: "cancel" } });
  });

  test("twice is a cancel once", () => {
    const turn = said(tell(toolLoop)).until("r1.call.0").cancel("first").cancel("second");
    expect(turn.open).toEqual(["r1.call.0", "grace"]);
    expect(turn.state.winding?.cancel?.reason).toBe("first");
  });

  test("that the commit finds reopens a turn that had ended, and it is stopped", () => {
    const turn = said(tell(toolLoop));
    expect(turn.end()).toMatchObject({ kind: "answered" });
    const before = turn.log;
    expect(turn.cancel().end()).toMatchObject({ kind: "stopped", by: "cancel", text: "Let me look.\n\nNine kinds." });
    expect(turn.log).toEqual(before);
    expect(turn.last).toMatchObject({ effects: [], dropped: [] });
  });
});
