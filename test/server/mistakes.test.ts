/** What a developer gets wrong at first, and how a server ends. Each answer names the mistake and what to do. */
import { defineTool } from "bowline";
import { type ClientError, createClient } from "bowline/client";
import { approvals } from "bowline/plugins/approvals";
import { type ServerOptions, serve } from "bowline/server";
import { calls, says, scripted } from "bowline/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { collected } from "../client/serving.ts";
import { codeOf, eventually, signalOf, within } from "../kit/reading.ts";
import { running } from "../kit/worlds.ts";
import { authorize, opened, TOKEN } from "./world.ts";

// ── Options ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const wrong = (option: string, hint: RegExp) => ({
  code: "options.invalid",
  details: { option },
  hint: expect.stringMatching(hint),
});

const thrownBy = async (act: () => unknown): Promise<unknown> => {
  try {
    return await act();
  } catch (error) {
    return error;
  }
};

test.each(["token", "authorize"] as const)(
  "E2 E5 an undefined `%s` throws, so that a missing variable opens nothing",
  async (name) => {
    await using runtime = await running();
    const options = { [name]: process.env.BOWLINE_NOT_SET } as ServerOptions;
    expect(await thrownBy(() => serve(runtime, options))).toMatchObject(wrong(name, /Leave the option out/));
  },
);

test("E2 E5 what is not a runtime throws at once, such as a runtime in an object or a promise of one", async () => {
  const runtime = running();
  for (const given of [{ runtime: await runtime }, runtime, undefined, "agent.ts"])
    expect(await thrownBy(() => serve(given as never))).toMatchObject(wrong("runtime", /await createRuntime/));
  await (await runtime).close();
});

test("E2 E5 a port that cannot be one throws, and listen() takes no number in place of its options", async () => {
  await using runtime = await running();
  const { listen } = serve(runtime);
  expect(await thrownBy(() => listen(4_100 as never))).toMatchObject({
    ...wrong("options", /./),
    message: expect.stringContaining("{ port: 4100 }"),
  });
  for (const port of [Number.NaN, -1, 65_536, 1.5, "4100"])
    expect(await thrownBy(() => listen({ port: port as number }))).toMatchObject(wrong("port", /./));
});

test("E2 E5 a name of a user needs to be a text, and goes only without `authorize`", async () => {
  await using runtime = await running();
  for (const options of [{ name: "" }, { name: 1 as never }, { name: "x".repeat(257) }, { name: "ann", authorize }])
    expect(await codeOf(() => serve(runtime, options))).toBe("options.invalid");
});

test("E2 E5 without `onError` the server prints a fault once on stderr", async () => {
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => printed.mockRestore());
  const fault = new Error("no database");
  await using world = await opened({ authorize: () => Promise.reject(fault), onError: undefined });
  expect((await world.ask("ann", "GET", "/v1/sessions")).status).toBe(500);
  expect((await world.ask("ann", "GET", "/v1/nowhere")).status).toBe(404);
  expect(printed.mock.calls).toEqual([[fault]]);
});

// ── Answers to waits ────────────────────────────────────────────────────────────────────────────────────────────────

/** A server whose turn waits for an approval, and then runs until `finish`. */
async function waiting(options: ServerOptions) {
  const paid = signalOf();
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    execute: async () => {
      await paid.promise;
      return "paid";
    },
  });
  const ask = { tool: "pay", verdict: "ask", reason: "It moves money." } as const;
  const runtime = await running({
    ...{ model: scripted(calls("pay"), says("Done.")), tools: [pay], plugins: [approvals({ rules: [ask] })] },
  });
  await runtime.sessions.create({ id: "s", owner: "ann" });
  const { turnId } = await runtime.sessions.send("s", "Pay");
  const [wait] = await eventually(async () => {
    const found = await runtime.waits.list();
    return found.length > 0 ? found : undefined;
  });
  const { url, close } = await serve(runtime, options).listen();
  return {
    ...{ runtime, url, turnId, wait: wait!.id },
    finish: async () => {
      paid.resolve();
      await eventually(async () => ((await runtime.turns.get(turnId)).state === "ended" ? true : undefined));
    },
    [Symbol.asyncDispose]: async () => {
      paid.resolve();
      await close();
      await runtime.close();
    },
  };
}

test("E2 E5 a second answer is `already-resolved` while the turn is open, for its owner only, and 404 after its end", async () => {
  await using world = await waiting({ authorize });
  const clientOf = (token: string) => createClient({ url: world.url, token });
  const { waits } = clientOf("ann");
  expect(await waits.answer(world.wait, { approved: true })).toEqual({ kind: "accepted" });
  for (const approved of [true, false])
    expect(await waits.answer(world.wait, { approved })).toEqual({ kind: "already-resolved" });
  expect(await waits.revoke(world.wait)).toEqual({ kind: "already-resolved" });
  expect(await codeOf(clientOf("bob").waits.answer(world.wait, { approved: true }))).toBe("wait.unknown");
  expect(await codeOf(waits.get(world.wait))).toBe("wait.unknown");
  await world.finish();
  expect(await codeOf(waits.answer(world.wait, { approved: true }))).toBe("wait.unknown");
});

test.each([
  ["the token", { token: TOKEN }, "token"],
  ["the name of its user", { token: TOKEN, name: "ann" }, "ann"],
  ["the name of its user, without a token", { name: "ann" }, "ann"],
])("E2 E5 the trail of an approval has %s", async (_, options, by) => {
  await using world = await waiting(options);
  const client = createClient({ url: world.url, token: TOKEN });
  await client.waits.answer(world.wait, { approved: true });
  await world.finish();
  const { items } = await client.turns.timeline(world.turnId);
  expect(items).toContainEqual(expect.objectContaining({ kind: "wait", by }));
});

// ── Requests ────────────────────────────────────────────────────────────────────────────────────────────────────────

test("E2 E5 an unknown or missing field of a body is named, with the fields that there are", async () => {
  await using world = await opened();
  await world.ask("ann", "POST", "/v1/sessions", { id: "a" });
  const title = async (path: string, body: object) => (await world.ask("ann", "POST", path, body)).json.title;
  expect(await title("/v1/sessions/a/inputs", { message: "Hi" })).toBe(
    "Invalid request: unknown field `message`; the fields are text, parts, key, at, metadata.",
  );
  expect(await title("/v1/sessions/a/operations/x", {})).toBe(
    "Invalid request: the body does not fit: it must have required property 'kind'.",
  );
  expect(await title("/v1/sessions/a/inputs", { text: 1 })).toBe(
    "Invalid request: the body does not fit: /text must be string.",
  );
});

test("E2 E5 hints for callers of the API name routes, and no calls of the runtime", async () => {
  await using world = await opened();
  await world.ask("ann", "POST", "/v1/sessions", { id: "a" });
  const missing = [
    ["GET", "/v1/sessions/none", "session.unknown"],
    ["POST", "/v1/sessions", "session.exists", { id: "a" }],
    ["GET", "/v1/turns/none", "turn.unknown"],
    ["GET", "/v1/waits/none", "wait.unknown"],
    ["GET", "/v1/jobs/none", "job.unknown"],
    ["GET", "/v1/sessions/a/events?after=1@b", "cursor.foreign"],
    ["GET", "/v1/sessions/a/events?after=b", "cursor.unknown"],
    ["GET", "/v1/events?after=1@a", "cursor.foreign"],
    ["POST", "/v1/sessions/a/inputs", "input.invalid", { text: "" }],
    ["POST", "/v1/sessions/a/fork", "fork.unknown", { at: "none" }],
    ["POST", "/v1/sessions/a/triggers/none/run", "trigger.missing", {}],
  ] as const;
  for (const [method, path, code, body] of missing) {
    const { json } = await world.ask("ann", method, path, body);
    expect([path, json.code]).toEqual([path, code]);
    expect(`${json.title} ${json.hint}`, path).not.toMatch(
      /\b(?:runtime|sessions?|jobs|triggers)\.\w+\(|createRuntime/,
    );
  }
  expect((await world.ask("ann", "GET", "/v1/sessions/none")).json.hint).toContain("POST /v1/sessions");
});

// ── The end ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("E2 E5 a server that closes gets no new request of a client whose stream it ends", async () => {
  await using runtime = await running();
  let requests = 0;
  const authorizeAll = () => {
    requests++;
    return {};
  };
  const server = serve(runtime, { authorize: authorizeAll });
  const { url, close } = await server.listen();
  await runtime.sessions.create({ id: "a" });
  const stop = new AbortController();
  const refused = signalOf();
  const onConnection = (lost?: ClientError): void => {
    if (lost?.code === "client.unreachable" && lost.cause !== undefined) refused.resolve();
  };
  const events = createClient({ url }).observe("a", { signal: stop.signal, onConnection });
  const ended = collected(events);
  await eventually(() => requests > 0 || undefined);
  const closed = close();
  await within(refused.promise);
  expect(requests).toBe(1);
  await within(closed, 2_000);
  stop.abort();
  await ended;
});
