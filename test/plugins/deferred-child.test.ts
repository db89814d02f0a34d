import { defer } from "bowline";
import { ask, definePlugin } from "bowline/plugin";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { file } from "../kit/stores.ts";
import { running } from "../kit/worlds.ts";

test("S4 K15 a tool that defers to a child's turn parks while a person is asked there, and runs again in the next process", async () => {
  let runs = 0;
  /** The recipe of docs/plugins.md, "Other sessions". */
  const research = definePlugin({
    id: "acme/research",
    setup: ({ tool, session: { isRoot } }) => {
      const asking = tool({
        name: "research",
        description: "Looks something up.",
        input: z.object({ question: z.string() }),
        timeoutMs: 1_000, // The person needs longer than that.
        execute: async ({ question }, { sessions, session, callId, turnId, sessionId }) => {
          runs++;
          const id = `${sessionId}.${turnId}.${callId}`;
          await sessions.create({ kind: "child", id, ifExists: "take" });
          const turn = sessions.turn(id, question);
          const { turns } = await session.snapshot(id);
          if (turns === 0) return defer({ turns: [{ session: id, turn: await turn.id }] });
          return turn.text();
        },
      });
      const search = tool({ name: "search", description: "Searches.", input: z.object({}), execute: () => "a hit" });
      return {
        tools: isRoot ? [asking] : [search],
        beforeToolCall: ({ call }) => (call.name === "search" ? ask("Search?") : undefined),
      };
    },
  });
  const path = file();
  const start = (...replies: Parameters<typeof scripted>) =>
    running({
      store: sqlite(path, { durability: "process" }),
      model: scripted(...replies),
      plugins: [research],
      limits: { parkAfterMs: 1 },
    });

  const first = await start(calls("research", { question: "Which knot?" }), calls("search", {}));
  const key = "question-1";
  const shown: string[] = [];
  for await (const event of (await first.session("desk")).turn("Find it out.", { key })) {
    if (event.kind !== "child") continue;
    shown.push(event.event.kind);
    if (event.event.kind === "waiting") break; // The child's question is a child event of its parent's turn.
  }
  expect(shown).toContain("waiting");
  expect(await first.waits.list({ session: "desk" })).toEqual([]);
  const [wait] = await first.waits.list({ tree: "desk" });
  expect(wait).toMatchObject({ kind: "approval", tool: "search", path: ["desk", wait?.sessionId] });
  await first.close();

  await using second = await start(says("A bowline."), says("Use a bowline."));
  await second.waits.resolve(wait!.id, { approved: true });
  const desk = await second.session("desk");
  expect(await desk.turn("Find it out.", { key }).text()).toBe("Use a bowline.");
  const [child, ...more] = await second.sessions.list({ parent: "desk" });
  expect([child?.turns, more.length, runs]).toEqual([1, 0, 2]);
  expect(await second.waits.list()).toEqual([]);
});

test("S6 after an answer `follow` shows the turn from its beginning, and the keys of texts name those that were shown before the wait", async () => {
  const asks = definePlugin({
    id: "acme/asks",
    setup: ({ tool }) => ({
      tools: [tool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "paid" })],
      beforeToolCall: () => ask("Pay?"),
    }),
  });
  const path = file();
  const start = (...replies: Parameters<typeof scripted>) =>
    running({ store: sqlite(path), model: scripted(...replies), plugins: [asks], limits: { parkAfterMs: 1 } });
  const first = await start(both(says("Let me ", "see."), calls("pay")));
  const before = (await first.session("s")).turn("Pay.");
  const texts = new Map<string, string>();
  for await (const event of before) {
    if (event.kind === "text") texts.set(event.key.effect, (texts.get(event.key.effect) ?? "") + event.delta);
    if (event.kind === "waiting") break;
  }
  expect([...texts.values()]).toEqual(["Let me see."]);
  const [wait] = await first.waits.list();
  await first.close();

  await using second = await start(says("It is paid."));
  await second.waits.resolve(wait!.id, { approved: true });
  const [again, fresh]: [string[], string[]] = [[], []];
  for await (const event of (await second.session("s")).follow(await before.id))
    if (event.kind === "text") (texts.has(event.key.effect) ? again : fresh).push(event.delta);
  expect([again.join(""), fresh.join("")]).toEqual(["Let me see.", "It is paid."]);
});
