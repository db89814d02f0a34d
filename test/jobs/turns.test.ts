import { defer, definePlugin, defineTool, type Json } from "bowline";
import type { AppendNode } from "bowline/plugin";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, recited, says } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { listener } from "../kit/models.ts";
import { codeOf, eventually, outline, signalOf, within, wordsOf } from "../kit/reading.ts";
import { file, STORES } from "../kit/stores.ts";
import { open, running, runningOn } from "../kit/worlds.ts";

const said = (text: string): AppendNode => ({ kind: "message", role: "user", text });

describe.each(STORES)("on %s", (_, store) => {
  test("J1 K18 what a tool begins starts with its answer, and nothing of it is there when the tool fails", async () => {
    const begun: string[] = [];
    const start = defineTool({
      name: "start",
      description: "Starts.",
      input: z.object({ fails: z.boolean() }),
      retry: { policy: "idempotent", attempts: 2, baseMs: 1, maxMs: 1 },
      execute: async ({ fails }, { jobs, attempt }) => {
        const { id } = await jobs.spawn({ label: `fails ${fails}` }, () => void begun.push(String(fails)));
        const far = await jobs.register({ label: `far ${fails}` });
        for (const job of [id, far.id]) expect(await codeOf(jobs.await([job]))).toBe("job.unstarted");
        expect(await codeOf(jobs.get(id))).toBe("job.unstarted");
        expect(begun).toEqual([]);
        if (fails || attempt === 1) throw new Error("No.");
        return id;
      },
    });
    const model = recited(calls("start", { fails: true }), calls("start", { fails: false }), says("Done."));
    await using world = await open(model, { store: store(), tools: [start] });
    const { turnId } = await world.session.turn("Go").result();
    const records = await world.session.jobs.list();
    expect(records.map(({ label }) => label)).toEqual(["fails false", "far false"]);
    expect(records[0]?.parent).toEqual({ turnId });
    await world.session.jobs.await([records[0]?.id ?? ""]);
    expect(begun).toEqual(["false"]);
  });

  test("J1 a tool that begins the same job in every attempt begins it once, and its own ids count once", async () => {
    let attempts = 0;
    const start = defineTool({
      name: "start",
      description: "Starts.",
      input: z.object({}),
      execute: async (_input, { jobs }) => {
        attempts++;
        const mine = await jobs.register({ label: "mine", id: "mine" });
        const other = await jobs.register({ label: "generated" });
        expect(await codeOf(jobs.register({ label: "else", id: "mine" }))).toBe("job.conflict");
        if (attempts === 1) return defer({ jobs: ["over"] });
        return [mine.id, other.id];
      },
    });
    await using world = await open(recited(calls("start"), says("Done.")), { store: store(), tools: [start] });
    await world.session.jobs.register({ label: "over", id: "over" });
    await world.session.jobs.complete("over", "completed");
    await world.session.turn("Go").result();
    expect(attempts).toBe(2);
    expect((await world.session.jobs.list()).map(({ label }) => label)).toEqual(["over", "mine", "generated"]);
  });

  test("J1 what a command or a task begins starts with its change, and not when it fails", async () => {
    const begun: Json[] = [];
    const plugin = definePlugin({
      id: "test/begins",
      setup: ({ command, task }) => ({
        operations: {
          go: command({
            input: z.object({ fails: z.boolean() }),
            run: async ({ input, jobs }) => {
              const { id } = await jobs.spawn({ label: "go" }, () => void begun.push(input.fails));
              expect(await codeOf(jobs.await([id]))).toBe("job.unstarted");
              await jobs.spawn({ label: "after", operation: "note", input: { n: 1 } });
              if (input.fails) throw new Error("No.");
              return id;
            },
          }),
          note: task({ input: z.object({ n: z.number() }), run: ({ input }) => void begun.push(input.n) }),
        },
      }),
    });
    await using runtime = await running({ store: store(), plugins: [plugin()] });
    const session = await runtime.session("s");
    expect(await codeOf(session.command(plugin, "go", { fails: true }))).toBe("operation.failed");
    expect(await session.jobs.list()).toEqual([]);
    const { output } = await session.command(plugin, "go", { fails: false }, { operationId: "once" });
    await session.command(plugin, "go", { fails: false }, { operationId: "once" });
    const all = await session.jobs.list();
    await session.jobs.await(all.map(({ id }) => id));
    expect(all.map(({ id, label }) => [id === output, label])).toEqual([
      [true, "go"],
      [false, "after"],
    ]);
    expect([...begun].sort()).toEqual([1, false]);
  });

  test("J1 onParentEnd cancels a turn's jobs when the turn is committed; other jobs continue", async () => {
    const started = signalOf();
    const start = defineTool({
      name: "start",
      description: "Starts.",
      input: z.object({}),
      execute: async (_input, { jobs }) => {
        for (const onParentEnd of ["cancel", "keep"] as const) {
          await jobs.register({ label: `far ${onParentEnd}`, onParentEnd });
          await jobs.spawn({ label: `near ${onParentEnd}`, onParentEnd }, ({ signal }) => {
            started.resolve();
            return new Promise((resolve) => signal.addEventListener("abort", () => resolve("stopped")));
          });
        }
        return "started";
      },
    });
    await using world = await open(recited(calls("start"), says("Done.")), { store: store(), tools: [start] });
    await world.session.turn("Go").result();
    const { jobs } = world.session;
    await started.promise;
    const near = (await jobs.list()).find(({ label }) => label === "near cancel");
    await within(jobs.await([near?.id ?? ""]), 5_000);
    const states = (await jobs.list()).map(({ label, state }) => [label, state]);
    expect(Object.fromEntries(states)).toEqual({
      "far cancel": "cancelled",
      "near cancel": "cancelled",
      "far keep": "running",
      "near keep": "running",
    });
    await jobs.cancelAll();
  });

  test("J1 a hidden job of the turn before appends, `context` awaits it, and the model sees the node once", async () => {
    const heard = listener();
    const slow = signalOf();
    const memory = definePlugin({
      id: "test/memory",
      setup: () => ({
        context: {
          deadlineMs: 20,
          run: async ({ jobs, session }) => {
            const before = session.read().messages.length;
            const records = await jobs.awaitHidden({ timeoutMs: 5_000 });
            expect(records.every(({ state }) => state === "completed")).toBe(true);
            if (records.length > 0) expect(session.read().messages).toHaveLength(before + 1);
          },
        },
        lifecycle: async ({ event, jobs }) => {
          if (event.kind !== "turnPersisted" || event.report.messages.length > 2) return;
          await jobs.spawnHidden("observe", async ({ graph }) => {
            await slow.promise;
            const answer = await graph.append([said("Observed: they like tea.")]);
            expect(answer.kind).toBe("queued"); // Accepting it is the answer: nobody waits for the turn.
          });
        },
      }),
    });
    await using world = await open(heard, { store: store(), plugins: [memory()] });
    await world.session.turn("I like tea.").result();
    const second = world.session.turn("What do I like?");
    await second.id;
    setTimeout(slow.resolve, 60); // Longer than the hook's own time.
    expect((await second.result()).outcome).toMatchObject({ kind: "answered" });
    const request = heard.requests.at(-1);
    expect(request?.messages.map(wordsOf).filter((words) => words.startsWith("Observed"))).toHaveLength(1);
    const kept = (await world.session.read()).messages.map(wordsOf);
    expect(kept.filter((words) => words.startsWith("Observed"))).toHaveLength(1);
    expect(kept.indexOf("Observed: they like tea.")).toBeGreaterThan(kept.indexOf("What do I like?"));
  });

  test("J1 what a hidden job appends and nobody awaits is taken in at a boundary, or at the end of the turn", async () => {
    const [inTool, appended] = [signalOf(), signalOf()];
    const slow = defineTool({
      name: "slow",
      description: "Slow.",
      input: z.object({}),
      execute: async () => {
        inTool.resolve();
        await appended.promise;
        return "ok";
      },
    });
    await using world = await open(recited(calls("slow"), says("Done.")), { store: store(), tools: [slow] });
    const turn = world.session.turn("Go");
    await inTool.promise;
    await world.session.jobs.spawnHidden("notes", async ({ graph }) => {
      await graph.append([said("By the way.")]);
      appended.resolve();
    });
    await turn.result();
    expect(outline((await world.session.read()).messages).filter((line) => line.includes("By the way"))).toHaveLength(
      1,
    );
  });

  test("J6 wakes open turns, in order, each once; a notice waits for the next boundary", async () => {
    const heard = listener();
    await using world = await open(heard, { store: store() });
    const { jobs } = world.session;
    const { id } = await jobs.spawn({ label: "Count", wake: "wake" }, async ({ wake }) => {
      await wake("Ten so far.");
      await wake("Keep it in mind.", { isNotice: true });
      await wake("Twenty so far.");
      return { total: 20 };
    });
    const record = (await jobs.await([id]))[0];
    expect(record).toMatchObject({ state: "completed", wakes: 4 });
    await eventually(async () => ((await world.session.read()).turns === 3 ? true : undefined), 5_000);
    const users = (await world.session.read()).messages.filter(({ role }) => role === "user").map(wordsOf);
    expect(users.filter((words) => !words.startsWith("Keep"))).toEqual([
      "Ten so far.",
      "Twenty so far.",
      `[Background job] "Count" (${id}) is done. Its result: {"total":20}`,
    ]);
    expect(users.filter((words) => words.startsWith("Keep"))).toHaveLength(1);
    const [first] = (await world.session.read()).messages;
    expect(first?.origin).toMatchObject({ kind: "plugin", plugin: "bowline/jobs" });
  });

  test("J6 the end of a failed or abandoned job wakes, that of a cancelled one does not, and too many are lost visibly", async () => {
    await using world = await open(listener(), { store: store(), limits: { jobWakesMax: 2 } });
    const { jobs } = world.session;
    const failed = await jobs.spawn({ label: "Fails", wake: "notify" }, () => {
      throw new Error("No luck.");
    });
    const cancelled = await jobs.spawn(
      { label: "Stopped", wake: "wake" },
      ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)),
    );
    const loud = await jobs.spawn({ label: "Loud", wake: "notify" }, async ({ wake }) => {
      for (let n = 0; n < 5; n++) await wake(`Line ${n}`, { isNotice: true });
    });
    await jobs.cancel(cancelled.id);
    await jobs.await([failed.id, loud.id]);
    const inputs = await world.session.inputs.list();
    expect(inputs.map(({ at }) => at)).toEqual(inputs.map(() => "injected"));
    const texts = inputs.map(({ text }) => text);
    expect(texts.filter((text) => text.startsWith("Line"))).toEqual(["Line 0", "Line 1"]);
    expect(texts.some((text) => text.includes('"Fails"') && text.includes("No luck."))).toBe(true);
    expect(texts.some((text) => text.includes('"Stopped"'))).toBe(false);
    expect(await jobs.get(loud.id)).toMatchObject({ wakes: 6 });
  });

  test("J6 registered work wakes its session when its end is reported, wherever the session is by then", async () => {
    await using runtime = await running({ store: store(), model: listener() });
    const [one, two] = [await runtime.session("one"), await runtime.session("two")];
    const { id } = await one.jobs.register({ label: "Build", wake: "wake" });
    await one.jobs.transfer("one", "two", [id]);
    await two.jobs.complete(id, { state: "completed", result: "green" });
    await two.jobs.complete(id, { state: "completed", result: "green" });
    await eventually(async () => ((await two.read()).turns === 1 ? true : undefined), 5_000);
    expect((await one.read()).turns).toBe(0);
    expect((await two.read()).messages.map(wordsOf)[0]).toContain("green");
  });

  test("S4 an input that is sent later arrives once, at its time, and can be taken back", async () => {
    await using world = await open(listener(), { store: store() });
    const { session } = world;
    const first = await session.sendAfter(60, "Soon.", { key: "k" });
    expect(await session.sendAfter(60, "Soon.", { key: "k" })).toEqual(first);
    expect(await codeOf(session.sendAfter(60, "Else.", { key: "k" }))).toBe("input.conflict");
    const never = await session.sendAt(new Date(Date.now() + 80), "Never.");
    const record = await session.jobs.get(never.jobId);
    expect(record).toMatchObject({ label: "Later: Never.", state: "running", starts: 0 });
    expect(await session.jobs.cancel(never.jobId)).toMatchObject({ state: "cancelled" });
    for (const bad of [Number.NaN, "tomorrow" as never, new Date("x")])
      expect(await codeOf(session.sendAt(bad, "x"))).toBe("options.invalid");
    expect(await codeOf(session.sendAfter(-1, "x"))).toBe("options.invalid");
    expect(await codeOf(session.sendAfter(1, ""))).toBe("input.invalid");
    await within(session.jobs.await([first.jobId]), 3_000);
    const { outcome } = await within(session.follow(first.turnId).result(), 3_000);
    expect(outcome.kind).toBe("answered");
    expect((await session.read()).turns).toBe(1);
  });
});

// ── Turns that wait for jobs ────────────────────────────────────────────────────────────────────────────────────────

const waits = (need: "any" | "all" = "all") =>
  defineTool({
    name: "wait",
    description: "Waits.",
    input: z.object({ ids: z.array(z.string()) }),
    execute: async ({ ids }, { jobs, attempt }) => {
      if (attempt === 1) return defer({ jobs: ids, need });
      return (await jobs.list()).map(({ label, state }) => `${label} ${state}`);
    },
  });

test("J2 T8 a turn that waits for jobs is parked, and any process resumes it when the jobs have ended", async () => {
  const path = file();
  const model = (): Provider => recited(calls("wait", { ids: ["a", "b"] }), says("Done."));
  const limits = { parkAfterMs: 10 };
  await using first = await runningOn(path, { model: model(), tools: [waits()], limits });
  const session = await first.session("s");
  for (const id of ["a", "b"]) await session.jobs.register({ label: id, id });
  const turn = session.turn("Go");
  const turnId = await turn.id;
  const store = sqlite(path, { durability: "process" });
  await eventually(async () => ((await store.find(turnId))?.state === "parked" ? true : undefined), 5_000);
  await using second = await runningOn(path, { model: model(), tools: [waits()], limits });
  await second.jobs.of("s").complete("a", "completed");
  await second.jobs.of("s").transition("b", "idle"); // Idle counts as ended.
  const { outcome } = await within(turn.result(), 5_000);
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(outline((await session.read()).messages).join("\n")).toContain("a completed");
  store.close();
}, 20_000);

test("J2 T8 a turn resumes with any of its jobs; missing jobs count as ended; a cancel reaches them", async () => {
  const cancels = defineTool({
    name: "cancels",
    description: "Waits.",
    input: z.object({}),
    execute: () => defer({ jobs: ["slow"], cancels: true }),
  });
  await using world = await open(
    recited(both(calls("wait", { ids: ["none", "slow"] }, "one")), says("Any."), calls("cancels"), says("Never.")),
    { tools: [waits("any"), cancels], limits: { parkAfterMs: 10 } },
  );
  await world.session.jobs.register({ label: "slow", id: "slow" });
  expect((await within(world.session.turn("Go").result(), 3_000)).outcome).toMatchObject({ text: "Any." });
  const turn = world.session.turn("Again");
  const turnId = await turn.id;
  for await (const event of turn) if (event.kind === "toolStarted") break;
  await world.session.cancel(turnId);
  expect((await within(turn.result(), 5_000)).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  expect((await world.session.jobs.get("slow")).state).toBe("cancelled");
});

test("J1 a task that changes its session ends when no turn has that: a turn that awaits it waits for its time only", async () => {
  const found: string[] = [];
  const notes = definePlugin({
    id: "test/notes",
    state: z.object({ made: z.number().default(0) }),
    setup: ({ task, query }) => ({
      operations: {
        note: task({
          run: async ({ job, state }) => {
            await job?.receive("go");
            state.update(({ made }) => ({ made: made + 1 }));
          },
        }),
        made: query({ run: ({ state }) => state.get().made }),
      },
      context: async ({ jobs }) => {
        await jobs.signal("note", "go");
        found.push(...(await jobs.awaitHidden({ timeoutMs: 100 })).map(({ state }) => state));
      },
    }),
  });
  await using world = await open(recited(says("Hello.")), { plugins: [notes()] });
  const job = { id: "note", label: "Note", operation: "test/notes.note", signals: { go: {} } } as const;
  await world.session.jobs.spawn({ ...job, visibility: "hidden" });
  expect((await world.session.turn("Hello.").result()).outcome.kind).toBe("answered");
  expect(found).toEqual(["running"]);
  expect((await within(world.session.jobs.await(["note"])))[0]?.state).toBe("completed");
  expect(await world.session.query(notes, "made")).toBe(1);
});

test("J5 S9 what a job pays while a turn is open is booked once, by that turn or its commit", async () => {
  for (const isAwaited of [true, false]) {
    const [paid, end] = [signalOf(), signalOf()];
    const pays = definePlugin({
      id: "test/pays",
      setup: ({ task }) => ({
        operations: { pay: task({ run: ({ complete }) => complete.text("Sum it up.", { label: "summary" }) }) },
        context: async ({ jobs }) => {
          if (isAwaited) expect((await jobs.awaitHidden({ timeoutMs: 2_000 }))[0]?.state).toBe("completed");
          else await end.promise;
        },
      }),
    });
    await using world = await open(recited(says("Short."), says("Hello.")), { plugins: [pays()] });
    const turn = world.session.turn("Hello.");
    await turn.id;
    const { id } = await world.session.jobs.spawn({ label: "P", operation: "test/pays.pay", visibility: "hidden" });
    if (!isAwaited) await within(world.session.jobs.await([id])).then(() => paid.resolve());
    end.resolve();
    await within(turn.result(), 4_000);
    await within(world.session.jobs.await([id]));
    const { ledger } = await world.runtime.sessions.usage(world.session.id);
    expect(ledger.filter(({ source }) => source === "summary").map(({ calls }) => calls)).toEqual([1]);
  }
});
