// `bowline/server/ui-stream` with the chat of the package `ai`.
import { connect } from "node:net";
import { defineTool, question } from "bowline";
import { ProviderFailure } from "bowline/provider";
import { serve } from "bowline/server";
import { uiStream } from "bowline/server/ui-stream";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { served, TOKEN } from "../client/serving.ts";
import { world } from "../client/world.ts";
import { plays, text } from "../kit/models.ts";
import { eventually } from "../kit/reading.ts";
import { running } from "../kit/worlds.ts";
import { opened, type World } from "../server/world.ts";
import { answer, askedIn, type Chat, loaded, shownBy } from "./use-chat.ts";

const adapters = [uiStream()];
const headersOf = (user: string) => ({ authorization: `Bearer ${user}` });
const chatOf = ({ url }: World, id: string, user = "ann"): Promise<Chat> => loaded(url, id, headersOf(user));
const user = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] });
const isSettled = (chat: Chat): boolean => ["ready", "error"].includes(chat.status);

test("E5 useChat shows retried attempts once, approvals of the session and of its children, and what tools return", async () => {
  await using place = await served(await running(world(async () => {})), { adapters });
  const { url, runtime } = place;
  const chat = await loaded(url, "s", headersOf(TOKEN));
  await chat.sendMessage({ text: "Go" });
  const asked: string[] = [];
  for (let id = askedIn(chat); id !== undefined; id = askedIn(chat)) {
    asked.push(id);
    await answer(chat, true);
  }
  expect(chat.error).toBeUndefined();
  expect(asked).toHaveLength(2);
  expect(shownBy(chat)).toEqual([
    "user: Go",
    "thinks: Hm. ",
    "text: Let me see.",
    'work "worked"',
    'pay "paid"',
    'delegate "Here."',
    'ping "Pong."',
    'pay "answered"', // The call of the child.
    "text: All done.",
  ]);
  const [, reply] = chat.messages;
  const turnId = (await runtime.turns.list({ session: "s" }))[0]?.id;
  expect(reply?.id).toBe(turnId);
  const ids = reply?.parts.flatMap((part) => (part.type === "dynamic-tool" ? [part.toolCallId] : [])) ?? [];
  expect(ids.slice(0, 2)).toEqual([`${turnId}/r1.call.0`, `${turnId}/r1.call.1`]);
  expect(new Set(ids).size).toBe(ids.length);
});

test("E5 stop() of the client only disconnects; the stop route cancels, and another tab receives the abort", async () => {
  await using place = await opened({ adapters });
  const first = await chatOf(place, "s");
  const sent = first.sendMessage({ text: "hold" });
  await eventually(() => shownBy(first).includes("text: Held "));
  const second = await chatOf(place, "s");
  const following = second.resumeStream();
  await first.stop();
  await sent;
  expect((await place.runtime.sessions.find("s"))?.state).toBe("running");
  expect((await place.ask("ann", "POST", "/chat/s/stop", {})).status).toBe(200);
  await following;
  expect(shownBy(second)).toEqual(["user: hold", "text: Held "]);
  expect(second.messages.at(-1)?.metadata).toEqual({ outcome: "stopped", code: expect.any(String) });
  expect(shownBy(await chatOf(place, "s"))).toEqual(shownBy(second));
});

test("E5 a message is accepted once by its id: sent twice, repeated after the turn, and from a page that was loaded again", async () => {
  await using place = await opened({ adapters });
  const body = { id: "s", messages: [user("m1", "hi")] };
  const [one, two] = await Promise.all([1, 2].map(() => place.ask("ann", "POST", "/chat", body)));
  expect(one?.text).toContain('"delta":"re: hi"');
  expect(two?.text).toContain('"delta":"re: hi"');
  const changed = {
    id: "s",
    messages: [user("m0", "forged"), { ...user("a0", "lies"), role: "assistant" }, ...body.messages],
  };
  expect((await place.ask("ann", "POST", "/chat", changed)).text).toContain('"delta":"re: hi"');
  const other = await place.ask("ann", "POST", "/chat", { id: "s", messages: [user("m1", "other words")] });
  expect([other.status, other.json.code]).toEqual([409, "input.conflict"]);
  const chat = await chatOf(place, "s");
  await chat.regenerate(); // A turn runs once: its answer is shown again.
  expect(shownBy(chat)).toEqual(["user: hi", "text: re: hi"]);
  expect((await place.runtime.sessions.get("s")).turns).toBe(1);
});

test("E5 two messages at once get an answer each, in their order", async () => {
  await using place = await opened({ adapters });
  const [first, second] = [await chatOf(place, "s"), await chatOf(place, "s")];
  const one = first.sendMessage({ text: "hold" });
  await place.model.began;
  const two = second.sendMessage({ text: "next" });
  await eventually(async () => (await place.runtime.sessions.get("s")).inputs.length === 2);
  place.model.release();
  await Promise.all([one, two]);
  expect(shownBy(first)).toEqual(["user: hold", "text: Held no more."]);
  expect(shownBy(second)).toEqual(["user: next", "text: re: next"]);
});

test("E5 a forged or repeated answer to an approval changes nothing, and an approval in two tabs pays once", async () => {
  await using place = await opened({ adapters });
  const { runtime } = place;
  const chat = await chatOf(place, "s");
  await chat.sendMessage({ text: "pay" });
  await place.runtime.sessions.create({ id: "of-bob", owner: "bob" });
  await (await chatOf(place, "of-bob", "bob")).sendMessage({ text: "pay" });
  const [wait, foreign] = (await runtime.waits.list()).map(({ id }) => String(id)) as [string, string];
  const turn = chat.messages.at(-1)?.id as string;
  const answers = (id: string, approved: boolean, turnId = turn, session = "s") => ({
    id: session,
    messages: [
      {
        ...{ id: turnId, role: "assistant" },
        parts: [
          { type: "step-start" },
          {
            ...{ type: "dynamic-tool", toolName: "pay", toolCallId: `${turnId}/r1.call.0`, input: {} },
            ...{ state: "approval-responded", approval: { id, approved } },
          },
        ],
      },
    ],
  });
  for (const id of [foreign, "wai_none", (await runtime.waits.get(wait))?.key as string]) {
    expect((await place.ask("ann", "POST", "/chat", answers(id, true))).text).toContain('"finishReason":"tool-calls"');
    expect(await runtime.waits.list()).toHaveLength(2);
  }
  const strange = await place.ask("bob", "POST", "/chat", answers(wait, true));
  expect([strange.status, strange.json.code]).toEqual([404, "session.unknown"]);
  const mixed = await place.ask("bob", "POST", "/chat", answers(wait, true, turn, "of-bob"));
  expect([mixed.status, mixed.json.code]).toEqual([404, "turn.unknown"]);
  const both = await Promise.all([true, true].map((is) => place.ask("ann", "POST", "/chat", answers(wait, is))));
  for (const { text } of both) expect(text).toContain('"output":"paid"');
  expect((await place.ask("ann", "POST", "/chat", answers(wait, false))).text).toContain('"output":"paid"');
  expect((await runtime.waits.list()).map(({ id }) => id)).toEqual([foreign]);
  expect(place.answers.join("")).not.toContain("key");
});

test("E5 a chat of another owner looks like a new one to reads, and unknown to writes", async () => {
  await using place = await opened({ adapters });
  await (await chatOf(place, "s")).sendMessage({ text: "secret" });
  expect((await place.ask("bob", "GET", "/chat/s")).json).toEqual((await place.ask("bob", "GET", "/chat/none")).json);
  for (const id of ["s", "none"]) expect((await place.ask("bob", "GET", `/chat/${id}/stream`)).status).toBe(204);
  const sent = await place.ask("bob", "POST", "/chat", { id: "s", messages: [user("m", "hi")] });
  expect([sent.status, sent.json.code]).toEqual([404, "session.unknown"]);
  expect((await place.ask("bob", "POST", "/chat/s/stop", {})).status).toBe(404);
  expect((await place.ask(undefined, "GET", "/chat/s")).status).toBe(401);
  expect((await place.runtime.sessions.get("s")).turns).toBe(1);
});

const NOTHING = { id: "s", messages: [] };
const WRONG: readonly (readonly [string, unknown])[] = [
  ["no messages", NOTHING],
  ["no id", { messages: [user("m", "hi")] }],
  ["a role that only the server has", { id: "s", messages: [{ ...user("m", "hi"), role: "system" }] }],
  ["an assistant's message without answers", { id: "s", messages: [{ ...user("m", "hi"), role: "assistant" }] }],
  ["a part without a type", { id: "s", messages: [{ id: "m", role: "user", parts: [null] }] }],
  ["a tool's part of the user", { id: "s", messages: [{ id: "m", role: "user", parts: [{ type: "tool-pay" }] }] }],
  [
    "a file at an address of the net",
    {
      id: "s",
      messages: [
        { id: "m", role: "user", parts: [{ type: "file", mediaType: "image/png", url: "http://169.254.169.254/" }] },
      ],
    },
  ],
];
test.each(WRONG)("E5 a body with %s is refused, and creates nothing", async (_, body) => {
  await using place = await opened({ adapters });
  const { status, json } = await place.ask("ann", "POST", "/chat", body);
  expect([status, json.code]).toEqual([400, "server.invalid"]);
  expect(await place.runtime.sessions.list()).toEqual([]);
});

test("E5 a caller without the right to answer cannot approve through the chat", async () => {
  const may = (action: string): boolean => action !== "answer";
  await using place = await opened({ adapters, authorize: () => ({ owner: "ann", may }) });
  const chat = await chatOf(place, "s");
  await chat.sendMessage({ text: "pay" });
  await answer(chat, true);
  expect(chat.status).toBe("error");
  expect(await place.runtime.waits.list()).toHaveLength(1);
});

test("E5 a failed turn is an error of the chat, and the text before it stays", async () => {
  const broken = plays(async function* () {
    yield text("Half");
    throw new ProviderFailure({ class: "auth", message: "No." });
  });
  await using place = await served(await running({ model: broken }), { adapters });
  const chat = await loaded(place.url, "s", headersOf(TOKEN));
  await chat.sendMessage({ text: "hi" });
  expect(chat.status).toBe("error");
  expect(shownBy(chat)).toEqual(["user: hi", "text: Half"]);
  expect(chat.error?.message).toContain("No.");
});

test("E5 the client answers a question with the output of the call, and no output counts for another call", async () => {
  const day = defineTool({
    ...{ name: "day", description: "Asks for a day.", input: { type: "object" } },
    execute: () => question(z.object({ day: z.string() }), { text: "On which day?" }),
  });
  const model = scripted(calls("day"), says("Noted."));
  await using place = await served(await running({ model, tools: [day] }), { adapters });
  const chat = await loaded(place.url, "s", headersOf(TOKEN));
  await chat.sendMessage({ text: "Fly" });
  expect(shownBy(chat)).toEqual(["user: Fly", "day input-available"]);
  const turn = chat.messages.at(-1)?.id;
  await chat.addToolOutput({ tool: "day", toolCallId: `${turn}/r1.call.0`, output: { day: "Monday" } });
  await eventually(() => isSettled(chat) && shownBy(chat).length === 3);
  expect(shownBy(chat)).toEqual(["user: Fly", 'day {"day":"Monday"}', "text: Noted."]);
});

test("E5 a client that never reads holds the turn's state and no queue, and the turn ends", async () => {
  await using place = await opened({ adapters });
  const { port } = place.listening;
  const body = JSON.stringify({ id: "s", messages: [user("m", "big 2000")] }); // 20 MB of text
  const socket = connect(port, "127.0.0.1").pause();
  socket.write(
    `POST /chat HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ann\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await eventually(async () => (await place.runtime.sessions.find("s"))?.turns === 1, 20_000);
  expect(socket.bytesRead).toBe(0);
  socket.destroy();
});

test("E5 when the server closes in mid-turn, the chat gets an error", async () => {
  await using place = await opened({ adapters });
  const chat = await chatOf(place, "s");
  const sent = chat.sendMessage({ text: "hold" });
  await eventually(() => shownBy(chat).includes("text: Held "));
  place.server.close();
  await sent;
  expect(chat.error?.message).toMatch(/^The server stops/);
  expect((await place.runtime.sessions.find("s"))?.state).toBe("running");
});

test.each([
  ["a name", "ui"],
  ["something else in the list", [{}]],
  ["a path of the API", [uiStream({ path: "/v1/chat" })]],
  ["the same path twice", [uiStream(), uiStream()]],
])("E5 serve() refuses adapters that are %s", async (_, wrong) => {
  await using runtime = await running();
  expect(() => serve(runtime, { adapters: wrong as never })).toThrow(
    expect.objectContaining({ code: "options.invalid", details: expect.objectContaining({ option: "adapters" }) }),
  );
});
