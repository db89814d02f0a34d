// Each adapter with the real client of its protocol: at the end the client shows what the session has.
import type { Message, SessionView } from "bowline";
import { createClient } from "bowline/client";
import { describe, expect, test } from "vitest";
import { freePort } from "../kit/programs.ts";
import { eventually, textIn, within } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { started } from "./serving.ts";
import { answer, askedIn, loaded, shownBy } from "./use-chat.ts";

const TOKEN = "0123456789abcdef";
const headers = { authorization: `Bearer ${TOKEN}` };

/** A client of one session, through its protocol. */
interface Shows {
  /** Sends an input. Resolves when the turn has ended or waits. */
  send(text: string): Promise<void>;
  /** Answers the open question. Resolves when the turn has ended or waits again. */
  answer(isApproved: boolean): Promise<void>;
  /** Follows the open turn, as a client does when it is loaded. Resolves when the turn has ended or waits. */
  follow(): Promise<void>;
  isAsked(): boolean;
  /** Items in the words of `inSession`. */
  shown(): readonly string[];
}

const ADAPTERS: { readonly [name: string]: (url: string, session: string) => Promise<Shows> } = {
  "useChat (UI message stream)": async (url, session) => {
    const chat = await loaded(url, session, headers);
    return {
      send: (text) => chat.sendMessage({ text }),
      answer: (isApproved) => answer(chat, isApproved),
      follow: () => chat.resumeStream(),
      isAsked: () => askedIn(chat) !== undefined,
      shown: () => shownBy(chat),
    };
  },
};

/** A session in the words of the table. */
function inSession({ messages }: Pick<SessionView, "messages">): readonly string[] {
  const results = messages.flatMap(({ parts }) => parts.filter(({ kind }) => kind === "toolResult"));
  return messages.flatMap(({ role, parts }: Message) =>
    parts.flatMap((part) => {
      if (part.kind === "text") return [`${role === "user" ? "user" : "text"}: ${part.text}`];
      if (part.kind === "reasoning") return [`thinks: ${part.text}`];
      if (part.kind !== "toolCall") return [];
      const result = results.find((each) => each.kind === "toolResult" && each.callId === part.callId);
      if (result?.kind !== "toolResult") return [`${part.name} input-available`];
      const words = textIn(result.parts);
      const output = words.startsWith("{") ? words : JSON.stringify(words);
      return [`${part.name} ${result.status === "ok" ? output : "output-denied"}`];
    }),
  );
}

const COUNTED = `text: ${Array.from({ length: 60 }, (_, nth) => `${nth} `).join("")}`;
const COUNT = ["user: Count.", 'work {"worked":[1,2]}', COUNTED];
const PAY = ["user: Pay.", "thinks: Is it dear? ", "text: I ask."];
const hasHalf = (client: Shows) => (): boolean => client.shown().at(-1)?.includes("text: 0 1 2 3") === true;

describe.each(Object.entries(ADAPTERS))("%s", (_, open) => {
  /** Runs a story in a new session, and compares what each of its clients shows with the session. */
  const story = async (
    tell: (world: {
      load(): Promise<Shows>;
      /** Kills the server in its work, and starts another one on the same file. */
      restart(): Promise<void>;
    }) => Promise<readonly Shows[]>,
    expected: readonly string[],
  ): Promise<void> => {
    const [path, port] = [file(), await freePort()];
    let server = await started(path, port);
    const restart = async (): Promise<void> => {
      await server.kill();
      server = await started(path, port);
    };
    const clients = await within(tell({ load: () => open(server.url, "s"), restart }), 60_000);
    const read = await createClient({ url: server.url, token: TOKEN }).read("s");
    expect(inSession(read)).toEqual(expected);
    for (const client of [...clients, await open(server.url, "s")]) expect(client.shown()).toEqual(expected);
    await server.kill();
  };

  test("E5 a client that sends an input shows what the session has", () =>
    story(async ({ load }) => {
      const client = await load();
      await client.send("Count.");
      return [client];
    }, COUNT));

  test("E5 a client that joins late, and one that is loaded again in mid-turn, show what the session has", () =>
    story(async ({ load }) => {
      const first = await load();
      const sent = first.send("Count.");
      await eventually(hasHalf(first));
      const [late, again] = [await load(), await load()];
      await Promise.all([late.follow(), again.follow(), sent]);
      return [first, late, again];
    }, COUNT));

  test("E5 after a kill -9 of the server in mid-turn, the client that follows again shows what the session has", () =>
    story(async ({ load, restart }) => {
      const client = await load();
      const sent = client.send("Count.").catch(() => {});
      await eventually(hasHalf(client));
      await restart();
      await sent;
      await client.follow();
      return [client];
    }, COUNT));

  test("E5 a client that joins a parked turn shows what the session has, and can answer", () =>
    story(
      async ({ load }) => {
        const first = await load();
        await first.send("Pay.");
        const late = await load();
        await late.follow();
        expect(late.shown()).toEqual(first.shown());
        await late.answer(true);
        return [late];
      },
      [...PAY, 'pay "paid"', "text: I asked."],
    ));

  test.each([
    [true, ['pay "paid"', "text: I asked."]],
    [false, ["pay output-denied", "text: I asked."]],
  ])("E5 after a restart while the turn is parked, an answer (approved: %s) continues it", (isApproved, rest) =>
    story(
      async ({ load, restart }) => {
        const first = await load();
        await first.send("Pay.");
        expect(first.isAsked()).toBe(true);
        await restart();
        const late = await load();
        await late.follow();
        expect(late.shown()).toEqual(first.shown());
        await first.answer(isApproved);
        return [first];
      },
      [...PAY, ...rest],
    ),
  );
});
