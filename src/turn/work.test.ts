import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toolLoop } from "../../test/turn/drivers.ts";
import type { Said } from "../../test/turn/play.ts";
import {
  approved,
  broke,
  call,
  deferred,
  failed,
  gated,
  names,
  pass,
  replied,
  returned,
  settled,
  settledAs,
  slept,
  type Telling,
  tell,
  waits,
} from "../../test/turn/tell.ts";
import { asCallId, asWaitKey } from "../model/ids.ts";
import { text } from "../model/message.ts";
import type { CallPolicy, RetryPolicy, ToolFailure, ToolOutput } from "../model/tool.ts";
import type { ProtocolDriver } from "./driver.ts";

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
    } as Said);
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

  test("does not see the calls beyond the limit for one reply; the model is told", () => {
    const turn = asking(["search", "fetch", "pay"], { callsPerRoundMax: 2 });
    expect(turn.effect("r1.gate")).toMatchObject({ calls: [{ at: "0" }, { at: "1" }] });
    turn.until("r1.after-work");
    expect(results(turn)).toMatch(
      /\[pay failed: Error \(tool.too-many\): This call was not made: one reply may make at most 2 calls/,
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
    "run alone, after the others, where the tool says %j",
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

  test("that wait are told apart by their whole position", () => {
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

  test("is tried again after a pause that doubles up to its longest, as often as its policy says", () => {
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

  test("is tried exactly as often as the policy says, whatever it fails with", () => {
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
    ["said no", { kind: "value", value: { approved: false, reason: "Too dear." } }, `${denied}Too dear.${after}]`],
    ["said something else", { kind: "value", value: "yes" }, `${denied}it was not approved.${after}]`],
    ["said nothing", { kind: "value", value: null }, `${denied}it was not approved.${after}]`],
    ["did not answer in time", { kind: "timeout" }, `${denied}nobody approved it in time.${after}]`],
    ["was taken away", { kind: "revoked" }, `${denied}the request for approval was withdrawn.${after}]`],
  ] as const)("for approval does not run when whoever was asked %s", (_how, answer, line) => {
    const turn = asking(["pay"]).answer("r1.gate", gated(waits())).answer("r1.call.0.w", { kind: "resolved", answer });
    expect(turn.open).toEqual(["r1.settle"]);
    turn.until("r1.after-work");
    expect(results(turn)).toBe(line);
  });

  test("for approval is made with the arguments that whoever approved it has edited", () => {
    const turn = asking(["pay"]).answer("r1.gate", gated(waits()));
    turn.answer("r1.call.0.w", {
      kind: "resolved",
      answer: { kind: "value", value: { approved: true, args: { eur: 2 } } },
    });
    expect(turn.effect("r1.gate.1")).toMatchObject({ calls: [{ call: { input: { eur: 2 } }, isApproved: true }] });
    turn.answer("r1.gate.1", gated(pass()));
    expect(turn.effect("r1.call.0")).toMatchObject({ call: { name: "pay", input: { eur: 2 } } });
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

  test("for a deferred result is settled with it, while others go on", () => {
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

describe("a call that a crash interrupted", () => {
  const interrupted = (key?: string): Said => ({
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

  test("is not made again where the tool says so, and the model is told", () => {
    const turn = asking(["pay"])
      .answer("r1.gate", gated(pass({ onInterrupt: "fail" })))
      .resume();
    expect(turn.effect("r1.call.0")).toMatchObject({ onInterrupt: "fail" });
    turn.answer("r1.call.0", interrupted()).until("r1.after-work");
    expect(results(turn)).toBe(unknown);
  });

  test("is made again as another attempt, at the same position, when somebody says so", () => {
    const turn = asks();
    expect(turn.open).toEqual(["r1.call.0.w1"]);
    turn.answer("r1.call.0.w1", approved);
    expect(turn.effect("r1.call.0.a2")).toMatchObject({ attempt: 2, position: "r1.call.0" });
    turn.answer("r1.call.0.a2", interrupted("and again?"));
    expect(turn.answer("r1.call.0.w2", approved).open).toEqual(["r1.call.0.a3"]);
  });

  test.each([
    [
      "somebody says no",
      (turn: Telling) =>
        turn.answer("r1.call.0.w1", { kind: "resolved", answer: { kind: "value", value: { approved: false } } }),
    ],
    [
      "nobody says anything",
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
      .answer("r1.settle", { ...settled(1), abort: ABORT } as Said);
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
