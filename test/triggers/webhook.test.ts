import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import {
  definePlugin,
  defineTrigger,
  type Runtime,
  type Store,
  type TelemetryListener,
  type WebhookOptions,
} from "bowline";
import { memory } from "bowline/stores/memory";
import { simulatedWorld } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { codeOf, saidIn } from "../kit/reading.ts";
import { around, STORES } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";
import { running } from "../kit/worlds.ts";
import { within } from "../subagents/roles.ts";

// ── A server ────────────────────────────────────────────────────────────────────────────────────────────────────────

type Handle = (request: Request) => Promise<Response>;

const requestOf = (incoming: IncomingMessage): Request =>
  new Request(`http://127.0.0.1${incoming.url}`, {
    method: incoming.method ?? "",
    headers: Object.entries(incoming.headers) as [string, string][],
    ...(incoming.method === "GET" ? {} : { body: Readable.toWeb(incoming), duplex: "half" }),
  });

interface Server extends AsyncDisposable {
  readonly url: string;
}
async function serving(handle: Handle): Promise<Server> {
  const server = createServer(async (incoming, outgoing) => {
    const response = await handle(requestOf(incoming));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { url: `http://127.0.0.1:${port}/`, [Symbol.asyncDispose]: close };
}

interface Answer {
  readonly status: number;
  readonly body: { readonly occurrence?: string; readonly isNew?: boolean; readonly error?: { readonly code: string } };
}
const answerOf = async (response: Response): Promise<Answer> => ({
  status: response.status,
  body: (await response.json()) as Answer["body"],
});
type Headers = { readonly [name: string]: string };
const post = async (url: string, body: string | Uint8Array<ArrayBuffer>, headers: Headers): Promise<Answer> =>
  answerOf(await fetch(url, { method: "POST", body, headers }));

// ── Senders ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const SECRET = "knots and bends";
const KEY = Buffer.from("a key of twenty-four bytes");
const WHSEC = `whsec_${KEY.toString("base64")}`;
const hmac = (key: string | Uint8Array, text: string) => createHmac("sha256", key).update(text).digest();

const asGithub = (body: string, delivery?: string, secret = SECRET): Headers => ({
  "x-hub-signature-256": `sha256=${hmac(secret, body).toString("hex")}`,
  ...(delivery === undefined ? {} : { "x-github-delivery": delivery }),
});
const asStandard = (body: string, id: string, now: number, key: string | Uint8Array = KEY): Headers => {
  const sentAt = Math.floor(now / 1_000);
  const signature = hmac(key, `${id}.${sentAt}.${body}`).toString("base64");
  return { "webhook-id": id, "webhook-timestamp": `${sentAt}`, "webhook-signature": `v1,${signature}` };
};

// ── An app ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const pushed = defineTrigger({ name: "repo.pushed", payload: z.object({ ref: z.string() }) });
const repo = definePlugin({ id: "acme/repo", setup: () => ({ triggers: [pushed] }) });
const BODY = JSON.stringify({ ref: "main" });

async function app(options: { readonly store?: Store; readonly telemetry?: TelemetryListener } = {}) {
  const runtime = await running({ ...options, plugins: [repo] });
  const session = await runtime.session("s");
  await session.triggers.subscribe({ id: "review", on: { event: pushed }, send: "Review it." });
  return { runtime, session };
}
const happened = (runtime: Runtime) => runtime.triggers.occurrences({ event: "repo.pushed" });

const SCHEMES = [
  ["GitHub's scheme", { secret: SECRET }, (id: string) => asGithub(BODY, id)],
  ["Standard Webhooks", { secret: WHSEC, scheme: "standard" }, (id: string) => asStandard(BODY, id, Date.now())],
] as const;

describe.each(STORES)("on %s", (_, make) => {
  test.each(SCHEMES)(
    "J7 a delivery that is signed by %s starts one turn, also when it is sent twice, or two at once",
    async (_, how, headers) => {
      const { runtime, session } = await app({ store: make() });
      await using _runtime = runtime;
      await using server = await serving(runtime.triggers.webhook({ event: pushed, ...how }));
      const first = await post(server.url, BODY, headers("one"));
      const [occurrence] = await happened(runtime); // It is kept before it is answered.
      expect(first).toEqual({ status: 202, body: { occurrence: occurrence?.id, isNew: true } });
      expect(occurrence).toMatchObject({ payload: { ref: "main" }, deliveries: [{ subscription: "review" }] });
      const turn = occurrence?.deliveries[0]?.turnId ?? "";
      expect(await post(server.url, BODY, headers("one"))).toEqual({
        status: 200,
        body: { occurrence: occurrence?.id, isNew: false },
      });
      const both = await Promise.all([1, 2].map(() => post(server.url, BODY, headers("two"))));
      expect(both.map(({ status }) => status).sort()).toEqual([200, 202]);
      const [second] = await happened(runtime);
      expect(both.map(({ body }) => body.occurrence)).toEqual([second?.id, second?.id]);
      for (const id of [turn, second?.deliveries[0]?.turnId ?? ""]) {
        await within(session.jobs.await([id.replace("trn_", "job_")]));
        expect((await within(session.follow(id).result())).outcome.kind).toBe("answered");
      }
      expect(await saidIn(session)).toEqual(
        Array(2).fill('Review it.\n\n[Trigger] "review": repo.pushed {"ref":"main"}'),
      );
    },
  );
});

test("J7 a request that is not signed, or by somebody else, is refused without a word why, and nothing has happened", async () => {
  const traces: unknown[] = [];
  const { runtime } = await app({ telemetry: onEvent((told) => void traces.push(told)) });
  await using _runtime = runtime;
  const github = runtime.triggers.webhook({ event: pushed, secret: SECRET });
  const now = 1_767_225_600_000;
  await using simulated = await running({ world: simulatedWorld({ now }), plugins: [repo] });
  const standard = simulated.triggers.webhook({ event: pushed, secret: WHSEC, scheme: "standard" });
  const right = asStandard(BODY, "one", now);
  const [hub = ""] = Object.values(asGithub(BODY));
  const wrong: readonly (readonly [Handle, Headers])[] = [
    [github, {}],
    [github, asGithub(BODY, "one", "another secret")],
    [github, asGithub(`${BODY} `)],
    [github, { "x-hub-signature-256": hub.slice(0, -2) }],
    [github, { "x-hub-signature-256": hub.replace("sha256=", "sha1=") }],
    [github, { "x-hub-signature": hub }],
    [github, right],
    [standard, {}],
    [standard, asGithub(BODY)],
    [standard, { ...right, "webhook-id": "two" }],
    [standard, { ...right, "webhook-timestamp": `${now / 1_000 + 1}` }],
    [standard, { ...right, "webhook-timestamp": "now" }],
    [standard, { ...right, "webhook-signature": right["webhook-signature"]?.replace("v1,", "v2,") ?? "" }],
    [standard, { ...right, "webhook-signature": "v1," }],
    [standard, asStandard(BODY, "one", now, WHSEC)],
    [standard, asStandard(BODY, "one", now - 301_000)],
    [standard, asStandard(BODY, "one", now + 301_000)],
  ];
  const answers: Answer[] = [];
  for (const [handle, headers] of wrong) {
    await using server = await serving(handle);
    answers.push(await post(server.url, BODY, headers));
  }
  const refused = { code: "webhook.signature", message: "The signature of the request is missing or wrong." };
  expect(answers).toEqual(wrong.map(() => ({ status: 401, body: { error: refused } })));
  expect([await happened(runtime), await happened(simulated)]).toEqual([[], []]);
  expect(traces).toHaveLength(wrong.filter(([handle]) => handle === github).length);
  expect(JSON.stringify(traces)).toContain("the signature is another one");
  expect(JSON.stringify(traces)).not.toContain(SECRET);

  // Four minutes off is near enough, and so is one signature of several, or a secret that is no Base64.
  await using server = await serving(standard);
  const signatures = `v1,${KEY.toString("base64")} ${right["webhook-signature"]}`;
  expect(await post(server.url, BODY, { ...right, "webhook-signature": signatures })).toMatchObject({ status: 202 });
  expect(await post(server.url, BODY, asStandard(BODY, "two", now - 240_000))).toMatchObject({ status: 202 });
  const plain = simulated.triggers.webhook({ event: pushed, secret: SECRET, scheme: "standard" });
  await using another = await serving(plain);
  expect(await post(another.url, BODY, asStandard(BODY, "three", now, SECRET))).toMatchObject({ status: 202 });
});

test("J7 what is too large, not JSON, of another shape or another method is refused by name, and a key means one payload", async () => {
  const { runtime } = await app();
  await using _runtime = runtime;
  await using server = await serving(runtime.triggers.webhook({ event: pushed, secret: SECRET, bytesMax: 100 }));
  const send = async (body: string, delivery?: string) => post(server.url, body, asGithub(body, delivery));
  const refused = (status: number, code: string) => ({ status, body: { error: { code, message: expect.anything() } } });
  expect(await send(JSON.stringify({ ref: "x".repeat(100) }))).toEqual(refused(413, "webhook.bytes"));
  expect(await send("ref=main")).toEqual(refused(400, "webhook.body"));
  expect(await send("")).toEqual(refused(400, "webhook.body"));
  const bytes = new Uint8Array([0x22, 0xff, 0x22]);
  const signature = createHmac("sha256", SECRET).update(bytes).digest("hex");
  const headers = { "x-hub-signature-256": `sha256=${signature}` };
  expect(await post(server.url, bytes, headers)).toEqual(refused(400, "webhook.body"));
  expect(await send('{"ref":7}')).toEqual(refused(400, "trigger.payload"));
  expect(await send(BODY, "x".repeat(5_000))).toEqual(refused(400, "webhook.body"));
  const get = await fetch(server.url);
  expect([get.status, get.headers.get("allow"), await get.json()]).toMatchObject([
    405,
    "POST",
    { error: { code: "webhook.method" } },
  ]);
  expect((await fetch(server.url, { method: "PUT", body: BODY, headers: asGithub(BODY) })).status).toBe(405);
  expect(await happened(runtime)).toEqual([]);
  expect(await send(BODY, "one")).toMatchObject({ status: 202 });
  expect(await send('{"ref":"dev"}', "one")).toEqual(refused(409, "trigger.occurred"));
  // Without a name of the sender's, the same body is the same delivery.
  expect([await send(BODY), await send(BODY), await send('{"ref":"dev"}')].map(({ status }) => status)).toEqual([
    202, 200, 202,
  ]);
});

test("J7 no more is read of a body than is allowed, however long it is", async () => {
  const { runtime } = await app();
  await using _runtime = runtime;
  const handle = runtime.triggers.webhook({ event: pushed, verify: () => true, bytesMax: 1_000 });
  let pulled = 0;
  const ended = Promise.withResolvers<void>();
  const body = new ReadableStream({
    pull: (controller) => {
      pulled++;
      controller.enqueue(new Uint8Array(100));
    },
    cancel: () => ended.resolve(),
  });
  const response = await handle(new Request("http://localhost/", { method: "POST", body, duplex: "half" }));
  await within(ended.promise);
  expect([response.status, pulled < 15]).toEqual([413, true]);
  const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) });
  expect(
    await answerOf(await handle(new Request("http://localhost/", { method: "POST", body: broken, duplex: "half" }))),
  ).toMatchObject({ status: 400, body: { error: { code: "webhook.body" } } });
});

test("J7 a fault of the store and a closed runtime make the sender try again, and what it sends then counts once", async () => {
  let faults = 1;
  const store = around(memory(), {
    "triggers.occur": (act) => {
      if (faults-- > 0) throw new Error("The disk is gone.");
      return act();
    },
  });
  const traces: unknown[] = [];
  const { runtime } = await app({ store, telemetry: onEvent((told) => void traces.push(told)) });
  await using server = await serving(runtime.triggers.webhook({ event: pushed, secret: SECRET }));
  expect(await post(server.url, BODY, asGithub(BODY, "one"))).toEqual({
    status: 503,
    body: { error: { code: "webhook.failed", message: "The event could not be stored." } },
  });
  expect(JSON.stringify(traces)).toContain("The disk is gone.");
  expect(await post(server.url, BODY, asGithub(BODY, "one"))).toMatchObject({ status: 202 });
  await runtime.close();
  expect(await post(server.url, BODY, asGithub(BODY, "two"))).toMatchObject({
    status: 503,
    body: { error: { code: "runtime.closed" } },
  });
});

test("J7 a closed runtime makes the sender of a first request try again", async () => {
  const { runtime } = await app();
  await using server = await serving(runtime.triggers.webhook({ event: pushed, secret: SECRET }));
  await runtime.close();
  expect(await post(server.url, BODY, asGithub(BODY, "one"))).toMatchObject({
    status: 503,
    body: { error: { code: "runtime.closed" } },
  });
});

test("J7 an app may verify, read and name deliveries itself; what throws there lets nothing in", async () => {
  const { runtime, session } = await app();
  await using _runtime = runtime;
  await session.triggers.subscribe({ id: "mirror", on: { event: pushed, source: "mirror" }, send: "Look." });
  const send = async (options: Partial<WebhookOptions<{ ref: string }>>, body = "ref=main&id=7", headers = {}) => {
    const given = { event: pushed, ...options } as WebhookOptions<{ ref: string }>;
    await using server = await serving(runtime.triggers.webhook(given));
    return await post(server.url, body, headers);
  };
  const own: Partial<WebhookOptions<{ ref: string }>> = {
    source: "mirror",
    verify: async (body, { headers }) => headers.get("x-token") === "right" && body.byteLength > 0,
    payload: (body) => ({ ref: new URLSearchParams(body).get("ref") ?? "" }),
    key: (body) => new URLSearchParams(body).get("id") as string,
  };
  const token = { "x-token": "right" };
  expect(await send(own, undefined, token)).toMatchObject({ status: 202 });
  expect(await send(own, "ref=main&id=7&again", token)).toMatchObject({ status: 200 });
  expect((await happened(runtime))[0]?.deliveries.map(({ subscription }) => subscription).sort()).toEqual([
    "mirror",
    "review",
  ]);
  const boom = (): never => {
    throw new Error("Boom.");
  };
  const statuses = [
    await send(own),
    await send({ ...own, verify: boom }, undefined, token),
    await send({ ...own, verify: (() => "yes") as never }, undefined, token),
    await send({ ...own, payload: boom }, undefined, token),
    await send({ ...own, key: boom }, undefined, token),
    await send(own, "ref=main", token), // It has no id.
  ].map(({ status }) => status);
  expect(statuses).toEqual([401, 401, 401, 400, 400, 400]);
  expect(await happened(runtime)).toHaveLength(1);
});

test("J7 a webhook that cannot work is refused when it is made, and one that is misused answers", async () => {
  const { runtime } = await app();
  await using _runtime = runtime;
  const unmade = () => [
    // @ts-expect-error: it does not say how requests are verified
    runtime.triggers.webhook({ event: pushed }),
    // @ts-expect-error: the payload is not that of the event
    runtime.triggers.webhook({ event: pushed, secret: SECRET, payload: () => ({ ref: 7 }) }),
  ];
  expect(unmade).toBeTypeOf("function");
  const made = (options: object) => codeOf(() => runtime.triggers.webhook(options as never));
  const event = "repo.pushed";
  for (const options of [
    { event },
    { event, secret: "" },
    { event, secret: 7 },
    { event, secret: SECRET, verify: () => true },
    { event, secret: SECRET, scheme: "other" },
    { event, secret: "whsec_", scheme: "standard" },
    { event, secret: "whsec_no base64", scheme: "standard" },
    { event, verify: true },
    { event, secret: SECRET, bytesMax: 0 },
    { event, secret: SECRET, key: "id" },
    { event, secret: SECRET, source: "" },
  ])
    expect([options, await made(options)]).toEqual([options, "options.invalid"]);
  expect(await made({ event, secrets: SECRET })).toBe("options.unknown");
  expect(await made({ event: "repo.gone", secret: SECRET })).toBe("trigger.unknown");
  const handle = runtime.triggers.webhook({ event: "repo.pushed", verify: () => true });
  const used = new Request("http://localhost/", { method: "POST", body: BODY });
  await used.text();
  for (const misuse of [used, { method: "POST", headers: {} }, undefined])
    expect((await handle(misuse as never)).status).toBe(503);
});
