import { createRuntime, definePlugin, defineTool, finish, hasCode, type Turn } from "bowline";
import { ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { seen } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { held, open, runningOn } from "../kit/worlds.ts";

/** Ends the turn with what the model gives it. */
const end = defineTool({
  name: "end",
  description: "Ends the turn.",
  input: z.object({ value: z.json() }),
  execute: ({ value }) => finish(value),
});

/** What `text()` throws, with the types that a caller has. */
async function refused(turn: Turn<unknown>) {
  const error = await turn.text().catch((thrown: unknown) => thrown);
  if (!hasCode(error, "turn.unanswered")) throw error;
  expectTypeOf(error.details.outcome.kind).toEqualTypeOf<"stopped" | "failed">();
  expectTypeOf(error.details.usage.output).toEqualTypeOf<number>();
  return error;
}

test("S1 `text()` of a turn resolves with the answer, and with the value of a finished turn: a string as it is, else JSON", async () => {
  const finished = ["It is over.", [1, 2], null].map((value) => calls("end", { value }));
  await using opened = await open(scripted(says("It rains."), ...finished), { tools: [end] });
  const { session } = opened;
  const answered = session.turn("Weather?");
  expectTypeOf(answered.text()).toEqualTypeOf<Promise<string>>();
  expect(await answered.text()).toBe("It rains.");
  for (const text of ["It is over.", "[1,2]", "null"]) expect(await session.turn("End.").text()).toBe(text);
});

test("S1 `text()` of a failed turn throws `turn.unanswered` with the result and the reason", async () => {
  await using opened = await open(scripted(new ProviderFailure({ class: "auth", message: "The key is wrong." })));
  const turn = opened.session.turn("Weather?");
  const { details, message, hint } = await refused(turn);
  expect(details).toEqual(await turn.result());
  expect(details.outcome).toMatchObject({ kind: "failed", by: "provider" });
  expect(message).toContain(details.turnId);
  expect(message).toContain("failed in provider");
  expect(message).toContain(details.outcome.reason);
  expect(hint).toContain("result()");
});

test("S1 `text()` of a stopped turn throws `turn.unanswered` in every process that follows the turn", async () => {
  const path = file();
  const work = held();
  await using first = await runningOn(path, { model: scripted(calls("work", {})), tools: [work.tool] });
  const turn = (await first.session("trip")).turn("Work.");
  await seen(turn, "toolStarted");
  await turn.cancel("Too late.");
  const { details, message } = await refused(turn);
  expect(details).toEqual(await turn.result());
  expect(message).toContain("was stopped by cancel");
  expect(message).toContain("Too late.");
  await using second = await runningOn(path, { model: scripted() });
  const followed = await refused((await second.session("trip")).follow(details.turnId));
  expect(followed.details).toMatchObject({ turnId: details.turnId, outcome: details.outcome, usage: details.usage });
});

test("K18 `text()` of another session's turn gives a plugin the answer, or throws `turn.unanswered`", async () => {
  const codes: string[] = [];
  const asking = definePlugin({
    id: "acme/asking",
    setup: ({ tool }) => ({
      tools: [
        tool({
          name: "research",
          description: "Looks something up.",
          input: z.object({ isAnswered: z.boolean() }),
          execute: async ({ isAnswered }, { sessions, sessionId, callId }) => {
            const { id } = await sessions.create({ kind: "child", id: `${sessionId}.${callId}`, ifExists: "take" });
            try {
              return await sessions.turn(id, isAnswered ? "Nine?" : "Fail.").text();
            } catch (error) {
              codes.push(hasCode(error, "turn.unanswered") ? error.details.outcome.kind : String(error));
              throw error;
            }
          },
        }),
      ],
    }),
  });
  const model = scripted(
    calls("research", { isAnswered: true }),
    says("Nine."),
    calls("research", { isAnswered: false }),
    new ProviderFailure({ class: "auth", message: "The key is wrong." }),
    says("One answer."),
  );
  await using runtime = await createRuntime({ store: memory(), model, plugins: [asking] });
  expect(await (await runtime.session("trip")).turn("Go.").text()).toBe("One answer.");
  const results = model.requests
    .at(-1)
    ?.messages.flatMap(({ parts }) => parts)
    .filter(({ kind }) => kind === "toolResult");
  expect(results).toMatchObject([
    { status: "ok", parts: [{ text: "Nine." }] },
    { status: "failed", parts: [{ text: expect.stringContaining("has no answer") }] },
  ]);
  expect(codes).toEqual(["failed"]);
});
