import { definePlugin } from "bowline";
import { expect, test } from "vitest";
import { z } from "zod";
import { echo } from "../kit/models.ts";
import { wordsOf } from "../kit/reading.ts";
import { lifetimes } from "../kit/worlds.ts";

test("J5 J6 D2 what a task appended, injected and told before its process was killed is there once after the rerun", async () => {
  let life = 1;
  const stuck = Promise.withResolvers<void>();
  const plugin = definePlugin({
    id: "test/once",
    setup: ({ task }) => ({
      operations: {
        go: task({
          input: z.object({}),
          run: async ({ graph, once, sessions, job }) => {
            await graph.append([{ kind: "message", role: "user", text: "appended" }]);
            await sessions.inject("other", "injected");
            await job?.wake("woken", { isNotice: true });
            await once("last", async () => {
              stuck.resolve();
              if (life === 1) await new Promise(() => {});
              return 1;
            });
            return "done";
          },
        }),
      },
    }),
  });
  const { next, kill } = lifetimes();
  const { runtime: first } = await next({ model: echo(), plugins: [plugin] });
  const session = await first.session("s");
  await first.session("other");
  const { id } = await session.jobs.spawn({ label: "Go", operation: "test/once.go", input: {} });
  await stuck.promise;
  kill();
  life = 2;
  const { runtime: second } = await next({ model: echo(), plugins: [plugin] });
  await second.recover();
  const again = await second.session("s");
  const job = await second.jobs.await(id, { timeoutMs: 20_000 });
  expect(job).toMatchObject({ state: "completed", starts: 2 });
  const messages = (await again.read()).messages.map(wordsOf);
  expect(messages).toEqual(["appended"]);
  expect((await again.inputs.list()).map(({ text }) => text)).toEqual(["woken"]);
  expect((await (await second.session("other")).inputs.list()).map(({ text }) => text)).toEqual(["injected"]);
});
