import { describe, expect, test } from "vitest";
import { cellLoop, toolLoop } from "../../test/turn/drivers.ts";
import type { AnswerContent } from "../../test/turn/play.ts";
import {
  approved,
  call,
  deferred,
  edited,
  executed,
  gated,
  pass,
  replied,
  resolved,
  returned,
  settledAs,
  type Telling,
  tell,
  waits,
} from "../../test/turn/tell.ts";
import { asSessionId, asTurnId, asWaitKey } from "../model/ids.ts";
import { type Message, text, textOf } from "../model/message.ts";
import type { ToolOutput } from "../model/tool.ts";
import { NO_USAGE } from "../model/usage.ts";
import { salvage } from "./salvage.ts";

const WHY = "It was interrupted by an upgrade.";

/** Whose results no hook settles: what came back is shown as it came. */
const asking = (...tools: readonly string[]): Telling =>
  tell(toolLoop)
    .until("r1.prepare")
    .answer("r1.prepare", { kind: "prepared", skips: { settle: true } })
    .answer("r1.ask", replied("Let me look.", ...tools.map((tool) => call(tool))));

const kept = ({ opened, events }: Telling) => salvage(opened, events, WHY);
const messagesOf = (turn: Telling): readonly Message[] =>
  kept(turn).entries.flatMap((entry) => (entry.kind === "message" ? [entry.message] : []));

/** What became of each call, in words. */
const results = (turn: Telling): readonly string[] =>
  messagesOf(turn).flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === "toolResult" ? [`${part.name} ${part.status}: ${textOf(part.parts)}`] : [])),
  );
const unknown = (tool: string): string => `${tool} unknown: Unknown: ${WHY}`;
const settles = (value: string): AnswerContent => ({ kind: "settled", results: [{ parts: [text(value)] }] });

describe("D8 salvage", () => {
  test("P8 keeps results of code cells, and nothing of a running one", () => {
    const turn = tell(cellLoop).until("r1.ask").answer("r1.ask", replied("run count()"));
    turn.called("r1.exec", 0, "look").until("r1.exec.d1").answer("r1.exec.d1", executed("9")).until("r2.ask");
    turn.answer("r2.ask", replied("run more()")).called("r2.exec", 0, "look");
    const words = messagesOf(turn).map(({ role, parts: [part] }) =>
      part?.kind === "codeOutput" ? `${role} ${part.status}: ${textOf(part.parts)}` : `${role}: ${textOf([part!])}`,
    );
    expect(words.slice(1)).toEqual(["assistant: run count()", "user done: 9", "assistant: run more()"]);
  });

  test("keeps what ran after it was approved with other arguments", () => {
    const turn = asking("pay", "send")
      .answer("r1.gate", gated(waits(), waits()))
      .answer("r1.call.1.w", edited({ n: 1 }))
      .answer("r1.call.0.w", edited({ n: 0 }))
      .answer("r1.gate.1", gated(pass()))
      .answer("r1.gate.2", gated(pass()))
      .answer("r1.call.1", returned("sent"));
    expect(results(turn)).toEqual([unknown("pay"), "send ok: sent"]);
  });

  test("keeps a denial at the second gate with the call that it was about", () => {
    const no: ToolOutput = { kind: "failure", failure: { class: "denied", code: "tool.denied", message: "Too much." } };
    const turn = asking("search", "pay", "send")
      .answer("r1.gate", gated(pass(), waits(), waits()))
      .answer("r1.call.2.w", edited({ n: 2 }))
      .answer("r1.gate.1", gated(settledAs(no)));
    expect(results(turn)).toEqual([unknown("search"), unknown("pay"), "send denied: Error (tool.denied): Too much."]);
  });

  test("keeps both verdicts of a gate that saw two edited calls together, each with its call", () => {
    const no = (message: string): ToolOutput => ({
      kind: "failure",
      failure: { class: "denied", code: "tool.denied", message },
    });
    const turn = asking("write", "pay", "send")
      .answer("r1.gate", gated(pass({ writes: true }), waits(), waits()))
      .answer("r1.call.2.w", edited({ n: 2 })) // Answered in another order than they are gated in.
      .answer("r1.call.1.w", edited({ n: 1 }))
      .answer("r1.call.0", returned("written"))
      .answer("r1.gate.1", gated(settledAs(no("Not one.")), settledAs(no("Not two."))));
    expect(results(turn)).toEqual([
      "write ok: written",
      "pay denied: Error (tool.denied): Not one.",
      "send denied: Error (tool.denied): Not two.",
    ]);
  });

  test.each([
    ["answered with no", { kind: "value", value: { approved: false, reason: "Too dear." } }, "Too dear."],
    ["not answered in time", { kind: "timeout" }, "nobody approved it in time"],
    ["withdrawn", { kind: "revoked" }, "the request for approval was withdrawn"],
  ] as const)("keeps a call that never ran as denied, because the question was %s", (_how, answer, reason) => {
    const turn = asking("pay").answer("r1.gate", gated(waits())).answer("r1.call.0.w", { kind: "resolved", answer });
    expect(results(turn)).toEqual([expect.stringContaining("pay denied: ")]);
    expect(results(turn)[0]).toContain(reason);
  });

  test("keeps a denial of what a second gate asked again", () => {
    const turn = asking("pay")
      .answer("r1.gate", gated(waits()))
      .answer("r1.call.0.w", edited({ n: 1 }))
      .answer("r1.gate.1", gated(waits()))
      .answer("r1.call.0.w.1", resolved({ approved: false, reason: "After all." }));
    expect(results(turn)[0]).toMatch(/^pay denied: .*After all\./);
  });

  test("keeps an interrupted call as unknown, also when a person decided that it must not run again", () => {
    const turn = asking("pay")
      .answer("r1.gate", gated(pass({ onInterrupt: "ask" })))
      .resume()
      .answer("r1.call.0", { kind: "interrupted", key: asWaitKey("again?"), until: 9_999 })
      .answer("r1.call.0.w1", resolved({ approved: false }));
    expect(results(turn)).toEqual([unknown("pay")]);
  });

  test.each([
    ["a value", { value: { coats: 4 } }, 'fetch ok: {"coats":4}'],
    ["an error", { error: "Gone.", code: "coat.gone" }, "fetch failed: Error (coat.gone): Gone."],
  ])("keeps what was given as a result: %s", (_what, given, line) => {
    const turn = asking("fetch", "later")
      .answer("r1.gate", gated(pass(), pass()))
      .answer("r1.call.0", deferred)
      .answer("r1.call.1", deferred)
      .answer("r1.call.0.w1", resolved(given));
    expect(results(turn)).toEqual([line, unknown("later")]);
  });

  test("keeps a call that waits for other turns as unknown, and keeps the result of its next attempt", () => {
    const turns = [{ sessionId: asSessionId("child"), turnId: asTurnId("trn_child") }];
    const waiting = (): Telling =>
      asking("delegate")
        .answer("r1.gate", gated(pass()))
        .answer("r1.call.0", {
          kind: "deferred",
          key: asWaitKey("key"),
          until: 9_999,
          on: { kind: "turns", turns, need: "all" },
        });
    expect(results(waiting())).toEqual([unknown("delegate")]);
    const again = waiting().answer("r1.call.0.w1", resolved(null));
    expect(results(again)).toEqual([unknown("delegate")]); // What woke it is not its result.
    expect(results(again.answer("r1.call.0.a2", returned("done")))).toEqual(["delegate ok: done"]);
  });

  test("keeps what operations did while the turn waited, their nodes after the results", () => {
    const note = (body: string) => ({ nodes: [{ kind: "plugin", plugin: "notes", type: "note", body }] }) as const;
    const spent = [{ source: "report", model: "test/model", usage: { ...NO_USAGE, input: 7 }, calls: 1 }];
    const turn = asking("pay")
      .answer("r1.gate", gated(waits()))
      .apply({ appends: [note("one")], changes: { notes: { state: 1 } }, config: { label: "One" } })
      .apply({
        appends: [{ ...note("two"), operation: { name: "opr", hash: "h" } }],
        parts: [{ operation: "a", receipt: { n: 1 } }],
        changes: { notes: { state: 2 } },
        config: { label: "Two" },
        spent,
      })
      .answer("r1.call.0.w", approved)
      .answer("r1.call.0", returned("paid"));
    const { entries, ...rest } = kept(turn);
    expect(entries.map((entry) => (entry.kind === "message" ? entry.message.role : entry.kind))).toEqual([
      "user",
      "assistant",
      "tool",
      "plugin",
      "plugin",
    ]);
    expect(rest).toMatchObject({
      changes: { notes: { state: 2 } },
      config: { label: "Two" },
      applied: [{ operation: "a", receipt: { n: 1 } }],
      placed: [{ name: "opr", hash: "h", from: 4, count: 1 }],
      spent,
    });
  });

  test("shows no result that after-hooks had not seen, and shows what they made of one, also of an edited call", () => {
    const turn = tell(toolLoop)
      .until("r1.ask")
      .answer("r1.ask", replied(call("pay")))
      .answer("r1.gate", gated(waits()))
      .answer("r1.call.0.w", edited({ n: 1 }))
      .answer("r1.gate.1", gated(pass()))
      .answer("r1.call.0", returned("secret"));
    expect(results(turn)).toEqual([unknown("pay")]);
    expect(results(turn.answer("r1.settle", settles("[hidden]")))).toEqual(["pay ok: [hidden]"]);
  });
});
