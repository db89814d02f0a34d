// A server that is killed in the middle of a turn, and another one on the same file and port.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { SessionEvent } from "bowline";
import { type ClientView, createClient, fold } from "bowline/client";
import { sqlite } from "bowline/stores/sqlite";
import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { freePort, stopAtEnd } from "../kit/programs.ts";
import { eventually, only, passed, within } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { running } from "../kit/worlds.ts";
import { collected, cursorsIn, hasRead, isEndOf, json, TOKEN } from "./serving.ts";

const COUNTED = Array.from({ length: 60 }, (_, nth) => `${nth} `).join("");

async function started(path: string, port: number, log: string): Promise<{ kill(): Promise<void> }> {
  const program = new URL("server.ts", import.meta.url).pathname;
  const args = [...(await builtArgv()), "--disable-warning=ExperimentalWarning", program, path, String(port), log];
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const exit = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exit;
  };
  stopAtEnd(kill);
  await within(new Promise((resolve) => child.stdout?.once("data", resolve)), 20_000);
  return { kill };
}

/** What is shown when the turn was killed: in its tool, or in its answer. */
const MOMENTS: readonly (readonly [string, (event: SessionEvent) => boolean])[] = [
  ["while its tool runs", (event) => event.kind === "toolOutput" && event.delta.includes("5 ")],
  ["while it answers", (event) => event.kind === "text" && event.delta.includes("2")],
];

test.each(MOMENTS)(
  "E2 the server is killed %s: clients end with what the session has, each fact once",
  async (_, isMoment) => {
    const [path, log, port] = [file(), file(), await freePort()];
    const first = await started(path, port, log);
    const client = createClient({ url: `http://127.0.0.1:${port}`, token: TOKEN });
    await client.sessions.create({ id: "s" });
    const moment = Promise.withResolvers<void>();
    const noting = (events: AsyncIterable<SessionEvent>, isEnd?: (event: SessionEvent) => boolean) =>
      collected(events, (event) => {
        if (isMoment(event)) moment.resolve();
        return isEnd?.(event) ?? false;
      });
    const views = collected(client.view("s"), hasRead(2));
    const { turnId } = await client.send("s", "Count.");
    const turn = noting(client.follow(turnId));
    const session = noting(client.observe("s"), isEndOf(turnId));
    const feed = collected(client.events(), (fact) => fact.kind === "committed");
    await within(moment.promise, 20_000);
    await first.kill();
    const sent = client.send("s", "More.", { key: "more", at: "next-turn" });
    await passed(300);
    const second = await started(path, port, log);

    const events = await within(turn, 25_000);
    expect(events.at(-1)).toMatchObject({ kind: "committed", outcome: { kind: "answered", text: COUNTED } });
    const last = only(events, "text").at(-1)?.key;
    const shown = only(events, "text").filter(({ key }) => JSON.stringify(key) === JSON.stringify(last));
    expect(shown.map(({ delta }) => delta).join("")).toBe(COUNTED);

    const facts = cursorsIn(await within(session));
    expect(new Set(facts).size).toBe(facts.length);
    const { turnId: more } = await within(sent);
    expect(await client.send("s", "More.", { key: "more", at: "next-turn" })).toEqual({ turnId: more });
    await within(collected(client.follow(more)), 25_000);
    const whole = cursorsIn(await within(collected(client.observe("s"), isEndOf(more))));
    expect(facts).toEqual(whole.slice(0, facts.length));
    const all = (await within(feed)).map(({ cursor }) => cursor);
    expect(all).toEqual(whole.slice(0, all.length).map((cursor) => cursor.replace("@s", "")));

    const view = (await within(views)).at(-1) as ClientView;
    await second.kill();
    const model = { id: "counter", modelId: "test", async *stream() {} }; // It is not asked.
    await using runtime = await running({ store: sqlite(path), model });
    const read = json(await (await runtime.session("s")).read());
    expect(view).toEqual(fold(undefined, read));
    expect(read.messages.filter(({ role }) => role === "user")).toHaveLength(2);
    expect(readFileSync(log, "utf8").trim().split("\n").length).toBeLessThanOrEqual(3);
  },
  90_000,
);

test("E2 E5 a view shows what came before a restart until there is more, and never less than the session has", async () => {
  const [path, log, port] = [file(), file(), await freePort()];
  const first = await started(path, port, log);
  const client = createClient({ url: `http://127.0.0.1:${port}`, token: TOKEN });
  await client.sessions.create({ id: "s" });
  const views: ClientView[] = [];
  const states: string[] = [];
  const showing = (async () => {
    for await (const view of client.view("s", { onConnection: (lost) => states.push(lost?.code ?? "open") })) {
      views.push(view);
      if (hasRead(1)(view)) break;
    }
  })();
  await client.send("s", "Count.");
  await eventually(() => views.at(-1)?.turns.some((turn) => turn.kind === "running" && turn.parts.length > 0));
  await first.kill();
  await eventually(() => states.includes("client.unreachable"));
  const kept = views.length;
  await passed(300);
  expect(views.length).toBe(kept);
  const second = await started(path, port, log);
  await within(showing, 25_000);
  expect(states.at(-1)).toBe("open");
  expect(views.at(-1)?.read).toEqual(json(await client.read("s")));
  await second.kill();
}, 60_000);
