import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Broadcast } from "../../src/server/broadcast.ts";
import { builtArgv } from "../kit/built.ts";
import { file } from "../kit/files.ts";
import { eventually, signalOf, within } from "../kit/reading.ts";
import { Events, opened, raw, type World } from "./world.ts";

const send = async ({ ask }: World, id: string, text: string): Promise<string> =>
  (await ask("ann", "POST", `/v1/sessions/${id}/inputs`, { text, at: "next-turn" })).json.turnId as string;

const session = async (world: World, id = "a"): Promise<string> => {
  await world.ask("ann", "POST", "/v1/sessions", { id });
  return `/v1/sessions/${id}/events`;
};
const textOf = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);
/** Each user may have as many streams as a test wants. */
const MANY = { limits: { streams: 5_000, writesPerMinute: 10_000 } };

test("E2 E5 facts have an id, previews have none, and a client comes back with the last id", async () => {
  await using world = await opened();
  const path = await session(world);
  await using first = await world.stream("ann", path);
  await send(world, "a", "one");
  await first.kind("committed");
  expect(first.headers["content-type"]).toBe("text/event-stream");
  expect(first.frames[0]?.raw).toBe("retry: 1000");
  for (const { id, data } of first.frames) expect(id).toBe(data?.fact === true ? data.cursor : undefined);
  await send(world, "a", "two");
  await first.find(({ data }) => data?.kind === "committed" && first.facts.length >= 4);
  const all = first.facts.map(({ id }) => id);
  for (let at = 0; at < all.length; at++) {
    const last = all[at] as string;
    await using again = await world.stream("ann", path, { "last-event-id": last });
    await send(world, "a", `more ${at}`);
    await again.find(({ data }) => data?.kind === "committed" && again.facts.length >= all.length - 1 - at + 2);
    expect(again.facts.slice(0, all.length - 1 - at).map(({ id }) => id)).toEqual(all.slice(at + 1));
  }
});

test("E2 E5 a turn ends its stream, and a client that has the end gets 204", async () => {
  await using world = await opened();
  await session(world);
  const turnId = await send(world, "a", "pay");
  const path = `/v1/turns/${turnId}/events`;
  const first = await world.stream("ann", path);
  const { id, data } = await first.kind("waiting");
  first.close();
  await world.ask("ann", "POST", `/v1/waits/${data.wait}`, { approved: true });
  await using again = await world.stream("ann", path, { "last-event-id": id as string });
  await within(again.ended);
  const kinds = again.facts.map((frame) => frame.data.kind);
  expect(kinds).not.toContain("waiting");
  expect(kinds.at(-1)).toBe("committed");
  const late = await world.stream("ann", path, { "last-event-id": id as string });
  await within(late.ended);
  expect(late.facts.at(-1)?.data.kind).toBe("committed");
  const done = await world.stream("ann", path, { "last-event-id": again.facts.at(-1)?.id as string });
  expect(done.status).toBe(204);
});

test("E2 E5 a client that leaves cancels nothing", async () => {
  await using world = await opened();
  const path = await session(world);
  const stream = await world.stream("ann", path);
  const turnId = await send(world, "a", "hold");
  await stream.find(({ data }) => data?.kind === "text");
  stream.close();
  await using following = await world.stream("ann", `/v1/turns/${turnId}/events`);
  world.model.release();
  const { data } = await following.kind("committed");
  expect(data.outcome).toMatchObject({ kind: "answered" });
});

test("E2 E5 deltas are joined, and a joined delta costs at most 30 bytes besides its text", async () => {
  await using world = await opened();
  const path = await session(world);
  await using stream = await world.stream("ann", path);
  await send(world, "a", "count 500");
  await stream.kind("committed");
  const joined = stream.frames.filter(({ data }) => Array.isArray(data));
  expect(stream.text).toBe(Array.from({ length: 500 }, (_, nth) => `${nth + 1} `).join(""));
  expect(stream.frames.length).toBeLessThan(100);
  for (const { raw: bytes, data } of joined)
    expect(Buffer.byteLength(bytes) + 2 - Buffer.byteLength(JSON.stringify(data[1]))).toBeLessThanOrEqual(30);
});

test("E2 E5 an event is read and serialised once for all readers, and a late reader gets the beginning", async () => {
  let serialised = 0;
  const go = signalOf();
  const fact = (nth: number) => ({
    ...{ fact: true, kind: "frame", cursor: `${nth}@a` },
    toJSON: () => {
      serialised++;
      return { fact: true, kind: "frame", cursor: `${nth}@a` };
    },
  });
  const source = (async function* () {
    for (let nth = 1; nth <= 10; nth++) {
      if (nth === 6) await go.promise;
      yield fact(nth) as never;
    }
  })();
  const broadcast = new Broadcast(source, () => {});
  const readers = Array.from({ length: 100 }, () => broadcast.join());
  const begun = await readers[0]?.next();
  const late = broadcast.join();
  go.resolve();
  for (const reader of [...readers.slice(1), late]) {
    let all = "";
    for (let bytes = await reader?.next(); bytes !== undefined; bytes = await reader?.next()) all += textOf(bytes);
    expect(all.match(/^id: .*$/gm)).toHaveLength(10);
  }
  expect(textOf(begun)).toContain("id: 1@a");
  expect(serialised).toBe(10);
});

test("E2 E5 a fast reader sets the pace, and a slow one ends after what it has, and never holds more", async () => {
  let read = 0;
  const source = (async function* () {
    for (; read < 2_000; read++)
      yield { fact: true, kind: "frame", cursor: `${read + 1}@a`, pad: "x".repeat(1_000) } as never;
  })();
  const broadcast = new Broadcast(source, () => {});
  const slow = broadcast.join();
  for (let nth = 0; nth < 50; nth++) await new Promise((resolve) => setImmediate(resolve));
  expect(read).toBeLessThan(100); // Nobody reads, so nothing is read from the source.
  const fast = broadcast.join(true);
  let count = 0;
  for (let bytes = await fast?.next(); bytes !== undefined; bytes = await fast?.next())
    count += textOf(bytes).match(/^id: /gm)?.length ?? 0;
  expect(count).toBeGreaterThan(1_900);
  let held = "";
  for (let bytes = await slow?.next(); bytes !== undefined; bytes = await slow?.next()) held += textOf(bytes);
  expect(held.length).toBeLessThanOrEqual(512 * 1024 + 2_000);
  const ids = Array.from(held.matchAll(/^id: (\d+)@a$/gm), ([, id]) => Number(id));
  expect(ids).toEqual(ids.map((_, index) => index + 1)); // A beginning without holes: the last id is where to come back.
});

test("E2 E5 a thousand silent readers cost no memory, and get all facts once when they come back", async () => {
  await using world = await opened(MANY);
  const path = await session(world);
  const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ann\r\n\r\n`;
  const silent = await Promise.all(
    Array.from({ length: 1_000 }, async () => {
      const socket = await raw(world.listening.port, "");
      socket.pause();
      socket.write(request);
      return socket;
    }),
  );
  await using awake = await world.stream("ann", path);
  await send(world, "a", "one");
  await awake.kind("committed");
  const before = process.memoryUsage();
  for (let turn = 0; turn < 8; turn++) await send(world, "a", "big 4"); // 640 KB in all.
  await within(awake.find(() => awake.facts.filter(({ data }) => data.kind === "committed").length === 9));
  const { external, arrayBuffers, heapUsed } = process.memoryUsage();
  const grown = external + arrayBuffers + heapUsed - before.external - before.arrayBuffers - before.heapUsed;
  expect(grown).toBeLessThan(200 * 2 ** 20); // A copy for each would be 640 MB.
  const [one] = silent;
  let last: string | undefined;
  one?.on("data", (text: string) => {
    for (const [, id] of text.matchAll(/^id: (.*)$/gm)) last = id;
  });
  one?.resume();
  await eventually(() => last);
  for (const socket of silent) socket.destroy();
  await using back = await world.stream("ann", path, { "last-event-id": last as string });
  const all = awake.facts.map(({ id }) => id);
  const missing = all.slice(all.indexOf(last as string) + 1);
  await within(back.find(() => back.facts.length >= missing.length));
  expect(back.facts.map(({ id }) => id)).toEqual(missing);
}, 30_000);

test("E2 E5 streams have a beat, and a client that reads nothing for some beats loses its place", async () => {
  await using world = await opened({ limits: { streams: 2, beatMs: 100 } });
  const path = await session(world);
  await using stream = await world.stream("ann", path);
  const silent = await raw(world.listening.port, "");
  silent.pause();
  silent.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ann\r\n\r\n`);
  const trial = async () => {
    const again = await world.stream("ann", path);
    again.close();
    return again.status;
  };
  await eventually(async () => ((await trial()) === 429 ? true : undefined));
  for (let turn = 1; turn <= 10; turn++) {
    await send(world, "a", "big 40"); // More than the buffers of both sockets hold.
    await within(stream.find(() => stream.facts.filter(({ data }) => data.kind === "committed").length >= turn));
  }
  await stream.find(({ raw: bytes }) => bytes.startsWith(":"));
  await eventually(async () => ((await trial()) === 200 ? true : undefined));
  silent.destroy();
});

test("E2 E5 open streams are bounded, refused ones count for nothing, and a place is free after an end", async () => {
  await using world = await opened({ limits: { streams: 2 } });
  const path = await session(world);
  for (let nth = 0; nth < 5; nth++) {
    expect((await world.ask("ann", "GET", `${path}?after=zzz`)).status).toBe(400);
    expect((await world.ask("ann", "GET", "/v1/events?after=zzz")).status).toBe(400);
    expect((await world.ask("ann", "GET", "/v1/events?tag=%00")).status).toBe(400);
    expect((await world.ask("ann", "HEAD", path)).status).toBe(200);
  }
  const one = await world.stream("ann", path);
  await using two = await world.stream("ann", "/v1/events");
  expect([one.status, two.status]).toEqual([200, 200]);
  const refused = await world.ask("ann", "GET", path);
  expect([refused.status, refused.json.code, refused.headers.get("retry-after")]).toEqual([429, "server.busy", "1"]);
  await using other = await world.stream("bob", "/v1/events");
  expect(other.status).toBe(200);
  one.close();
  await eventually(async () => {
    const stream = await world.stream("ann", path);
    stream.close();
    return stream.status === 200 ? true : undefined;
  });
});

test("E2 E5 closing the server ends its streams, and turns continue", async () => {
  const world = await opened();
  const path = await session(world);
  const stream = await world.stream("ann", path);
  const turnId = await send(world, "a", "hold");
  await world.model.began;
  await within(world.listening.close());
  await within(stream.ended);
  world.model.release();
  expect((await world.runtime.sessions.follow(turnId).result()).outcome.kind).toBe("answered");
  await world.runtime.close();
});

test("E2 E5 a feed has all facts of the caller's sessions, and `latest` only new ones", async () => {
  await using world = await opened();
  await session(world);
  await using all = await world.stream("ann", "/v1/events");
  await send(world, "a", "one");
  await all.kind("committed");
  await using first = await world.stream("ann", "/v1/events?after=latest");
  await send(world, "a", "two");
  await first.kind("committed");
  await using second = await world.stream("ann", "/v1/events?after=latest");
  await send(world, "a", "three");
  await second.kind("committed");
  expect(second.facts.map(({ data }) => data.text).filter(Boolean)).toEqual(["three"]);
  await using back = await world.stream("ann", "/v1/events?after=latest", {
    "last-event-id": all.facts[1]?.id as string,
  });
  await within(back.find(() => back.facts.length === 4));
  expect(back.facts.map(({ data }) => data.text).filter(Boolean)).toEqual(["two", "three"]);
});

test("E2 E5 a client of a server that is killed in mid-turn comes back, and sees what the session has", async () => {
  const [path, log] = [file(), file()];
  let port = 0;
  const start = async (): Promise<ChildProcess> => {
    const argv = [...(await builtArgv()), "--disable-warning=ExperimentalWarning"];
    const program = join(import.meta.dirname, "../client/server.ts");
    const child = spawn(process.execPath, [...argv, program, path, String(port), log], {
      stdio: ["ignore", "pipe", 2],
    });
    const [url] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    port = Number(new URL(String(url).trim()).port);
    return child;
  };
  const headers = { authorization: "Bearer 0123456789abcdef", "content-type": "application/json" };
  const url = (to: string) => `http://127.0.0.1:${port}/v1${to}`;
  const post = (to: string, body: object) => fetch(url(to), { method: "POST", headers, body: JSON.stringify(body) });
  let child = await start();
  try {
    await post("/sessions", { id: "a" });
    const first = await Events.open(url("/sessions/a/events"), headers, []);
    await post("/sessions/a/inputs", { text: "Count.", key: "once" });
    await within(first.find(({ data }) => data?.kind === "text"));
    child.kill("SIGKILL");
    await within(first.ended);
    const last = first.facts.at(-1)?.id;
    child = await start();
    await post("/sessions/a/inputs", { text: "Count.", key: "once" }); // It had no answer: the key makes it one.
    const again = await Events.open(
      url("/sessions/a/events"),
      { ...headers, ...(last === undefined ? {} : { "last-event-id": last }) },
      [],
    );
    await within(again.kind("committed"));
    again.close();
    const ids = [...first.facts, ...again.facts].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect([...first.facts, ...again.facts].map(({ data }) => data.kind)).toEqual(["accepted", "committed"]);
    const view = await (await fetch(url("/sessions/a"), { headers })).json();
    const words = JSON.stringify(view);
    expect(words).toContain(Array.from({ length: 60 }, (_, nth) => `${nth} `).join(""));
    expect(again.facts.at(-1)?.data.outcome.kind).toBe("answered");
  } finally {
    child.kill("SIGKILL");
  }
}, 30_000);
