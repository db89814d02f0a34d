/** What observers in other processes see of a turn while it runs. Two runtimes on one file are two processes. */
import {
  createRuntime,
  type Runtime,
  type RuntimeOptions,
  type Session,
  type SessionEvent,
  type Store,
  type TurnId,
  type TurnProgress,
} from "bowline";
import { type ModelPart, type Provider, ProviderFailure } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { expect, test } from "vitest";
import type { Shown } from "../../src/stores/store.ts";
import { call, end, plays, text } from "../kit/models.ts";
import { around, file } from "../kit/stores.ts";
import { elsewhere } from "./elsewhere.ts";
import { delegate } from "./plugins.ts";
import { isEnd, screenOf, Watcher, watch } from "./watching.ts";

/** A process on the file, with a connection of its own. */
const startOn = (
  path: string,
  model: Provider,
  {
    store = sqlite(path, { durability: "process" }),
    ...options
  }: Partial<Omit<RuntimeOptions, "model" | "models">> = {},
): Promise<Runtime> => createRuntime({ store, model, recover: "manual", ...options });
const bystander = (): Provider => plays();

/** A model that says what it is told to, when it is told to. */
function speaker(): {
  readonly model: Provider;
  say(...words: readonly (string | ModelPart)[]): void;
  fail(): void;
  finish(): void;
} {
  const parts: (ModelPart | ProviderFailure)[] = [];
  let wake = (): void => {};
  const push = (part: ModelPart | ProviderFailure): void => {
    parts.push(part);
    wake();
  };
  return {
    model: {
      id: "played",
      modelId: "test",
      async *stream() {
        for (;;) {
          const part = parts.shift();
          if (part === undefined) await new Promise<void>((resolve) => (wake = resolve));
          else if (part instanceof ProviderFailure) throw part;
          else {
            yield part;
            if (part.kind === "finish") return;
          }
        }
      },
    },
    say: (...words) => {
      for (const each of words) push(typeof each === "string" ? text(each) : each);
    },
    fail: () => push(new ProviderFailure({ class: "overloaded", message: "Busy." })),
    finish: () => push(end),
  };
}

const said = (events: readonly (SessionEvent | TurnProgress)[]): string =>
  events.flatMap((event) => (event.kind === "text" ? [event.delta] : [])).join("");
const ofChildren = (events: readonly SessionEvent[]): readonly SessionEvent[] =>
  events.flatMap((event) => (event.kind === "child" ? [event.event] : []));
const isCommitOf = (event: SessionEvent, id: string): boolean => event.kind === "committed" && event.sessionId === id;
const opened = (runtime: Runtime): Promise<Session> => runtime.session("s");
const saying = (words: string) => (events: readonly SessionEvent[]) => said(events) === words;

test.concurrent("S11 observers in another process see a turn's output before it ends", async () => {
  const path = file();
  const { model, say, finish } = speaker();
  await using one = await startOn(path, model);
  await using two = await startOn(path, bystander());
  const session = await one.session("s");
  const watcher = watch(await two.session("s"));
  const turn = session.turn("Hello.");
  await turn.id;
  say("One, ");
  await watcher.until(saying("One, "));
  say("two, ");
  await watcher.until(saying("One, two, "));
  expect((await one.sessions.list())[0]).toMatchObject({ turns: 0 }); // It is not over yet.
  say("three.");
  finish();
  await turn.result();
  const events = await watcher.until(isEnd());
  expect(events.at(-1)).toMatchObject({ kind: "committed", outcome: { text: "One, two, three." } });
  expect(screenOf(events).showing).toEqual([]);
});

test.concurrent("S11 a handle of a turn that runs in another process shows its output, from the beginning, and its end", async () => {
  const path = file();
  const { model, say, finish } = speaker();
  await using one = await startOn(path, model);
  await using two = await startOn(path, bystander());
  const { turnId } = await (await one.session("s")).send("Hello.");
  say("One, ");
  const followed = (await two.session("s")).follow(turnId);
  const watcher = new Watcher(followed as unknown as AsyncIterable<SessionEvent>);
  await watcher.until(saying("One, "));
  say("two.");
  await watcher.until(saying("One, two."));
  finish();
  expect((await followed.result()).outcome).toMatchObject({ kind: "answered", text: "One, two." });
  await watcher.over;
  expect(watcher.events.at(-1)).toMatchObject({ kind: "committed", turnId });
});

test.concurrent("S11 an observer that joins in another process, at any time, sees the turn from its beginning, and nothing twice", async () => {
  const path = file();
  const { model, say, finish } = speaker();
  await using one = await startOn(path, model);
  const session = await one.session("s");
  const here = watch(session);
  const turn = session.turn("Hello.");
  let words = "";
  const watchers: Watcher[] = [here];
  const runtimes: Runtime[] = [];
  for (let nth = 0; nth < 4; nth++) {
    const two = await startOn(path, bystander());
    runtimes.push(two);
    const other = await two.session("s");
    watchers.push(watch(other), watch(other, { tree: true }));
    for (const word of [`${nth}a `, `${nth}b `]) {
      say(word);
      words += word;
      for (const watcher of watchers) await watcher.until(saying(words));
    }
  }
  finish();
  await turn.result();
  for (const watcher of watchers) {
    const events = await watcher.until(isEnd());
    expect(said(events)).toBe(words);
    expect(events.filter(({ kind }) => kind === "gap")).toEqual([]);
  }
  for (const runtime of runtimes) await runtime.close();
});

test.concurrent("S11 what an attempt showed that is made again is retracted in other processes too", async () => {
  const path = file();
  const { model, say, fail, finish } = speaker();
  await using one = await startOn(path, model);
  await using two = await startOn(path, bystander());
  const watcher = watch(await two.session("s"));
  const turn = (await one.session("s")).turn("Hello.");
  await turn.id;
  say("Wrong.");
  await watcher.until(saying("Wrong."));
  fail();
  say("Right.");
  const events = await watcher.until((all) => said(all).endsWith("Right."));
  expect(events.map(({ kind }) => kind)).toContain("retracted");
  expect(screenOf(events).showing.join()).toMatch(/text: Right\.$/);
  expect(screenOf(events).showing.join()).not.toMatch(/Wrong/);
  finish();
  await turn.result();
});

test.concurrent("S11 after a takeover the output of the new process replaces the output of the old one", async () => {
  const path = file();
  const old = elsewhere(
    `
    const model = { id: "played", modelId: "test", async *stream() {
      yield { kind: "text", delta: "Old words." };
      await new Promise(() => setInterval(() => {}, 1_000));
    } };
    const runtime = await createRuntime({ store, model, recover: "manual" });
    const { turnId } = await (await runtime.session("s")).send("Hello.");
    say(turnId);
    await heard;
    `,
    path,
  );
  const turnId = (await old.next()) ?? "";
  await using watching = await startOn(path, bystander());
  const watcher = watch(await opened(watching));
  await watcher.until(saying("Old words."));
  await old.kill();
  const young = speaker();
  await using two = await startOn(path, young.model);
  const handle = (await two.session("s")).follow(turnId as TurnId); // To open the session is to go on with its turn.
  young.say("New words.");
  const events = await watcher.until((all) => said(all).endsWith("New words."));
  expect(screenOf(events).showing.map((line) => line.replace(/^\S+ /, ""))).toEqual(["2.1 text: New words."]);
  young.finish();
  await handle.result();
  expect(said(await watcher.until(isEnd()))).toBe("Old words.New words.");
}, 20_000);

test.concurrent("S11 a turn that no other process follows writes nothing for others, even if its own process observes it", async () => {
  const path = file();
  const calls: string[] = [];
  const noted = (name: string) => (act: () => unknown) => {
    calls.push(name);
    return act();
  };
  const store: Store = around(sqlite(path), { "live.show": noted("show"), "live.follow": noted("follow") });
  const { model, say, finish } = speaker();
  await using one = await startOn(path, model, { store });
  const session = await one.session("s");
  const watcher = watch(session);
  const turn = session.turn("Hello.");
  const handle = new Watcher(turn as unknown as AsyncIterable<SessionEvent>);
  say("One, ");
  await watcher.until(saying("One, "));
  await new Promise((resolve) => setTimeout(resolve, 1_200)); // Two looks for mail, and some for what others show.
  say("two.");
  finish();
  await turn.result();
  await watcher.until(isEnd());
  expect(said(watcher.events)).toBe("One, two.");
  expect(said(handle.events)).toBe("One, two.");
  expect(calls).toEqual([]);
});

test.concurrent("S11 a flood of deltas stays within its bounds, and a follower has all of it, or a gap", async () => {
  const path = file();
  const { model, say, finish } = speaker();
  let [parts, longest] = [0, 0];
  const store: Store = around(sqlite(path, { durability: "process" }), {
    "live.show": (act, _, shown) => {
      parts++;
      longest = Math.max(longest, JSON.stringify(shown).length);
      return act();
    },
  });
  await using one = await startOn(path, model, { store });
  await using two = await startOn(path, bystander());
  const watcher = watch(await two.session("s"));
  const session = await one.session("s");
  const turn = session.turn("Hello.");
  await turn.id;
  say("!");
  await watcher.until(saying("!"));
  let words = "!";
  for (let nth = 0; nth < 10_000; nth++) {
    say(`${nth} `);
    words += `${nth} `;
  }
  const events = await watcher.until((all) => said(all).endsWith(words.slice(-100)));
  const gap = events.findLastIndex(({ kind }) => kind === "gap");
  if (gap < 0) expect(said(events)).toBe(words);
  else expect(words.endsWith(said(events.slice(gap)))).toBe(true);
  expect(parts).toBeLessThan(100);
  expect(longest).toBeLessThan(128 * 1024);
  finish();
  await turn.result();
  await watcher.until(isEnd());
}, 15_000);

test.concurrent("S11 a long turn is shown again as a whole from time to time: who follows has it once, who comes then has all of it", async () => {
  const path = file();
  const { model, say, finish } = speaker();
  const shown: Shown[] = [];
  const store: Store = around(sqlite(path, { durability: "process" }), {
    "live.show": (act, _, part) => {
      shown.push(part as Shown);
      return act();
    },
  });
  await using one = await startOn(path, model, { store });
  await using two = await startOn(path, bystander());
  const watcher = watch(await opened(two));
  const turn = (await opened(one)).turn("Hello.");
  await turn.id;
  let words = "";
  for (let nth = 0; nth < 9; nth++) {
    const word = `${nth}`.repeat(9_000);
    say(word);
    words += word;
    await watcher.until(saying(words));
  }
  expect(shown.filter(({ part }) => part === "again").length).toBeGreaterThan(0);
  const late = watch(await opened(two), { tree: true });
  await late.until(saying(words));
  for (const { events } of [watcher, late]) expect(events.filter(({ kind }) => kind === "gap")).toEqual([]);
  finish();
  await turn.result();
  await watcher.until(isEnd());
}, 15_000);

test.concurrent("S11 of a turn with more output than is kept for others, the end is shown after a gap", {
  timeout: 20_000,
}, async () => {
  const path = file();
  const { model, say, finish } = speaker();
  await using one = await startOn(path, model);
  await using two = await startOn(path, bystander());
  const turn = (await one.session("s")).turn("Hello.");
  await turn.id;
  say("x".repeat(500_000));
  say("the end");
  const watcher = watch(await two.session("s"));
  const events = await watcher.until((all) => said(all).endsWith("the end"));
  expect(events.filter(({ kind }) => kind === "gap")).toHaveLength(1);
  expect(said(events).length).toBeLessThan(128 * 1024);
  say(" of it");
  await watcher.until((all) => said(all).endsWith("the end of it"));
  expect(events.filter(({ kind }) => kind === "gap")).toHaveLength(1);
  finish();
  await turn.result();
});

test.concurrent("S11 a tree is observed across processes: the output of a child is shown, and is not shown twice", async () => {
  const path = file();
  const { model, say, finish } = speaker();
  await using one = await startOn(path, model, { tools: [delegate] });
  await using two = await startOn(path, bystander());
  const parent = await one.session("parent");
  const [tree, own] = [watch(await two.session("parent"), { tree: true }), watch(await two.session("parent"))];
  const turn = parent.turn("Go.");
  await turn.id;
  say("Let me see. ", call("delegate", { id: "kid", task: "Think." }));
  finish();
  say("I think. ");
  await tree.until(saying("Let me see. I think. "));
  const { cursor } = await parent.read();
  const late = watch(await two.session("parent"), { tree: true, ...(cursor === undefined ? {} : { after: cursor }) });
  await late.until((events) => said(events).includes("I think. "));
  await own.until((events) => said(events) === "Let me see. " && said(ofChildren(events)) === "I think. ");
  say("So.");
  finish();
  say("Done.");
  finish();
  await turn.result();
  const events = await tree.until((all) => all.some((event) => isCommitOf(event, "parent")));
  expect(events.filter(({ kind }) => kind === "child" || kind === "gap")).toEqual([]);
  expect(said(events.filter(({ sessionId }) => sessionId === "kid"))).toMatch(/^I think\. (So\.)?$/);
}, 15_000);

test.concurrent("S11 a real second process is shown what is said in this one, while it is said", async () => {
  const path = file();
  const { model, say, finish } = speaker();
  await using one = await startOn(path, model);
  const session = await one.session("s");
  const turn = session.turn("Hello.");
  await turn.id;
  say("One, ");
  const other = elsewhere(
    `
    const runtime = await createRuntime({ store, model: plays(), recover: "manual" });
    const session = await runtime.session("s");
    say("ready");
    for await (const event of session.observe()) {
      if (event.kind === "text") say(event.delta);
      if (event.kind === "committed") break;
    }
    say("over");
    await runtime.close();
    `,
    path,
  );
  expect(await other.next()).toBe("ready");
  expect(await other.next()).toBe("One, ");
  say("two.");
  expect(await other.next()).toBe("two.");
  finish();
  await turn.result();
  expect(await other.next()).toBe("over");
  await other.ended;
}, 20_000);
