import { createRuntime, type ModelPart, type Provider, type SessionEvent } from "bowline";
import { expect, test } from "vitest";
import { postgres } from "../../src/stores/postgres.ts";
import { echo, end, text } from "../kit/models.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { isEnd, Watcher, watch } from "../sessions/watching.ts";

const said = (events: readonly SessionEvent[]): string =>
  events.flatMap((event) => (event.kind === "text" ? [event.delta] : [])).join("");

describePostgres("what observers in other processes see, on Postgres", () => {
  test.each([
    ["with hints", {}],
    ["without hints", { listen: false }],
  ] as const)(
    "E7 S11 what a turn says is shown to readers and handles elsewhere, %s",
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
});
