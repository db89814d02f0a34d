import { describe, expect, test } from "vitest";
import { BOOM, cellLoop, toolLoop } from "../../test/turn/drivers.ts";
import { type AnswerContent, opening } from "../../test/turn/play.ts";
import {
  call,
  executed,
  failed,
  gated,
  names,
  pass,
  replied,
  replyOf,
  returned,
  settled,
  type Telling,
  tell,
} from "../../test/turn/tell.ts";
import { asBlobHash, asInputId } from "../model/ids.ts";
import type { Limits } from "../model/limits.ts";
import { text } from "../model/message.ts";
import type { Decision, ProtocolDriver } from "./driver.ts";
import { begin, step } from "./step.ts";

const is = (state: number) => ({ state });

const ABORT = { plugin: "acme/guard", code: "guard.no", message: "Not today." };
const userSays = (words: string) =>
  ({ inputId: asInputId(`inp ${words}`), message: { role: "user", parts: [text(words)] } }) as const;
const pluginSays = (words: string) =>
  ({ role: "user", parts: [text(words)], origin: { kind: "plugin", plugin: "acme/notes" } }) as const;
const toolSays = (control: object): AnswerContent => ({
  kind: "returned",
  output: { kind: "value", value: "ok", control } as never,
});

/** Up to the end of one call of `search`. */
const searching = (turn: Telling): Telling =>
  turn
    .until("r1.ask")
    .answer("r1.ask", replied("Let me look.", call("search")))
    .until("r1.call.0");

describe("S1 a turn ends", () => {
  test("answered, with the last thing the model said", () => {
    const turn = searching(tell(toolLoop))
      .answer("r1.call.0", returned("nine"))
      .until("r2.ask")
      .answer("r2.ask", replied("Nine kinds."));
    expect(turn.end()).toMatchObject({
      kind: "answered",
      text: "Nine kinds.",
      message: { role: "assistant", id: "trn_1.3" },
    });
    expect(turn.log).toEqual([
      "user: How many kinds of tiger?",
      "assistant: Let me look. [search]",
      "tool: [search ok: nine]",
      "assistant: Nine kinds.",
    ]);
  });

  test("finished by the model, with a value", () => {
    expect(tell(toolLoop).until("r1.ask").answer("r1.ask", replied("finish nine")).end()).toEqual({
      kind: "finished",
      by: "model",
      value: "nine",
    });
  });

  test("finished by the code that a model wrote", () => {
    const turn = tell(cellLoop)
      .until("r1.ask")
      .answer("r1.ask", replied("run count()"))
      .answer("r1.exec", executed("counted", { kinds: 9 }));
    expect(turn.end()).toEqual({ kind: "finished", by: "model", value: { kinds: 9 } });
  });

  test("finished by a tool, with a value", () => {
    const turn = searching(tell(toolLoop)).answer("r1.call.0", toolSays({ kind: "finish", by: "tool", value: 9 }));
    expect(turn.end()).toEqual({ kind: "finished", by: "tool", value: 9 });
    expect(turn.log.at(-1)).toBe("tool: [search ok: ok]");
  });

  test("stopped by a cancel", () => {
    const outcome = searching(tell(toolLoop)).cancel("wrong question").end();
    expect(outcome).toMatchObject({ kind: "stopped", by: "cancel", code: "turn.cancelled", text: "Let me look." });
    expect(outcome).toHaveProperty("reason", expect.stringContaining("wrong question"));
  });

  test("stopped by a limit", () => {
    const turn = searching(tell(toolLoop, { roundsMax: 1 }));
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "limit", code: "limit.rounds", text: "Let me look." });
  });

  test("stopped by a plugin, before any model was asked", () => {
    const turn = tell(toolLoop).answer("r1.prepare", {
      kind: "prepared",
      abort: ABORT,
      messages: [pluginSays("Wait.")],
    });
    expect(turn.open).toEqual(["finalize"]);
    expect(turn.end()).toEqual({ kind: "stopped", by: "plugin", code: "guard.no", reason: "Not today.", text: "" });
    expect(turn.log.at(-1)).toBe("user: Wait.");
  });

  test("stopped incomplete, when the reply was cut off, and its calls are not made", () => {
    const reply = { ...replyOf("Nine ki", call("search")), finish: "length" } as const;
    const turn = tell(toolLoop).until("r1.ask").answer("r1.ask", { kind: "replied", reply });
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "incomplete", code: "reply.truncated", text: "Nine ki" });
    expect(turn.log.at(-1)).toBe("tool: [search cancelled: Cancelled: The turn ended before this call was made.]");
  });

  test.each(["input", "unsupported"] as const)("stopped by the input, which the model refuses as %s", (kind) => {
    expect(tell(toolLoop).until("r1.ask").answer("r1.ask", failed(kind)).end()).toMatchObject({
      kind: "stopped",
      by: "input",
      reason: "It failed.",
    });
  });

  test.each(["auth", "rate-limit", "overloaded", "network", "timeout", "stream", "unknown"] as const)(
    "failed by the provider: %s",
    (kind) => {
      const turn = tell(toolLoop)
        .until("r1.ask")
        .answer("r1.ask", { ...failed(kind), partial: [text("Nine k")] } as AnswerContent);
      expect(turn.end()).toMatchObject({ kind: "failed", by: "provider", code: `${kind}.failed`, text: "Nine k" });
      expect(turn.log.at(-1)).toBe("partial: Nine k");
    },
  );

  test("failed by a tool, which names itself", () => {
    const turn = searching(tell(toolLoop)).answer(
      "r1.call.0",
      toolSays({ kind: "fail", code: "search.down", message: "No index." }),
    );
    expect(turn.end()).toMatchObject({ kind: "failed", by: "tool", code: "search.down", reason: "search: No index." });
  });

  test.each([
    ["r1.prepare", ""],
    ["r1.gate", "Let me look."],
    ["r1.settle", "Let me look."],
    ["r1.after-work", "Let me look."],
    ["finalize", "Let me look.\n\nNine kinds."],
  ])("failed by a plugin in %s, and what was said is kept", (effect, said) => {
    const turn = tell(toolLoop);
    if (effect !== "r1.prepare") turn.until("r1.ask").answer("r1.ask", replied("Let me look.", call("search")));
    turn.until(effect).answer(effect, failed("plugin"));
    expect(turn.end()).toMatchObject({ kind: "failed", by: "plugin", code: "plugin.failed", text: said });
  });

  test("failed by the runtime, when its protocol throws at a reply", () => {
    const turn = tell(toolLoop)
      .until("r1.ask")
      .answer("r1.ask", replied(BOOM, call("search")));
    expect(turn.end()).toMatchObject({ kind: "failed", by: "runtime", code: "protocol.failed", text: BOOM });
    expect(turn.log.at(-1)).toMatch("tool: [search cancelled");
  });

  test("failed by the runtime, when its protocol throws at the results", () => {
    const turn = searching(tell(toolLoop)).answer("r1.call.0", returned(BOOM));
    expect(turn.end()).toMatchObject({ kind: "failed", by: "runtime", code: "protocol.failed" });
    expect(turn.log.at(-1)).toBe(
      "tool: [search unknown: Unknown: The result of this call is missing. It is not known whether it took effect.]",
    );
  });

  test("failed by the runtime, when it was resumed more often than it may be", () => {
    const turn = tell(toolLoop, { resumesMax: 2 }).until("r1.ask").resume().resume();
    expect(turn.open).toEqual(["r1.ask"]);
    turn.resume();
    expect(turn.last.dropped).toEqual(["r1.ask"]);
    expect(turn.end()).toMatchObject({ kind: "failed", by: "runtime", code: "turn.crash-loop", text: "" });
  });

  test("once: a turn that has ended and is not committed yet may be resumed any number of times", () => {
    const turn = tell(toolLoop, { resumesMax: 1 });
    const outcome = turn.end();
    expect(turn.resume().resume().resume().end()).toBe(outcome);
  });
});

describe("rounds", () => {
  test("a turn prepares, asks, gates, calls, settles, looks around, and asks again", () => {
    const turn = tell(toolLoop);
    const seen = [...turn.open];
    turn.answer("r1.prepare", { kind: "prepared", prompt: asBlobHash("p"), catalog: asBlobHash("c") });
    for (const said of [
      replied(call("search")),
      gated(pass()),
      returned("nine"),
      settled(1),
      { kind: "bounded" } as const,
    ]) {
      const [effect] = turn.open;
      seen.push(effect as string);
      turn.answer(effect as string, said);
    }
    expect([...seen, ...turn.open]).toEqual([
      "r1.prepare",
      "r1.ask",
      "r1.gate",
      "r1.call.0",
      "r1.settle",
      "r1.after-work",
      "r2.prepare",
    ]);
  });

  test("response hooks see a reply before it is kept, where there are any", () => {
    const turn = tell(toolLoop)
      .answer("r1.prepare", { kind: "prepared", responds: true })
      .answer("r1.ask", replied("My key is 1234.", call("pay")));
    expect(turn.effect("r1.respond")).toMatchObject({ reply: replyOf("My key is 1234.", call("pay")) });
    expect(turn.log).toHaveLength(1);
    turn.answer("r1.respond", { kind: "responded", parts: [text("My key is ****.")] });
    expect(turn.end()).toMatchObject({ kind: "answered", text: "My key is ****." });
    expect(turn.log).toEqual(["user: How many kinds of tiger?", "assistant: My key is ****."]);
  });

  test("a response hook that fails ends the turn, and what the model said is kept", () => {
    const turn = tell(toolLoop)
      .answer("r1.prepare", { kind: "prepared", responds: true })
      .answer("r1.ask", replied("Let me look.", call("search")));
    expect(turn.answer("r1.respond", failed("plugin")).end()).toMatchObject({
      kind: "failed",
      by: "plugin",
      text: "Let me look.",
    });
    expect(turn.log.at(-1)).toMatch("tool: [search cancelled");
  });

  test("a crash loop while hooks look at a reply keeps the reply, which was paid for", () => {
    const turn = tell(toolLoop, { resumesMax: 0 }).answer("r1.prepare", { kind: "prepared", responds: true });
    turn.answer("r1.ask", replied("Let me look.", call("search"))).resume();
    expect(turn.end()).toMatchObject({ code: "turn.crash-loop", text: "Let me look." });
    expect(turn.log.slice(1)).toEqual([
      "assistant: Let me look. [search]",
      expect.stringMatching("tool: \\[search cancelled"),
    ]);
  });

  test.each(["failing hook", "grace"])("an empty reply leaves no empty message (%s)", (how) => {
    const turn = tell(toolLoop).answer("r1.prepare", { kind: "prepared", responds: true }).answer("r1.ask", replied());
    if (how === "grace") turn.cancel().answer("grace", { kind: "slept" });
    else turn.answer("r1.respond", failed("plugin"));
    turn.end();
    expect(turn.log).toEqual(["user: How many kinds of tiger?"]);
  });

  test("usage is the sum over rounds, failed ones included", () => {
    const turn = searching(tell(toolLoop)).until("r2.ask");
    turn.answer("r2.ask", { ...failed("network"), usage: { ...turn.state.usage, unknownCalls: 1 } } as AnswerContent);
    expect(turn.state.usage).toMatchObject({ input: 20, output: 10, unknownCalls: 1 });
  });

  test("plugin state changed by any effect is in the turn, the last value of each", () => {
    const turn = tell(toolLoop).answer("r1.prepare", { kind: "prepared", changes: { a: is(1), b: is(1) } });
    turn.happen({ kind: "applied", at: turn.at + 1, operation: "op", changes: { c: is(1) } });
    turn.answer("r1.ask", replied("Nine.")).answer("r1.before-completion", { kind: "bounded", changes: { b: is(2) } });
    turn.answer("finalize", { ...failed("plugin"), changes: { a: is(3) } } as AnswerContent);
    expect(turn.state.changes).toEqual({ a: is(3), b: is(2), c: is(1) });
  });

  test("what after-turn hooks want said is kept with the turn", () => {
    const turn = tell(toolLoop)
      .until("finalize")
      .answer("finalize", { kind: "finalized", messages: [pluginSays("Until next time.")] });
    expect(turn.end()).toMatchObject({ kind: "answered" });
    expect(turn.log.at(-1)).toBe("user: Until next time.");
  });

  test("nodes are numbered by their place in the turn", () => {
    const turn = searching(tell(toolLoop));
    turn.end();
    const ids = turn.state.log.items.map((entry) => (entry.kind === "message" ? entry.message.id : ""));
    expect(ids).toEqual(ids.map((_, index) => `trn_1.${index}`));
  });
});

describe("boundaries", () => {
  test.each([
    ["an input", { kind: "bounded", inputs: [userSays("And lions?")] }, "user: And lions?"],
    ["a message of a checkpoint hook", { kind: "bounded", messages: [pluginSays("Name them.")] }, "user: Name them."],
  ] as const)("%s before completion makes the turn continue, after the whole answer", (_what, said, line) => {
    const turn = tell(toolLoop)
      .until("r1.ask")
      .answer("r1.ask", replied({ kind: "reasoning", text: "Hm." }, "Nine kinds."));
    expect(turn.open).toEqual(["r1.before-completion"]);
    expect(turn.log.at(-1)).toBe("assistant: (Hm.) Nine kinds.");
    turn.answer("r1.before-completion", said);
    expect(turn.open).toEqual(["r2.prepare"]);
    expect(turn.log.slice(-2)).toEqual(["assistant: (Hm.) Nine kinds.", line]);
    expect(turn.until("r2.ask").answer("r2.ask", replied("One kind.")).end()).toMatchObject({
      kind: "answered",
      text: "One kind.",
    });
  });

  test("inputs taken at boundaries are settled by this turn's commit, and no others", () => {
    const turn = searching(tell(toolLoop)).until("r1.after-work");
    turn.answer("r1.after-work", { kind: "bounded", inputs: [userSays("And lions?"), userSays("And cats?")] });
    turn.end();
    expect(turn.state.inputs).toEqual(["inp_1", "inp And lions?", "inp And cats?"]);
    expect(turn.log.slice(3, 5)).toEqual(["user: And lions?", "user: And cats?"]);
  });

  test("a checkpoint hook can stop the turn, and the input that came with it is kept", () => {
    const turn = tell(toolLoop).until("r1.before-completion");
    turn.answer("r1.before-completion", { kind: "bounded", inputs: [userSays("And lions?")], abort: ABORT });
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "plugin", code: "guard.no" });
    expect(turn.log.at(-1)).toBe("user: And lions?");
  });

  test("calls that a protocol takes no notice of have results before anybody else speaks", () => {
    const deaf: ProtocolDriver = { ...toolLoop, onReply: () => ({ kind: "answer" }) };
    const turn = tell(deaf)
      .until("r1.ask")
      .answer("r1.ask", replied("Nine.", call("search")));
    turn.answer("r1.before-completion", { kind: "bounded", inputs: [userSays("And lions?")] });
    expect(turn.log.slice(1)).toEqual([
      "assistant: Nine. [search]",
      expect.stringMatching("tool: \\[search cancelled"),
      "user: And lions?",
    ]);
  });
});

describe("limits", () => {
  test("a turn asks a model as often as it may, and the last round's work is kept", () => {
    const turn = tell(toolLoop, { roundsMax: 3 });
    for (const round of [1, 2, 3]) turn.until(`r${round}.ask`).answer(`r${round}.ask`, replied(call("search")));
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "limit", code: "limit.rounds" });
    expect(turn.log.filter((line) => line.startsWith("tool:"))).toHaveLength(3);
  });

  test("an input at the last boundary is kept, though the turn must end", () => {
    const turn = tell(toolLoop, { roundsMax: 1 }).until("r1.before-completion");
    turn.answer("r1.before-completion", { kind: "bounded", inputs: [userSays("And lions?")] });
    expect(turn.end()).toMatchObject({ kind: "stopped", code: "limit.rounds" });
    expect(turn.state.inputs).toEqual(["inp_1", "inp And lions?"]);
  });

  test("rounds in which nothing succeeds are counted in a row, and one success starts the count again", () => {
    const turn = tell(toolLoop, { noProgressMax: 2 });
    const round = (number: number, outcome: AnswerContent): Telling =>
      turn
        .until(`r${number}.ask`)
        .answer(`r${number}.ask`, replied(call("search")))
        .until(`r${number}.call.0`)
        .answer(`r${number}.call.0`, outcome);
    const broken: AnswerContent = {
      kind: "returned",
      output: { kind: "failure", failure: { class: "failed", code: "tool.failed", message: "No." } },
    };
    round(1, broken);
    round(2, returned("nine"));
    round(3, broken);
    round(4, broken);
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "limit", code: "limit.no-progress" });
    expect(turn.state.round).toBe(4);
  });

  test("empty replies are not progress, and the model reads it each time", () => {
    const turn = tell(toolLoop, { noProgressMax: 2 }).until("r1.ask").answer("r1.ask", replied());
    turn.until("r2.ask").answer("r2.ask", replied());
    expect(turn.end()).toMatchObject({ kind: "stopped", by: "limit", code: "limit.no-progress" });
    expect(turn.log.slice(1)).toEqual(["user: You said nothing.", "user: You said nothing."]);
  });

  test.each([
    ["the model", (turn: Telling) => turn.until("r1.ask").answer("r1.ask", replied("task Count stripes"))],
    [
      "a tool",
      (turn: Telling) =>
        searching(turn)
          .answer("r1.call.0", toolSays({ kind: "switchFrame", task: "Count stripes" }))
          .until("r2.prepare"),
    ],
    [
      "the protocol's session",
      (turn: Telling) => turn.answer("r1.prepare", { kind: "prepared", frame: { task: "Count stripes" } }),
    ],
  ])("%s can switch to a new frame, as often as the limit allows", (_who, switchIn) => {
    const turn = switchIn(tell(toolLoop, { framesMax: 1 }));
    expect(turn.open).toEqual(["r2.prepare"]);
    expect(turn.log.slice(-2)).toEqual(["— task: Count stripes —", "user: Count stripes"]);
    turn.until("r2.ask").answer("r2.ask", replied("task Count again"));
    expect(turn.end()).toMatchObject({
      kind: "stopped",
      by: "limit",
      code: "limit.frames",
      text: expect.stringContaining("task Count again"),
    });
  });

  test("a seed is shown to the model in the new frame", () => {
    const turn = tell(toolLoop).answer("r1.prepare", {
      kind: "prepared",
      frame: { task: "Count stripes", seed: { of: "tigers" } },
    });
    expect(turn.log.at(-1)).toBe('user: Count stripes\n\n{"of":"tigers"}');
  });
});

describe("a context that overflows", () => {
  const overflowing = (compacts?: true): Telling =>
    tell(toolLoop)
      .answer("r1.prepare", { kind: "prepared", ...(compacts === undefined ? {} : { compacts }) })
      .answer("r1.ask", failed("context-overflow"));
  const seed: AnswerContent = { kind: "compacted", seed: [pluginSays("So far: nine kinds.")] };
  const full = { kind: "stopped", by: "limit", code: "limit.context" };

  test("is compacted into a new frame if there is a compactor, and the turn continues", () => {
    const turn = overflowing(true).answer("r1.compact", seed);
    expect(turn.open).toEqual(["r2.prepare"]);
    expect(turn.log.slice(1)).toEqual(["— compaction —", "user: So far: nine kinds."]);
    expect(turn.end()).toMatchObject({ kind: "answered" });
  });

  test("ends the turn where there is none", () => expect(overflowing().end()).toMatchObject(full));

  test.each([
    ["gives nothing", { kind: "compacted" }],
    ["gives an empty seed", { kind: "compacted", seed: [] }],
    ["fails", failed("plugin")],
  ] as const)("ends the turn when the compactor %s", (_how, said) =>
    expect(overflowing(true).answer("r1.compact", said).end()).toMatchObject(full),
  );

  test("ends the turn when it overflows again at once, but not when it does so later", () => {
    const again = overflowing(true)
      .answer("r1.compact", seed)
      .answer("r2.prepare", { kind: "prepared", compacts: true });
    expect(again.answer("r2.ask", failed("context-overflow")).end()).toMatchObject(full);

    const later = overflowing(true)
      .answer("r1.compact", seed)
      .until("r2.ask")
      .answer("r2.ask", replied(call("search")))
      .until("r3.prepare");
    later.answer("r3.prepare", { kind: "prepared", compacts: true }).answer("r3.ask", failed("context-overflow"));
    expect(later.open).toEqual(["r3.compact"]);
  });

  test("keeps calls of a cut-off reply paired on its own side of the frame", () => {
    const turn = tell(toolLoop).answer("r1.prepare", { kind: "prepared", compacts: true });
    turn
      .answer("r1.ask", { ...failed("context-overflow"), partial: [text("Let me"), call("search")] } as AnswerContent)
      .answer("r1.compact", seed);
    expect(turn.log.slice(1, 4)).toEqual([
      "partial: Let me [search]",
      expect.stringMatching("tool: \\[search cancelled"),
      "— compaction —",
    ]);
  });
});

describe("a compaction that a plugin wants", () => {
  const seed: AnswerContent = { kind: "compacted", seed: [pluginSays("So far: nine kinds.")] };
  const wanted = (limits?: Partial<Limits>): Telling =>
    tell(toolLoop, limits).answer("r1.prepare", { kind: "prepared", compacts: true, compact: true });

  test("comes before the model is asked, and the turn continues in the new frame", () => {
    const turn = wanted();
    expect(turn.open).toEqual(["r1.compact"]);
    turn.answer("r1.compact", seed);
    expect(turn.open).toEqual(["r2.prepare"]);
    expect(turn.log.slice(1)).toEqual(["— compaction —", "user: So far: nine kinds."]);
    expect(turn.end()).toMatchObject({ kind: "answered" });
  });

  test("takes no round from the turn", () =>
    expect(wanted({ roundsMax: 1 }).answer("r1.compact", seed).end()).toMatchObject({ kind: "answered" }));

  test.each([
    ["gives nothing", { kind: "compacted" }],
    ["fails", failed("plugin")],
  ] as const)("is passed over when the compactor %s: the window has not overflowed", (_how, said) => {
    const turn = wanted().answer("r1.compact", said);
    expect(turn.open).toEqual(["r1.ask"]);
    expect(turn.answer("r1.ask", failed("context-overflow")).end()).toMatchObject({ code: "limit.context" });
  });

  test("is skipped without a compactor", () =>
    expect(tell(toolLoop).answer("r1.prepare", { kind: "prepared", compact: true }).open).toEqual(["r1.ask"]));

  test("comes after the work of a round, once in two rounds", () => {
    const turn = tell(toolLoop)
      .answer("r1.prepare", { kind: "prepared", compacts: true })
      .answer("r1.ask", replied(call("search")))
      .until("r1.after-work")
      .answer("r1.after-work", { kind: "bounded", compact: true });
    expect(turn.open).toEqual(["r1.compact"]);
    turn.answer("r1.compact", seed).answer("r2.prepare", { kind: "prepared", compacts: true, compact: true });
    expect(turn.open).toEqual(["r2.ask"]);
  });

  test("does not keep a turn from its end", () => {
    const turn = tell(toolLoop)
      .answer("r1.prepare", { kind: "prepared", compacts: true })
      .until("r1.before-completion")
      .answer("r1.before-completion", { kind: "bounded", compact: true });
    expect(turn.end()).toMatchObject({ kind: "answered" });
    expect(turn.log).not.toContain("— compaction —");
  });
});

describe("a turn that merges", () => {
  const merging = (): Telling => tell(toolLoop, {}, { merges: true });
  const more = { inputId: asInputId("inp_2"), message: { role: "user", parts: [text("And lions?")] } } as const;

  test("takes in what waits before anything else happens", () => {
    const turn = merging();
    expect(turn.open).toEqual(["r1.opening"]);
    turn.answer("r1.opening", { kind: "bounded", inputs: [more] });
    expect(turn.open).toEqual(["r1.prepare"]);
    expect(turn.log).toEqual(["user: How many kinds of tiger?", "user: And lions?"]);
    expect(turn.state.inputs).toEqual(["inp_1", "inp_2"]);
    expect(turn.end()).toMatchObject({ kind: "answered" });
  });

  test("can be cancelled there", () =>
    expect(merging().cancel().answer("r1.opening", { kind: "bounded" }).end()).toMatchObject({
      code: "turn.cancelled",
    }));
});

describe("a protocol", () => {
  const deciding = (...decisions: readonly Decision[]): ProtocolDriver => ({
    ...toolLoop,
    onReply: ({ round }) => decisions[round - 1] as Decision,
  });

  const again = { kind: "calls", calls: [{ at: "0", call: { id: "c" as never, name: "search", input: {} } }] } as const;
  const cell = { kind: "cell", cell: { language: "ts", code: "1", acceptFinish: false } } as const;

  test("keeps notes from one decision to the next", () => {
    const turn = tell(toolLoop)
      .until("r1.ask")
      .answer("r1.ask", replied(call("search"), call("fetch")));
    turn.until("r2.ask").answer("r2.ask", replied(call("search")));
    expect(turn.state.memo).toBe(3);
  });

  test("sees only this turn's log, its limits and its notes", () => {
    const views: object[] = [];
    const curious: ProtocolDriver = {
      ...toolLoop,
      onReply(view, reply) {
        views.push(structuredClone(view));
        return toolLoop.onReply(view, reply);
      },
    };
    tell(curious).until("r1.ask").answer("r1.ask", replied("Nine."));
    expect(views).toEqual([
      { round: 1, memo: null, log: [expect.anything(), expect.anything()], limits: opening().limits },
    ]);
  });

  test.each([
    ["no calls", { kind: "calls", calls: [] }],
    ["two calls at one place", { kind: "calls", calls: [again.calls[0], again.calls[0]] }],
  ] as [string, Decision][])("that asks for %s fails", (_what, decision) => {
    const turn = tell(deciding(decision))
      .until("r1.ask")
      .answer("r1.ask", replied("Hm.", call("search")));
    expect(turn.end()).toMatchObject({ kind: "failed", by: "runtime", code: "protocol.failed", text: "Hm." });
    expect(turn.log.at(-1)).toMatch("tool: [search cancelled");
  });

  test("that shows no results has them shown as unknown, because the calls were made", () => {
    const turn = searching(tell({ ...toolLoop, onResults: () => ({ kind: "ask" }) })).until("r1.after-work");
    expect(turn.log.at(-1)).toBe(
      "tool: [search unknown: Unknown: The result of this call is missing. It is not known whether it took effect.]",
    );
  });

  test("that calls nothing an answer fails", () => {
    const turn = tell(deciding({ kind: "answer" }))
      .until("r1.ask")
      .answer("r1.ask", replied());
    expect(turn.end()).toMatchObject({ kind: "failed", by: "runtime", code: "protocol.failed" });
  });

  test.each([
    [
      "calls after calls",
      { ...toolLoop, onResults: (view, reply, results) => ({ ...toolLoop.onResults(view, reply, results), ...again }) },
    ],
    [
      "a cell after calls",
      { ...toolLoop, onResults: (view, reply, results) => ({ ...toolLoop.onResults(view, reply, results), ...cell }) },
    ],
  ] as [string, ProtocolDriver][])(
    "that wants more work in a round that has had its work fails: %s",
    (_what, driver) => {
      const turn = searching(tell(driver)).answer("r1.call.0", returned("nine"));
      expect(turn.end()).toMatchObject({ kind: "failed", by: "runtime", code: "protocol.failed" });
      expect(turn.log.at(-1)).toBe("tool: [search ok: nine]");
    },
  );
});

describe("an event that does not fit", () => {
  test("cannot open a turn again", () => {
    const { state } = begin(opening());
    expect(() => step(toolLoop, state, opening())).toThrow(expect.objectContaining({ code: "turn.diverged" }));
  });

  test("is not taken twice, nor for another effect, nor after the end", () => {
    const turn = searching(tell(toolLoop)).answer("r1.call.0", returned("nine"));
    const diverged = expect.objectContaining({ code: "turn.diverged" });
    expect(() => turn.answer("r1.call.0", returned("ten"))).toThrow(diverged);
    expect(() => turn.answer("r1.settle", returned("ten"))).toThrow(diverged);
    expect(() => turn.called("r1.settle", 0, "search")).toThrow(diverged);
    turn.end();
    expect(() => turn.answer("finalize", { kind: "finalized" })).toThrow(diverged);
    expect(names(turn.state.open)).toEqual([]);
  });

  test("leaves no trace: the turn continues as if the event had not been there", () => {
    const turn = searching(tell(toolLoop));
    expect(() => turn.answer("r1.call.0", { kind: "settled", results: [], changes: { a: is(1) } })).toThrow();
    turn.answer("r1.call.0", returned("nine"));
    expect(turn.state.changes).toEqual({});
    expect(turn.end()).toMatchObject({ kind: "answered" });
  });
});
