import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cellLoop, toolLoop } from "../../test/turn/drivers.ts";
import type { AnswerContent } from "../../test/turn/play.ts";
import {
  approved,
  broke,
  call,
  deferred,
  edited,
  failed,
  gated,
  names,
  pass,
  replied,
  resolved,
  returned,
  settled,
  settledAs,
  slept,
  type Telling,
  tell,
  waits,
} from "../../test/turn/tell.ts";
import { asCallId, asSessionId, asTurnId, asWaitKey } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import { text } from "../model/message.ts";
import { type CallPolicy, type RetryPolicy, TOOLS_STATE, type ToolFailure, type ToolOutput } from "../model/tool.ts";
import { NO_USAGE } from "../model/usage.ts";
import { argsHashOf } from "../model/wait.ts";
import type { ProtocolDriver } from "./driver.ts";
import type { Appending, Verdict } from "./event.ts";
import { itemsOf } from "./log.ts";
import { isOnlyWaiting } from "./state.ts";

const ABORT = { plugin: "acme/guard", code: "guard.no", message: "Not today." };

/** A turn whose model has just asked for these tools, and whose gate is open. */
function asking(tools: readonly string[], limits = {}): Telling {
  return tell(toolLoop, limits)
    .until("r1.ask")
    .answer("r1.ask", replied("Let me look.", ...tools.map((tool) => call(tool))));
}
/** The results as the model was shown them. */
const results = (turn: Telling): string => turn.log.find((line) => line.startsWith("tool:")) ?? "none";

describe("the gate", () => {
  test("is asked once for all calls of a reply, in their order, and nothing runs before it has answered", () => {
    const turn = asking(["search", "fetch"]);
    expect(turn.open).toEqual(["r1.gate"]);
    expect(turn.effect("r1.gate")).toMatchObject({
      calls: [
        { at: "0", call: { name: "search" } },
        { at: "1", call: { name: "fetch" } },
      ],
    });
  });

  test("lets pass, denies, answers in the tool's place or has somebody asked, call by call", () => {
    const denied: ToolOutput = {
      kind: "failure",
      failure: { class: "denied", code: "tool.denied", message: "Not this one." },
    };
    const turn = asking(["search", "rm", "cached", "pay"]);
    turn.answer(
      "r1.gate",
      gated(pass(), settledAs(denied), settledAs({ kind: "value", value: "from cache" }), waits()),
    );
    expect(turn.open).toEqual(["r1.call.3.w", "r1.call.0"]);
    turn
      .answer("r1.call.3.w", approved)
      .answer("r1.call.3", returned("paid"))
      .answer("r1.call.0", returned("nine"))
      .until("r1.after-work");
    expect(results(turn)).toBe(
      "tool: [search ok: nine] [rm denied: Error (tool.denied): Not this one.] [cached ok: from cache] [pay ok: paid]",
    );
  });

  test("may replace the input of a call", () => {
    const turn = asking(["search"]).answer("r1.gate", gated({ kind: "pass", input: { q: "safe" } }));
    expect(turn.effect("r1.call.0")).toMatchObject({ call: { name: "search", input: { q: "safe" } } });
  });

  test("that stops the turn lets no call run, asks nobody, and shows every call a result", () => {
    const turn = asking(["search", "pay", "cached"]);
    turn.answer("r1.gate", {
      ...gated(pass(), waits(), settledAs({ kind: "value", value: "from cache" })),
      abort: ABORT,
    } as AnswerContent);
    expect(turn.open).toEqual(["grace", "r1.settle"]);
    expect(names(turn.last.effects)).toEqual(["grace", "r1.settle"]);
    expect(turn.end()).toEqual({
      kind: "stopped",
      by: "plugin",
      code: "guard.no",
      reason: "Not today.",
      text: "Let me look.",
    });
    expect(results(turn)).toBe(
      "tool: [search cancelled: Cancelled: Not today.] [pay cancelled: Cancelled: Not today.] [cached ok: from cache]",
    );
  });

  test("that fails lets no call run either", () => {
    const turn = asking(["search", "pay"]).answer("r1.gate", failed("plugin", "The guard is asleep."));
    expect(turn.end()).toMatchObject({ kind: "failed", by: "plugin", code: "plugin.failed" });
    expect(results(turn)).toBe(
      "tool: [search cancelled: Cancelled: The guard is asleep.] [pay cancelled: Cancelled: The guard is asleep.]",
    );
  });

  test("does not see the calls beyond the limit for one reply; the model reads the limit", () => {
    const turn = asking(["search", "fetch", "pay"], { callsPerRoundMax: 2 });
    expect(turn.effect("r1.gate")).toMatchObject({ calls: [{ at: "0" }, { at: "1" }] });
    turn.until("r1.after-work");
    expect(results(turn)).toMatch(
      /\[pay failed: Error \(tool.too-many\): This call was not made: one reply, or one code cell, may make at most 2 calls/,
    );
  });
});

describe("T6 calls", () => {
  test("run side by side up to the limit, and the next starts when one returns", () => {
    const turn = asking(["a", "b", "c", "d"], { parallelCallsMax: 2 }).answer(
      "r1.gate",
      gated(pass(), pass(), pass(), pass()),
    );
    expect(turn.open).toEqual(["r1.call.0", "r1.call.1"]);
    turn.answer("r1.call.1", returned(1));
    expect(turn.open).toEqual(["r1.call.0", "r1.call.2"]);
  });

  test("are shown in the order asked, whatever the order of arrival", () => {
    const turn = asking(["a", "b", "c"]).answer("r1.gate", gated(pass(), pass(), pass()));
    for (const at of [2, 0, 1]) turn.answer(`r1.call.${at}`, returned(at));
    turn.until("r1.after-work");
    expect(results(turn)).toBe("tool: [a ok: 0] [b ok: 1] [c ok: 2]");
  });

  test.each([{ isSerial: true }, { writes: true }] as CallPolicy[])(
    "run alone, after the others, if the tool declares %j",
    (policy) => {
      const turn = asking(["a", "one", "b", "two"]).answer(
        "r1.gate",
        gated(pass(), pass(policy), pass(), pass(policy)),
      );
      const ran: (readonly string[])[] = [];
      while (!turn.open.includes("r1.settle")) {
        ran.push(turn.open);
        turn.answer(turn.open[0] as string, returned("ok"));
      }
      expect(ran).toEqual([["r1.call.0", "r1.call.2"], ["r1.call.2"], ["r1.call.1"], ["r1.call.3"]]);
    },
  );

  test("of a batch are calls like any other, named inside it", () => {
    const turn = asking([]).answer("r1.before-completion", {
      kind: "bounded",
      messages: [{ role: "user", parts: [text("Go on.")] }],
    });
    turn.until("r2.ask").answer("r2.ask", replied(call("search"), call("batch", { tools: ["a", "b"] })));
    turn.answer("r2.gate", gated(pass(), pass(), waits()));
    expect(turn.open).toEqual(["r2.call.1.1.w", "r2.call.0", "r2.call.1.0"]);
  });

  test("that wait are distinguished by their whole position", () => {
    const nested: ProtocolDriver = {
      ...toolLoop,
      onReply: () => ({
        kind: "calls",
        calls: ["0", "0.0"].map((at) => ({ at, call: { id: asCallId("c"), name: "pay", input: {} } })),
      }),
    };
    const turn = tell(nested)
      .until("r1.ask")
      .answer("r1.ask", replied(call("pay")))
      .answer("r1.gate", gated(waits(), waits()));
    expect(turn.answer("r1.call.0.0.w", approved).open).toEqual(["r1.call.0.w", "r1.call.0.0"]);
  });

  test("the first that decides about the turn counts, in the order asked", () => {
    const turn = asking(["a", "b", "c"]).answer("r1.gate", gated(pass(), pass(), pass()));
    turn.answer("r1.call.2", {
      kind: "returned",
      output: { kind: "value", value: 1, control: { kind: "finish", by: "tool", value: "late" } },
    });
    turn.answer("r1.call.1", {
      kind: "returned",
      output: { kind: "failure", failure: FAILURE, control: { kind: "fail", code: "b.no", message: "No." } },
    });
    expect(turn.answer("r1.call.0", returned(1)).end()).toMatchObject({ kind: "failed", by: "tool", code: "b.no" });
  });

  test("whose performer broke are a result like any other failure", () => {
    const turn = asking(["search"])
      .until("r1.call.0")
      .answer("r1.call.0", failed("runtime", "No memory."))
      .until("r1.after-work");
    expect(results(turn)).toBe("tool: [search failed: Error (runtime.failed): No memory.]");
  });
});

const FAILURE: ToolFailure = { class: "failed", code: "tool.failed", message: "It broke." };

describe("T7 a call that fails", () => {
  const retry = (policy: RetryPolicy, attempts = 3): CallPolicy => ({
    retry: { policy, attempts, baseMs: 100, maxMs: 250 },
  });
  const calling = (policy: CallPolicy): Telling => asking(["fetch"]).answer("r1.gate", gated(pass(policy)));

  test("is retried after a pause that doubles up to its maximum, as often as its policy allows", () => {
    const turn = calling(retry("idempotent", 4));
    const pauses: number[] = [];
    for (const [attempt, position] of [
      ["r1.call.0", 1],
      ["r1.call.0.a2", 2],
      ["r1.call.0.a3", 3],
    ] as const) {
      expect(turn.effect(attempt)).toMatchObject({ attempt: position, position: "r1.call.0", call: { name: "fetch" } });
      turn.answer(attempt, broke());
      pauses.push(turn.sleepMs(`r1.call.0.b${position}`));
      turn.answer(`r1.call.0.b${position}`, slept);
    }
    expect(pauses).toEqual([100, 200, 250]);
    turn.answer("r1.call.0.a4", broke());
    expect(turn.open).toEqual(["r1.settle"]);
    turn.until("r1.after-work");
    expect(results(turn)).toBe("tool: [fetch failed: Error (tool.failed): It broke.]");
  });

  test("waits as long as the tool asked for, but not longer than the policy allows", () => {
    expect(
      calling(retry("safe"))
        .answer("r1.call.0", broke({ isRetryable: true, retryAfterMs: 7 }))
        .sleepMs("r1.call.0.b1"),
    ).toBe(7);
    expect(
      calling(retry("safe"))
        .answer("r1.call.0", broke({ isRetryable: true, retryAfterMs: 60_000 }))
        .sleepMs("r1.call.0.b1"),
    ).toBe(250);
  });

  test.each([
    ["never", { isRetryable: true }, false],
    ["safe", {}, false],
    ["safe", { isRetryable: true }, true],
    ["safe", { class: "timeout" }, false],
    ["idempotent", {}, true],
    ["idempotent", { class: "timeout" }, true],
    ["idempotent", { class: "arguments" }, false],
    ["idempotent", { class: "denied" }, false],
    ["idempotent", { class: "limit" }, false],
  ] as [RetryPolicy, Partial<ToolFailure>, boolean][])(
    "under the policy %s, after %j, is tried again: %s",
    (policy, failure, isTried) => {
      expect(calling(retry(policy)).answer("r1.call.0", broke(failure)).open).toEqual([
        isTried ? "r1.call.0.b1" : "r1.settle",
      ]);
    },
  );

  test("is not tried again without a policy, nor when it was cancelled or is unknown", () => {
    expect(calling({}).answer("r1.call.0", broke({ isRetryable: true })).open).toEqual(["r1.settle"]);
    for (const kind of ["cancelled", "unknown"] as const)
      expect(
        calling(retry("idempotent")).answer("r1.call.0", { kind: "returned", output: { kind, reason: "gone" } }).open,
      ).toEqual(["r1.settle"]);
  });

  test("leaves its place to others while it pauses, and waits for one when it wakes", () => {
    const turn = asking(["a", "b"], { parallelCallsMax: 1 }).answer(
      "r1.gate",
      gated(pass(retry("idempotent")), pass()),
    );
    turn.answer("r1.call.0", broke());
    expect(turn.open).toEqual(["r1.call.0.b1", "r1.call.1"]);
    expect(turn.answer("r1.call.0.b1", slept).open).toEqual(["r1.call.1"]);
    expect(turn.answer("r1.call.1", returned(1)).open).toEqual(["r1.call.0.a2"]);
  });

  test("does not join a serial call when it wakes", () => {
    const turn = asking(["a", "serial"]).answer("r1.gate", gated(pass(retry("idempotent")), pass({ isSerial: true })));
    expect(turn.answer("r1.call.0", broke()).answer("r1.call.0.b1", slept).open).toEqual(["r1.call.1"]);
    expect(turn.answer("r1.call.1", returned(1)).open).toEqual(["r1.call.0.a2"]);
  });

  test("is tried exactly as often as the policy allows, whatever it fails with", () => {
    const policies = fc.record({
      policy: fc.constantFrom<RetryPolicy>("never", "safe", "idempotent"),
      attempts: fc.integer({ min: 1, max: 6 }),
      baseMs: fc.integer({ min: 1, max: 500 }),
      maxMs: fc.integer({ min: 1, max: 5_000 }),
    });
    fc.assert(
      fc.property(policies, fc.boolean(), (policy, isRetryable) => {
        const turn = calling({ retry: policy });
        const pauses: number[] = [];
        for (let attempt = 1; ; attempt++) {
          turn.answer(attempt === 1 ? "r1.call.0" : `r1.call.0.a${attempt}`, broke({ isRetryable }));
          if (turn.open.includes("r1.settle")) break;
          pauses.push(turn.sleepMs(`r1.call.0.b${attempt}`));
          turn.answer(`r1.call.0.b${attempt}`, slept);
        }
        const mayRetry = policy.policy === "idempotent" || (policy.policy === "safe" && isRetryable);
        expect(pauses).toEqual(
          Array.from({ length: mayRetry ? policy.attempts - 1 : 0 }, (_, n) =>
            Math.min(policy.baseMs * 2 ** n, policy.maxMs),
          ),
        );
      }),
      { numRuns: 200 },
    );
  });
});

describe("a call that waits", () => {
  const denied = "tool: [pay denied: Error (tool.denied): pay was not allowed: ";
  const after = " Do not try the same call again: find another way, or tell the user.";

  test.each([
    [
      "answered with no",
      { kind: "value", value: { approved: false, reason: "Too dear." } },
      `${denied}Too dear.${after}]`,
    ],
    ["answered with something else", { kind: "value", value: "yes" }, `${denied}it was not approved.${after}]`],
    ["answered with nothing", { kind: "value", value: null }, `${denied}it was not approved.${after}]`],
    ["not answered in time", { kind: "timeout" }, `${denied}nobody approved it in time.${after}]`],
    ["withdrawn", { kind: "revoked" }, `${denied}the request for approval was withdrawn.${after}]`],
  ] as const)("for approval does not run when the question is %s", (_how, answer, line) => {
    const turn = asking(["pay"]).answer("r1.gate", gated(waits())).answer("r1.call.0.w", { kind: "resolved", answer });
    expect(turn.open).toEqual(["r1.settle"]);
    turn.until("r1.after-work");
    expect(results(turn)).toBe(line);
  });

  test("for approval keeps its policy and its replaced input", () => {
    const verdict = {
      kind: "wait",
      key: asWaitKey("k"),
      until: 5,
      input: { eur: 1 },
      policy: { writes: true, onInterrupt: "fail" },
    } as const;
    const turn = asking(["pay"]).answer("r1.gate", gated(verdict));
    expect(turn.effect("r1.call.0.w")).toMatchObject({ kind: "wait", key: "k", until: 5 });
    expect(turn.answer("r1.call.0.w", approved).effect("r1.call.0")).toMatchObject({
      call: { input: { eur: 1 } },
      writes: true,
      onInterrupt: "fail",
    });
  });

  test("for a deferred result is settled with it, while other calls continue", () => {
    const turn = asking(["ask-bob", "search"]).answer("r1.gate", gated(pass(), pass())).answer("r1.call.0", deferred);
    expect(turn.open).toEqual(["r1.call.1", "r1.call.0.w1"]);
    turn
      .answer("r1.call.1", returned("nine"))
      .answer("r1.call.0.w1", { kind: "resolved", answer: { kind: "value", value: { value: "Bob says ten." } } });
    expect(turn.effect("r1.settle")).toMatchObject({
      results: [{ output: { value: "Bob says ten." } }, { output: { value: "nine" } }],
    });
  });

  test.each([{ kind: "timeout" }, { kind: "revoked" }] as const)(
    "for a deferred result that never comes is unknown: %j",
    (answer) => {
      const turn = asking(["ask-bob"])
        .until("r1.call.0")
        .answer("r1.call.0", deferred)
        .answer("r1.call.0.w1", { kind: "resolved", answer })
        .until("r1.after-work");
      expect(results(turn)).toMatch("tool: [ask-bob unknown: Unknown: ");
    },
  );

  test("first for approval and then for its result waits under two names", () => {
    const turn = asking(["pay"])
      .answer("r1.gate", gated(waits()))
      .answer("r1.call.0.w", approved)
      .answer("r1.call.0", deferred);
    expect(turn.open).toEqual(["r1.call.0.w1"]);
  });

  test("on a performer that breaks counts as not approved", () => {
    const turn = asking(["pay"])
      .answer("r1.gate", gated(waits()))
      .answer("r1.call.0.w", failed("runtime"))
      .until("r1.after-work");
    expect(results(turn)).toBe(`${denied}the request for approval was withdrawn.${after}]`);
  });
});

describe("T9 a call that was approved with other arguments", () => {
  const both = (): Telling => asking(["pay", "send"]).answer("r1.gate", gated(waits(), waits()));

  test("passes the gates again, which see that a person approved exactly these arguments, and then runs", () => {
    const turn = asking(["pay"])
      .answer("r1.gate", gated(waits()))
      .answer("r1.call.0.w", edited({ eur: 2 }));
    expect(turn.open).toEqual(["r1.gate.1"]);
    expect(turn.effect("r1.gate.1")).toMatchObject({
      calls: [{ at: "0", call: { input: { eur: 2 } }, isApproved: true }],
    });
    turn.answer("r1.gate.1", gated(pass()));
    expect(turn.effect("r1.call.0")).toMatchObject({ call: { name: "pay", input: { eur: 2 } }, attempt: 1 });
  });

  test("is not gated again when the arguments are as they were asked about", () => {
    expect(asking(["pay"]).answer("r1.gate", gated(waits())).answer("r1.call.0.w", approved).open).toEqual([
      "r1.call.0",
    ]);
  });

  test("was queued at once by the machine of before, and still is in its journals", () => {
    const before = tell(toolLoop, {}, { step: 2 })
      .until("r1.ask")
      .answer("r1.ask", replied(call("pay")))
      .answer("r1.gate", gated(waits()))
      .answer("r1.call.0.w", edited({ eur: 2 }));
    expect(before.effect("r1.call.0")).toMatchObject({ call: { input: { eur: 2 } } });
  });

  test("waits for the gate of another one, which is edited while the first is gated", () => {
    const turn = both()
      .answer("r1.call.0.w", edited({ n: 0 }))
      .answer("r1.call.1.w", edited({ n: 1 }));
    expect(turn.open).toEqual(["r1.gate.1"]);
    turn.answer("r1.gate.1", gated(pass()));
    expect(turn.open).toEqual(["r1.gate.2", "r1.call.0"]);
    expect(turn.effect("r1.gate.2")).toMatchObject({ calls: [{ at: "1", call: { input: { n: 1 } } }] });
    turn.answer("r1.gate.2", gated(pass()));
    expect(turn.open).toEqual(["r1.call.0", "r1.call.1"]);
  });

  test("has a separate gate when it is edited after the other ran", () => {
    const turn = both()
      .answer("r1.call.1.w", edited({ n: 1 }))
      .answer("r1.gate.1", gated(pass()))
      .answer("r1.call.1", returned("sent"))
      .answer("r1.call.0.w", edited({ n: 0 }));
    expect(turn.open).toEqual(["r1.gate.2"]);
    turn.answer("r1.gate.2", gated(pass())).answer("r1.call.0", returned("paid")).until("r1.after-work");
    expect(results(turn)).toBe("tool: [pay ok: paid] [send ok: sent]");
  });

  test("is gated together with others that were edited while nothing could be gated", () => {
    const turn = asking(["write", "pay", "send"])
      .answer("r1.gate", gated(pass({ writes: true }), waits(), waits()))
      .answer("r1.call.1.w", edited({ n: 1 }))
      .answer("r1.call.2.w", edited({ n: 2 }));
    expect(turn.open).toEqual(["r1.call.0"]); // A gate may write plugin state, and so may the call.
    turn.answer("r1.call.0", returned("written"));
    expect(turn.effect("r1.gate.1")).toMatchObject({ calls: [{ at: "1" }, { at: "2" }] });
  });

  test("is gated while calls run that write no state", () => {
    const turn = asking(["search", "pay"]).answer("r1.gate", gated(pass(), waits()));
    turn.answer("r1.call.1.w", edited({ eur: 2 }));
    expect(turn.open).toEqual(["r1.call.0", "r1.gate.1"]);
    turn.answer("r1.call.0", returned("nine")).answer("r1.gate.1", gated(pass()));
    expect(turn.open).toEqual(["r1.call.1"]);
  });

  test("does not run when the second gate denies it", () => {
    const no: ToolOutput = { kind: "failure", failure: { class: "denied", code: "tool.denied", message: "Too much." } };
    const turn = asking(["pay"])
      .answer("r1.gate", gated(waits()))
      .answer("r1.call.0.w", edited({ eur: 200 }))
      .answer("r1.gate.1", gated(settledAs(no)))
      .until("r1.after-work");
    expect(results(turn)).toBe("tool: [pay denied: Error (tool.denied): Too much.]");
  });

  test("is asked about again, under another name, where the second gate wants that: a hook replaced what was approved", () => {
    const again: Verdict = {
      kind: "wait",
      key: asWaitKey("again"),
      until: 9_999,
      reason: "Rounded.",
      input: { eur: 3 },
    };
    const turn = asking(["pay"])
      .answer("r1.gate", gated(waits()))
      .answer("r1.call.0.w", edited({ eur: 2.5 }))
      .answer("r1.gate.1", gated(again));
    expect(turn.open).toEqual(["r1.call.0.w.1"]);
    expect(turn.effect("r1.call.0.w.1")).toMatchObject({ key: "again", about: { call: { input: { eur: 3 } } } });
    turn.answer("r1.call.0.w.1", approved);
    expect(turn.effect("r1.call.0")).toMatchObject({ call: { input: { eur: 3 } } });
  });

  test("may be edited once more, and is gated once more", () => {
    const turn = asking(["pay"])
      .answer("r1.gate", gated(waits()))
      .answer("r1.call.0.w", edited({ eur: 2 }))
      .answer("r1.gate.1", gated(waits()))
      .answer("r1.call.0.w.1", edited({ eur: 1 }));
    expect(turn.effect("r1.gate.2")).toMatchObject({ calls: [{ call: { input: { eur: 1 } }, isApproved: true }] });
  });

  test.each([
    ["the gate answers", (turn: Telling) => turn.answer("r1.gate.1", gated(pass()))],
    ["the gate wants to ask again", (turn: Telling) => turn.answer("r1.gate.1", gated(waits()))],
    ["the gate does not answer in time", (turn: Telling) => turn.answer("grace", slept)],
    ["the gate fails", (turn: Telling) => turn.answer("r1.gate.1", failed("plugin"))],
  ])("does not run when the turn is cancelled while it is gated again, and %s", (_how, then) => {
    const turn = asking(["search", "pay"])
      .answer("r1.gate", gated(pass(), waits()))
      .answer("r1.call.1.w", edited({ eur: 2 }))
      .cancel();
    expect(turn.open).toEqual(["r1.call.0", "r1.gate.1", "grace"]);
    turn.answer("r1.call.0", returned("nine"));
    expect(turn.open).not.toContain("r1.settle"); // The gate may still write plugin state.
    then(turn);
    expect(turn.open).toContain("r1.settle");
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "cancel" });
    expect(results(turn)).toMatch(/^tool: \[search ok: nine\] \[pay cancelled: /);
  });

  test("in a cell is gated with what the cell calls next", () => {
    const turn = tell(cellLoop)
      .until("r1.ask")
      .answer("r1.ask", replied("run pay()"))
      .called("r1.exec", 0, "pay")
      .answer("r1.exec.gate.0", gated(waits()))
      .answer("r1.exec.call.0.w", edited({ eur: 2 }));
    expect(turn.effect("r1.exec.gate.1")).toMatchObject({ calls: [{ call: { input: { eur: 2 } }, isApproved: true }] });
    turn.answer("r1.exec.gate.1", gated(pass()));
    expect(turn.open).toContain("r1.exec.call.0");
  });
});

describe("T9 the trail of a call", () => {
  const asks = (more: Partial<Extract<Verdict, { kind: "wait" }>> = {}): Verdict =>
    ({ ...waits(), reason: "It costs money.", plugin: "acme/guard", ...more }) as Verdict;
  const asked = { kind: "approval", reason: "It costs money.", plugin: "acme/guard" } as const;
  const paying = (input: Json = { eur: 5 }): Telling =>
    tell(toolLoop)
      .until("r1.ask")
      .answer("r1.ask", replied(call("pay", input)));

  test("shows who was asked about it, when, about which arguments, and the answer", () => {
    const turn = paying().answer("r1.gate", gated(asks()));
    const at = turn.at;
    turn.answer("r1.call.0.w", resolved({ approved: true, reason: "Fine.", remember: true }, "Bob"));
    const answer = { how: "answered", at: at + 1, by: "Bob", approved: true, reason: "Fine.", remember: true };
    turn.until("r1.after-work");
    expect(turn.trails).toEqual([
      { callId: "call_pay", name: "pay", asked: [{ ...asked, argsHash: argsHashOf({ eur: 5 }), at, answer }] },
    ]);
  });

  test.each([
    ["no answer in time", { kind: "timeout" }, { how: "timeout" }],
    ["a question that was taken back", { kind: "revoked", by: "Ann" }, { how: "revoked", by: "Ann" }],
    [
      "a no",
      { kind: "value", value: { approved: false, reason: "Too dear.", remember: 60_000 }, by: "Bob" },
      { how: "answered", by: "Bob", approved: false, reason: "Too dear.", remember: 60_000 },
    ],
  ] as const)("shows %s", (_what, answer, told) => {
    const turn = paying().answer("r1.gate", gated(asks())).answer("r1.call.0.w", { kind: "resolved", answer });
    turn.until("r1.after-work");
    expect(turn.trails).toEqual([
      {
        callId: "call_pay",
        name: "pay",
        asked: [expect.objectContaining({ answer: { at: expect.any(Number), ...told } })],
      },
    ]);
  });

  test("shows the edit, and the arguments that really ran", () => {
    const turn = paying()
      .answer("r1.gate", gated(asks()))
      .answer("r1.call.0.w", edited({ eur: 2 }, "Bob"))
      .answer("r1.gate.1", gated(asks({ reason: "Still.", input: { eur: 3 } })))
      .answer("r1.call.0.w.1", approved)
      .until("r1.after-work");
    expect(turn.trails).toMatchObject([
      {
        input: { eur: 3 },
        asked: [
          { argsHash: argsHashOf({ eur: 5 }), answer: { approved: true, isEdited: true, by: "Bob" } },
          { argsHash: argsHashOf({ eur: 3 }), reason: "Still.", answer: { approved: true } },
        ],
      },
    ]);
    expect(turn.trails[0]?.asked?.[1]?.answer).not.toHaveProperty("isEdited");
  });

  test("shows the arguments that really ran if a hook replaced the model's arguments", () => {
    const turn = paying()
      .answer("r1.gate", gated({ kind: "pass", input: { eur: 4 } }))
      .until("r1.after-work");
    expect(turn.trails).toEqual([{ callId: "call_pay", name: "pay", input: { eur: 4 } }]);
  });

  test("shows a late result and a question under their separate kinds", () => {
    const turn = asking(["fetch", "survey"])
      .answer("r1.gate", gated(pass(), pass()))
      .answer("r1.call.0", deferred)
      .answer("r1.call.1", { kind: "deferred", key: asWaitKey("q"), until: 9_999, question: "A coat?" })
      .answer("r1.call.1.w1", resolved({ value: "blue" }, "Bob"))
      .answer("r1.call.0.w1", { kind: "resolved", answer: { kind: "timeout" } })
      .until("r1.after-work");
    expect(turn.trails).toMatchObject([
      { name: "fetch", asked: [{ kind: "result", answer: { how: "timeout" } }] },
      { name: "survey", asked: [{ kind: "question", reason: "A coat?", answer: { how: "answered", by: "Bob" } }] },
    ]);
    expect(turn.trails[1]?.asked?.[0]?.answer).not.toHaveProperty("approved"); // It was no decision.
  });

  test("is kept also where no plugin sees gates and results", () => {
    const turn = tell(toolLoop)
      .until("r1.prepare")
      .answer("r1.prepare", { kind: "prepared", skips: { gate: true, settle: true } })
      .answer("r1.ask", replied(call("fetch")))
      .answer("r1.call.0", deferred)
      .answer("r1.call.0.w1", resolved({ value: 9 }));
    turn.until("r1.after-work"); // It is settled by an effect, so that its end is shown.
    expect(turn.trails).toMatchObject([{ name: "fetch", asked: [{ kind: "result", answer: { how: "answered" } }] }]);
  });

  test("of an interrupted call shows whether it was allowed to run again", () => {
    const turn = asking(["pay"])
      .answer("r1.gate", gated(pass({ onInterrupt: "ask" })))
      .resume()
      .answer("r1.call.0", { kind: "interrupted", key: asWaitKey("again?"), until: 9_999 })
      .answer("r1.call.0.w1", resolved({ approved: false }, "Bob"))
      .until("r1.after-work");
    expect(turn.trails).toMatchObject([{ asked: [{ kind: "interrupted", answer: { approved: false, by: "Bob" } }] }]);
  });

  test("has no answer where the turn was stopped first", () => {
    const turn = paying().answer("r1.gate", gated(asks())).cancel();
    turn.end();
    expect(turn.trails).toMatchObject([{ asked: [asked] }]);
    expect(turn.trails[0]?.asked?.[0]).not.toHaveProperty("answer");
  });

  test("of calls in a batch stands with the result of the batch, each under its own name", () => {
    const inside = (at: number, tool: string) => ({
      at: `1.${at}`,
      call: { id: asCallId(`call_batch.${at}`), parentId: asCallId("call_batch"), name: tool, input: {} },
    });
    const batches: ProtocolDriver = {
      ...toolLoop,
      onReply: () => ({
        kind: "calls",
        calls: [
          { at: "0", call: { id: asCallId("call_search"), name: "search", input: {} } },
          inside(0, "look"),
          inside(1, "pay"),
        ],
      }),
    };
    const turn = tell(batches)
      .until("r1.ask")
      .answer("r1.ask", replied(call("search"), call("batch", { tools: ["look", "pay"] })))
      .answer("r1.gate", gated(pass(), { kind: "pass", input: { far: true } }, asks()))
      .answer("r1.call.1.1.w", resolved({ approved: true }, "Bob"))
      .until("r1.after-work");
    expect(turn.trails).toMatchObject([
      { callId: "call_batch.0", name: "look", input: { far: true } },
      { callId: "call_batch.1", name: "pay", asked: [{ answer: { by: "Bob" } }] },
    ]);
    const [tools] = itemsOf(turn.state.log).flatMap((entry) =>
      entry.kind === "message" && entry.message.role === "tool" ? [entry.message.parts] : [],
    );
    expect(tools?.map((part) => part.kind === "toolResult" && part.trail?.length)).toEqual([undefined, 2]);
  });

  test("is shown to after-hooks with the result", () => {
    const turn = paying()
      .answer("r1.gate", gated(asks()))
      .answer("r1.call.0.w", resolved({ approved: true }, "Bob"));
    turn.until("r1.settle");
    expect(turn.effect("r1.settle")).toMatchObject({ results: [{ asked: [{ ...asked, answer: { by: "Bob" } }] }] });
  });

  test("is left out of calls to which nothing else happened", () => {
    const turn = asking(["search", "fetch"]).until("r1.after-work");
    expect(turn.trails).toEqual([]);
  });
});

describe("T8 what was given as a result", () => {
  test.each([
    ["a value", { value: { coats: 4 } }, '[fetch ok: {"coats":4}]'],
    ["nothing", { value: null }, "[fetch ok: null]"],
    ["an error", { error: "No such coat." }, "[fetch failed: Error (tool.rejected): No such coat.]"],
    ["an error with a code", { error: "Gone.", code: "coat.gone" }, "[fetch failed: Error (coat.gone): Gone.]"],
  ])("is shown as it was given: %s", (_what, given, line) => {
    const turn = asking(["fetch"])
      .until("r1.call.0")
      .answer("r1.call.0", deferred)
      .answer("r1.call.0.w1", resolved(given))
      .until("r1.after-work");
    expect(results(turn)).toBe(`tool: ${line}`);
  });

  test("is not tried again when it is an error, whatever the policy: the call was made, and this is what it came to", () => {
    const policy: CallPolicy = { retry: { policy: "idempotent", attempts: 3, baseMs: 1, maxMs: 1 } };
    const turn = asking(["fetch"])
      .answer("r1.gate", gated(pass(policy)))
      .answer("r1.call.0", deferred)
      .answer("r1.call.0.w1", resolved({ error: "No." }));
    expect(turn.open).toEqual(["r1.settle"]);
  });

  test("reaches the call that waited for it, in whatever order the answers come", () => {
    const turn = asking(["a", "b", "c"]).answer("r1.gate", gated(pass(), pass(), pass()));
    for (const at of [0, 1, 2]) turn.answer(`r1.call.${at}`, deferred);
    expect(isOnlyWaiting(turn.state)).toBe(true);
    for (const at of [2, 0, 1]) turn.answer(`r1.call.${at}.w1`, resolved({ value: at }));
    turn.until("r1.after-work");
    expect(results(turn)).toBe("tool: [a ok: 0] [b ok: 1] [c ok: 2]");
  });
});

describe("T8 a call that waits for turns of other sessions", () => {
  const child = { sessionId: asSessionId("child"), turnId: asTurnId("trn_child") };
  const onTurns = (cancels?: true): AnswerContent => ({
    kind: "deferred",
    key: asWaitKey("key"),
    until: 9_999,
    on: { kind: "turns", turns: [child], need: "all", ...(cancels === undefined ? {} : { cancels }) },
  });
  const calling = (policy?: CallPolicy): Telling => asking(["delegate"]).answer("r1.gate", gated(pass(policy)));

  test("asks nobody, and leaves no trail", () => {
    const turn = calling().answer("r1.call.0", onTurns());
    expect(turn.effect("r1.call.0.w1")).toMatchObject({ kind: "wait", about: { kind: "turns", turns: [child] } });
    expect(isOnlyWaiting(turn.state)).toBe(true);
    turn.answer("r1.call.0.w1", resolved(null)).answer("r1.call.0.a2", returned("done")).until("r1.after-work");
    expect(turn.trails).toEqual([]);
  });

  test.each([
    ["they have ended", resolved(null)],
    ["its time is up", { kind: "resolved", answer: { kind: "timeout" } } as AnswerContent],
    ["it was taken back", { kind: "resolved", answer: { kind: "revoked" } } as AnswerContent],
  ])("is made again as the next attempt at the same position, once %s", (_when, answer) => {
    const turn = calling().answer("r1.call.0", onTurns()).answer("r1.call.0.w1", answer);
    expect(turn.effect("r1.call.0.a2")).toMatchObject({ attempt: 2, position: "r1.call.0" });
    turn.answer("r1.call.0.a2", onTurns()).answer("r1.call.0.w2", resolved(null));
    turn.answer("r1.call.0.a3", returned("Two of two.")).until("r1.after-work");
    expect(results(turn)).toBe("tool: [delegate ok: Two of two.]");
  });

  test("can end in a different kind of result: the next attempt defers to a person", () => {
    const turn = calling()
      .answer("r1.call.0", onTurns())
      .answer("r1.call.0.w1", resolved(null))
      .answer("r1.call.0.a2", deferred)
      .answer("r1.call.0.w2", resolved({ value: "Bob's." }))
      .until("r1.after-work");
    expect(results(turn)).toBe("tool: [delegate ok: Bob's.]");
  });

  test("has as many attempts as its policy allows, however often it resumed", () => {
    const turn = calling({ retry: { policy: "idempotent", attempts: 2, baseMs: 1, maxMs: 1 } });
    turn.answer("r1.call.0", onTurns()).answer("r1.call.0.w1", resolved(null));
    turn.answer("r1.call.0.a2", onTurns()).answer("r1.call.0.w2", resolved(null));
    turn.answer("r1.call.0.a3", broke());
    expect(turn.open).toEqual(["r1.call.0.b3"]);
    turn.answer("r1.call.0.b3", slept).answer("r1.call.0.a4", broke());
    expect(turn.open).toEqual(["r1.settle"]);
  });

  test("names those turns to be cancelled with it, where the tool said so", () => {
    expect(calling().answer("r1.call.0", onTurns(true)).cancel().state.stops).toMatchObject([{ turns: [child] }]);
    expect(calling().answer("r1.call.0", onTurns()).cancel().state.stops).toBeUndefined();
  });

  test("names no turns to cancel when it resumes, nor when its turn is cancelled after that", () => {
    const turn = calling().answer("r1.call.0", onTurns(true)).answer("r1.call.0.w1", resolved(null)).cancel();
    expect(turn.state.stops).toBeUndefined();
  });

  test("is unknown when its turn is cancelled: it may have taken effect", () => {
    const turn = calling().answer("r1.call.0", onTurns(true)).cancel();
    turn.end();
    expect(results(turn)).toMatch(/^tool: \[delegate unknown: /);
  });

  test("ends as its tool said when its turn is cancelled", () => {
    const failure: ToolFailure = { class: "failed", code: "agent.stopped", message: "It was stopped." };
    const turn = calling()
      .answer("r1.call.0", { ...onTurns(true), ifStopped: failure } as AnswerContent)
      .cancel();
    turn.end();
    expect(results(turn)).toBe("tool: [delegate failed: Error (agent.stopped): It was stopped.]");
  });

  test("counts among the calls that run at once: its work continues", () => {
    const turn = asking(["delegate", "search", "fetch"], { parallelCallsMax: 2 });
    turn.answer("r1.gate", gated(pass(), pass(), pass())).answer("r1.call.0", onTurns());
    expect(turn.open).toEqual(["r1.call.1", "r1.call.0.w1"]);
    turn.answer("r1.call.0.w1", resolved(null));
    expect(turn.open).toEqual(["r1.call.1", "r1.call.0.a2"]);
    turn.answer("r1.call.0.a2", returned("done"));
    expect(turn.open).toEqual(["r1.call.1", "r1.call.2"]);
  });

  test("waits beside other calls, which continue", () => {
    const turn = asking(["delegate", "pay"])
      .answer("r1.gate", gated(pass(), waits()))
      .answer("r1.call.0", onTurns())
      .answer("r1.call.1.w", approved)
      .answer("r1.call.1", returned("paid"));
    expect(turn.open).toEqual(["r1.call.0.w1"]);
  });
});

describe("D4 an operation in a turn that only waits", () => {
  const waiting = (): Telling => asking(["pay"]).answer("r1.gate", gated(waits()));
  const noted = (body: string): Appending => ({ nodes: [{ kind: "plugin", plugin: "notes", type: "note", body }] });

  test("opens and drops nothing: the turn continues to wait", () => {
    const turn = waiting().apply({ changes: { notes: { state: 1 } } });
    expect([turn.open, turn.last.effects, turn.last.dropped]).toEqual([["r1.call.0.w"], [], []]);
  });

  test("changes states, whole and by plugin; what the turn changes later counts over it", () => {
    const turn = waiting()
      .apply({ changes: { notes: { state: 1 }, plan: { state: "a" } } })
      .apply({ changes: { notes: { state: 2 } } })
      .answer("r1.call.0.w", { ...approved, changes: { plan: { state: "b" } } } as AnswerContent);
    expect(turn.state.changes).toEqual({ notes: { state: 2 }, plan: { state: "b" } });
  });

  test("has its nodes after the results of the round, in the order in which operations ran", () => {
    const turn = waiting()
      .apply({ appends: [noted("first")] })
      .apply({
        appends: [
          noted("second"),
          { nodes: [{ kind: "message", message: { role: "user", parts: [text("By the way.")] } }] },
        ],
      });
    expect(turn.log.at(-1)).toBe("assistant: Let me look. [pay]"); // I4: nothing stands between a call and its result.
    turn.answer("r1.call.0.w", approved).until("r1.after-work");
    expect(turn.log.slice(-4)).toEqual([
      expect.stringMatching(/^tool: \[pay ok/),
      "plugin notes",
      "plugin notes",
      "user: By the way.",
    ]);
  });

  test("has its nodes after the results also when the turn is stopped", () => {
    const turn = waiting()
      .apply({ appends: [noted("first")] })
      .cancel();
    turn.end();
    expect(turn.log.slice(-2)).toEqual([expect.stringMatching(/^tool: \[pay cancelled/), "plugin notes"]);
  });

  test("appends what it names once, also when a tool of the round appends the same", () => {
    const named = { ...noted("once"), operation: { name: "opr", hash: "h" } };
    const turn = waiting()
      .apply({ appends: [named] })
      .answer("r1.call.0.w", approved)
      .answer("r1.call.0", { ...returned("paid"), appends: [named] } as AnswerContent)
      .until("r1.after-work");
    expect(turn.log.filter((line) => line === "plugin notes")).toHaveLength(1);
    expect(turn.state.placed).toMatchObject([{ name: "opr", hash: "h", count: 1 }]);
  });

  test("leaves the settings for the next turn, the last ones counting", () => {
    const turn = waiting()
      .apply({ config: { label: "One" } })
      .apply({ config: { label: "Two", instructions: "Be kind." } });
    turn.answer("r1.call.0.w", approved);
    turn.end();
    expect(turn.state.config).toEqual({ label: "Two", instructions: "Be kind." });
  });

  test("leaves its receipts and what it spent to the commit", () => {
    const spent = [{ source: "report", model: "test/model", usage: { ...NO_USAGE, input: 7 }, calls: 1 }];
    const turn = waiting()
      .apply({ parts: [{ operation: "a", receipt: { n: 1 } }], spent })
      .apply({ parts: [{ operation: "b", receipt: null }] });
    turn.end();
    expect(turn.state.applied).toEqual([
      { operation: "a", receipt: { n: 1 } },
      { operation: "b", receipt: null },
    ]);
    expect(turn.state.spent).toEqual(spent);
  });

  test("that changes the session's tools makes the next round prepare again", () => {
    const turn = tell(toolLoop)
      .until("r1.prepare")
      .answer("r1.prepare", { kind: "prepared", skips: { prepare: true } })
      .answer("r1.ask", replied(call("pay")))
      .answer("r1.gate", gated(waits()))
      .apply({ changes: { [TOOLS_STATE]: { state: {} } } })
      .answer("r1.call.0.w", approved);
    expect(turn.until("r2.prepare").open).toEqual(["r2.prepare"]);
  });

  test("shows that the turn made progress: a crash loop is counted from there", () => {
    const running = asking(["pay", "slow"], { resumesMax: 1 }).answer("r1.gate", gated(waits(), pass())).resume();
    expect(running.state.resumes).toBe(1);
    expect(running.apply().state.resumes).toBe(0);
  });
});

describe("a call that a crash interrupted", () => {
  const interrupted = (key?: string): AnswerContent => ({
    kind: "interrupted",
    ...(key === undefined ? {} : { key: asWaitKey(key), until: 9_999 }),
  });
  const unknown =
    "tool: [pay unknown: Unknown: pay was interrupted, and it is not known whether it took effect. Check before you call it again.]";
  const asks = (): Telling =>
    asking(["pay"])
      .answer("r1.gate", gated(pass({ onInterrupt: "ask" })))
      .resume()
      .answer("r1.call.0", interrupted("again?"));

  test("is not made again if the tool forbids it, and the model reads that the result is unknown", () => {
    const turn = asking(["pay"])
      .answer("r1.gate", gated(pass({ onInterrupt: "fail" })))
      .resume();
    expect(turn.effect("r1.call.0")).toMatchObject({ onInterrupt: "fail" });
    turn.answer("r1.call.0", interrupted()).until("r1.after-work");
    expect(results(turn)).toBe(unknown);
  });

  test("is made again as another attempt, at the same position, when a person decides so", () => {
    const turn = asks();
    expect(turn.open).toEqual(["r1.call.0.w1"]);
    turn.answer("r1.call.0.w1", approved);
    expect(turn.effect("r1.call.0.a2")).toMatchObject({ attempt: 2, position: "r1.call.0" });
    turn.answer("r1.call.0.a2", interrupted("and again?"));
    expect(turn.answer("r1.call.0.w2", approved).open).toEqual(["r1.call.0.a3"]);
  });

  test.each([
    [
      "a person refuses",
      (turn: Telling) =>
        turn.answer("r1.call.0.w1", { kind: "resolved", answer: { kind: "value", value: { approved: false } } }),
    ],
    [
      "nobody answers in time",
      (turn: Telling) => turn.answer("r1.call.0.w1", { kind: "resolved", answer: { kind: "timeout" } }),
    ],
    ["the turn is cancelled", (turn: Telling) => turn.cancel()],
  ])("stays unknown, because it may have taken effect, when %s", (_what, then) => {
    const turn = then(asks());
    expect(turn.open).toContain("r1.settle");
    turn.end();
    expect(results(turn)).toBe(unknown);
  });
});

describe("settling", () => {
  test("is done once for all results, in call order, and what hooks make of one is what the model is shown", () => {
    const turn = asking(["search", "fetch"]).answer("r1.gate", gated(pass(), pass()));
    turn.answer("r1.call.1", returned("raw")).answer("r1.call.0", returned("nine"));
    expect(turn.effect("r1.settle")).toMatchObject({
      results: [
        { at: "0", output: { value: "nine" } },
        { at: "1", output: { value: "raw" } },
      ],
    });
    turn.answer("r1.settle", { kind: "settled", results: [null, { parts: [text("clean")] }] });
    expect(results(turn)).toBe("tool: [search ok: nine] [fetch ok: clean]");
  });

  test("may replace a result, also by a denial", () => {
    const output: ToolOutput = {
      kind: "failure",
      failure: { class: "denied", code: "tool.denied", message: "Secret." },
    };
    const turn = asking(["search"])
      .until("r1.settle")
      .answer("r1.settle", { kind: "settled", results: [{ output }] });
    expect(results(turn)).toBe("tool: [search denied: Error (tool.denied): Secret.]");
  });

  test("may add messages, which come after the results", () => {
    const turn = asking(["search"]).until("r1.settle");
    turn.answer("r1.settle", {
      kind: "settled",
      results: [null],
      messages: [{ role: "user", parts: [text("Mind the date.")] }],
    });
    expect(turn.log.slice(-2)).toEqual([expect.stringMatching("tool: "), "user: Mind the date."]);
  });

  test("may stop the turn, and is not done again for it", () => {
    const turn = asking(["search"])
      .until("r1.settle")
      .answer("r1.settle", { ...settled(1), abort: ABORT } as AnswerContent);
    expect(turn.open).toEqual(["grace", "finalize"]);
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "plugin", code: "guard.no" });
    expect(results(turn)).toMatch("tool: [search ok: ");
  });

  test("that fails shows no result as it was: a hook may be there to take something out", () => {
    const turn = asking(["search", "fetch"]).answer("r1.gate", gated(pass(), pass()));
    turn
      .answer("r1.call.0", returned("secret"))
      .answer("r1.call.1", returned("secret"))
      .answer("r1.settle", failed("plugin", "The filter broke."));
    expect(turn.end()).toMatchObject({ kind: "failed", by: "plugin" });
    expect(results(turn)).toBe(
      "tool: [search unknown: Unknown: The filter broke.] [fetch unknown: Unknown: The filter broke.]",
    );
  });

  test("that a crash loop prevents shows what ran as unknown, and what never ran as cancelled", () => {
    const turn = asking(["a", "b", "c", "d"], { resumesMax: 0, parallelCallsMax: 2 }).answer(
      "r1.gate",
      gated(pass(), pass(), pass(), waits()),
    );
    turn.answer("r1.call.0", returned("secret")).resume();
    expect(turn.end()).toMatchObject({ kind: "failed", by: "runtime", code: "turn.crash-loop" });
    expect(results(turn).match(/\w+ (unknown|cancelled)/g)).toEqual([
      "a unknown",
      "b unknown",
      "c unknown",
      "d cancelled",
    ]);
  });
});
