// The API of Bowline inside a Hono app, next to the app's routes. Each user is the owner of separate sessions.
import assert from "node:assert/strict";
import { createRuntime } from "bowline";
import { serve } from "bowline/server";
import { memory } from "bowline/stores/memory";
import { says, scripted } from "bowline/testing";
import { Hono } from "hono";

const users: { readonly [token: string]: string } = { "token-of-ann": "ann", "token-of-bob": "bob" };

await using runtime = await createRuntime({ store: memory(), model: scripted(says("A bowline holds.")) });
const server = serve(runtime, {
  hosts: ["agents.example.com"],
  authorize: (request) => {
    const owner = users[request.headers.get("authorization")?.replace("Bearer ", "") ?? ""];
    return owner === undefined ? undefined : { owner }; // With `undefined` the server answers 401.
  },
});
const app = new Hono();
app.get("/", (context) => context.text("My app"));
app.all("/v1/*", (context) => server.fetch(context.req.raw));

/** Sends a request without a network. To listen on Node, use `serve(app)` of `@hono/node-server`. */
const ask = (token: string, method: string, path: string, body?: object) =>
  app.request(`https://agents.example.com${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

assert.equal(await (await app.request("/")).text(), "My app");
assert.equal((await ask("token-of-ann", "POST", "/v1/sessions", { id: "knots" })).status, 201);
const sent = await ask("token-of-ann", "POST", "/v1/sessions/knots/inputs", { text: "Which knot?", key: "request-1" });
assert.equal(sent.status, 202);
const { turnId } = (await sent.json()) as { turnId: string };

const events = await ask("token-of-ann", "GET", `/v1/turns/${turnId}/events`);
const text = await events.text(); // The stream ends when the turn ends.
assert.match(text, /"kind":"committed"/);
assert.match(text, /A bowline holds\./);

assert.equal((await ask("token-of-bob", "GET", "/v1/sessions/knots")).status, 404);
assert.equal((await ask("nobody", "GET", "/v1/sessions/knots")).status, 401);
console.log(
  text
    .split("\n")
    .filter((line) => line.startsWith("id: "))
    .join("\n"),
);
