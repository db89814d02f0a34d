import { createRuntime, type SessionEvent } from "bowline";
import type { ModelPart, Provider } from "bowline/provider";
import { both, calls, recited, says } from "bowline/testing";
import { expect, test } from "vitest";
import { postgres } from "../../src/stores/postgres.ts";
import { echo, end, text } from "../kit/models.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { approve, inShort, parked, shop, shownIn, shownWords } from "../sessions/open-turns.ts";
import { isEnd, Watcher, watch } from "../sessions/watching.ts";

const said = (events: readonly SessionEvent[]): string =>
  events.flatMap((event) => (event.kind === "text" ? [event.delta] : [])).join("");

describePostgres("what observers in other processes see, on Postgres", () => {
  test.each([
    ["with hints", {}],
    ["without hints", { listen: false }],
  ] as const)(
    "E7 S11 readers and handles in other processes receive the output of a turn, %s",
    async (_, options) => {
      const url = await freshDatabase();
      const steps: PromiseWithResolvers<ModelPart>[] = Array.from({ length: 3 }, () => Promise.withResolvers());
      const model: Provider = {
        ...echo(),
        async *stream() {
          for (const step of steps) yield await step.promise;
        },
      };
      await using one = await createRuntime({ store: postgres(url, options), model, recover: "manual" });
      await using two = await createRuntime({ store: postgres(url, options), model: echo(), recover: "manual" });
      const turn = (await one.session("s")).turn("Hello.");
      const turnId = await turn.id;
      const other = await two.session("s");
      const [reader, handle] = [watch(other), new Watcher(other.follow(turnId) as AsyncIterable<SessionEvent>)];
      steps[0]!.resolve(text("One, "));
      for (const each of [reader, handle]) await each.until((events) => said(events) === "One, ");
      steps[1]!.resolve(text("two."));
      for (const each of [reader, handle]) await each.until((events) => said(events) === "One, two.");
      steps[2]!.resolve(end);
      await turn.result();
      for (const each of [reader, handle]) await each.until(isEnd());
      await handle.over;
      expect(said(reader.events)).toBe("One, two.");
    },
    15_000,
  );

  test("E7 S11 D4 a parked turn is shown in other processes, and after a restart, as it is recorded", async () => {
    const url = await freshDatabase();
    const model = () =>
      recited(both(says("Let me see."), calls("look")), both(says("I pay."), calls("pay", { eur: 5 })), says("Done."));
    const start = async () => {
      const store = postgres(url);
      const limits = { parkAfterMs: 20 };
      return { store, runtime: await createRuntime({ store, ...shop, model: model(), limits, recover: "manual" }) };
    };
    const one = await start();
    const session = await one.runtime.session("s");
    await session.send("Go.");
    await parked(one.runtime, one.store);
    const { openTurn, waits } = await session.read();
    const here = watch(session);
    await here.until(isWhole);
    const two = await start();
    const other = await two.runtime.session("s");
    const { openTurn: read, ...view } = await other.read();
    expect({ read, waits: view.waits }).toEqual({ read: openTurn, waits });
    const late = [watch(other), watch(other, { after: view.cursor! })];
    for (const each of late) expect(shownIn(await each.until(isWhole))).toEqual(shownIn(here.events));
    await one.runtime.close();
    await approve(two.runtime);
    for (const each of late) expect(shownWords(await each.until(isEnd()))).toBe("Let me see.I pay.Done.");
    const { messages } = await other.read();
    expect(messages.slice(0, openTurn?.messages.length)).toEqual(openTurn?.messages);
    await two.runtime.close();
  }, 15_000);
});

const isWhole = (events: readonly SessionEvent[]): boolean =>
  inShort(events).join() === "text: Let me see.,look ended,text: I pay.,pay running";
