// What hooks at the end of a turn are told of it.
import { definePlugin } from "bowline";
import { deny } from "bowline/plugin";
import type { Provider } from "bowline/provider";
import { both, calls, says, scripted } from "bowline/testing";
import { afterAll, expect, test } from "vitest";
import type { TurnReport } from "../../src/kernel/hook-values.ts";
import { cells } from "../code/cells.ts";
import { aborted } from "../kit/models.ts";
import { outline, within } from "../kit/reading.ts";
import { closeSandbox, sharedCode } from "../kit/sandbox.ts";
import { lifetimes, named, open, quickWorld } from "../kit/worlds.ts";

type ReportPhase = "afterTurn" | "turnFinalized" | "turnPersisted";

/** Gives the reports of a turn to the test, in every place where there is one. */
const reporting = (seen: (place: ReportPhase, report: TurnReport) => void) =>
  definePlugin({
    id: "acme/reports",
    setup: () => ({
      afterTurn: ({ report }) => seen("afterTurn", report),
      lifecycle: ({ event }) => {
        if ("report" in event) seen(event.kind, event.report);
      },
    }),
  })();

afterAll(closeSandbox);

const TOOLS = [
  named("quick"),
  named("broken", () => {
    throw new Error("Ouch.");
  }),
  named("secret"),
];
const guard = definePlugin({
  id: "acme/guard",
  setup: () => ({ beforeToolCall: { tools: ["secret"], run: () => deny("Not you.") } }),
})();

test("K1 hooks at the end of a turn get its messages, its calls with input, status and duration, and its rounds", async () => {
  const world = quickWorld();
  const slow = named("slow", async () => {
    await world.sleep(40);
    return "ok";
  });
  const reports = new Map<ReportPhase, TurnReport>();
  const model = scripted(
    both(calls("quick", { n: 1 }, "a"), calls("slow", { n: 2 }, "b"), calls("nobody", {}, "x")),
    both(calls("broken", {}, "c"), calls("secret", { n: 4 }, "d")),
    says("Done."),
  );
  const plugins = [guard, reporting((place, report) => void reports.set(place, report))];
  await using opened = await open(model, { plugins, tools: [...TOOLS, slow], world });
  await opened.session.turn("Go.").result();
  const { messages } = await opened.session.read();
  expect([...reports.keys()]).toEqual(["afterTurn", "turnFinalized", "turnPersisted"]);
  for (const report of reports.values()) {
    expect(report).toMatchObject({ outcome: { kind: "answered" }, rounds: 3 });
    expect(report.messages).toEqual(messages);
    expect(report.calls.map(({ name, input, status }) => ({ name, input, status }))).toEqual([
      { name: "quick", input: { n: 1 }, status: "ok" },
      { name: "slow", input: { n: 2 }, status: "ok" },
      { name: "nobody", input: {}, status: "failed" },
      { name: "broken", input: {}, status: "failed" },
      { name: "secret", input: { n: 4 }, status: "denied" },
    ]);
    const took = report.calls.map(({ durationMs }) => durationMs);
    expect(took[1]).toBeGreaterThanOrEqual(40);
    expect(took[4], "it was not made").toBeUndefined();
    expect(report.calls.map(({ id }) => id)).toEqual(
      messages.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === "toolCall" ? [part.callId] : []))),
    );
  }
});

test("K1 a report is put together when it is read: nothing of it is computed for hooks that do not look", async () => {
  const isGetter: boolean[] = [];
  const plugin = reporting((_, report) => {
    for (const field of ["messages", "calls"] as const)
      isGetter.push(typeof Object.getOwnPropertyDescriptor(report, field)?.get === "function");
  });
  await using world = await open(scripted(calls("quick"), says("Done.")), { plugins: [plugin], tools: TOOLS });
  await world.session.turn("Go.").result();
  expect(isGetter).toEqual(Array(6).fill(true));
});

test("K1 a report is data: it can be spread and stored, is the same at every read, and cannot be changed", async () => {
  const problems: unknown[] = [];
  const plugin = reporting((_, report) => {
    const copy = JSON.parse(JSON.stringify(report)) as TurnReport;
    expect({ ...report }).toEqual(copy);
    expect([copy.messages.length, copy.calls.length]).toEqual([4, 1]);
    expect(report.messages).toBe(report.messages);
    expect(report.calls).toBe(report.calls);
    for (const change of [
      () => Object.assign(report, { calls: [] }),
      () => Object.assign(report.outcome, { text: "Forged." }),
      () => (report.calls as unknown[]).push(1),
      () => Object.assign(report.calls[0]!, { status: "failed" }),
      () => Object.assign(report.messages[0]!, { role: "system" }),
    ])
      expect(change).toThrow(TypeError);
    problems.push("none");
  });
  await using world = await open(scripted(calls("quick"), says("Done.")), { plugins: [plugin], tools: TOOLS });
  const { issues, outcome } = await world.session.turn("Go.").result();
  expect([issues, outcome.kind, problems]).toEqual([[], "answered", ["none", "none", "none"]]);
});

test("K1 a report has the calls that code made", async () => {
  const found: unknown[] = [];
  const plugin = reporting((place, { calls: made }) => {
    if (place === "afterTurn") found.push(...made.map(({ name, input, status }) => [name, input, status]));
  });
  const cell = "await tools.quick({ n: 1 }); try { await tools.broken({}) } catch {}; finish(1)";
  await using world = await open(scripted(says(cell)), { plugins: [cells, sharedCode, plugin], tools: TOOLS });
  await world.session.turn("Go.").result();
  expect(found).toEqual([
    ["quick", { n: 1 }, "ok"],
    ["broken", {}, "failed"],
  ]);
});

test("K1 a turn that another process resumed reports the calls of both, with their durations", async () => {
  const processes = lifetimes();
  const begun = Promise.withResolvers<void>();
  const said = scripted(calls("quick", { n: 1 }));
  let asked = 0;
  const stuck: Provider = {
    ...said,
    async *stream(request, options) {
      if (++asked === 1) return yield* said.stream(request, options);
      begun.resolve();
      await aborted(options.signal);
    },
  };
  const first = await processes.next({ model: stuck, plugins: [reporting(() => {})], tools: TOOLS });
  (await first.runtime.session("s")).turn("Go.");
  await within(begun.promise);
  processes.kill();
  const reports: TurnReport[] = [];
  const second = await processes.next({
    model: scripted(calls("broken", { n: 2 }), says("Done.")),
    plugins: [reporting((_, report) => void reports.push(report))],
    tools: TOOLS,
  });
  const session = await second.runtime.session("s");
  await within(second.runtime.recover());
  const { messages } = await session.read();
  expect(reports).toHaveLength(3);
  for (const { calls: made, messages: added } of reports) {
    expect(made).toMatchObject([
      { name: "quick", input: { n: 1 }, status: "ok", durationMs: expect.any(Number) },
      { name: "broken", input: { n: 2 }, status: "failed", durationMs: expect.any(Number) },
    ]);
    expect(outline(added)).toEqual(outline(messages));
  }
  await second.runtime.close();
});
