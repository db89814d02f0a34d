// The API of Bowline in an Express app. `getRequestListener` converts requests of Node into web requests.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createRuntime } from "bowline";
import { serve } from "bowline/server";
import { memory } from "bowline/stores/memory";
import { says, scripted } from "bowline/testing";
import express from "express";

await using runtime = await createRuntime({ store: memory(), model: scripted(says("Hello ", "from ", "Express.")) });
const token = "a-secret-of-this-server";
const server = serve(runtime, { token });

const app = express();
// Add this route before express.json(), because express.json() reads the body. Do not use `app.use("/v1", …)`, because
// it cuts the path.
const listener = getRequestListener(server.fetch, { overrideGlobalObjects: false });
app.all("/v1/*path", (request, response) => void listener(request, response));
app.use(express.json());
app.get("/", (_, response) => void response.send("My app"));

const listening = app.listen(0, "127.0.0.1");
await once(listening, "listening");
const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
const post = (path: string, body: object) =>
  fetch(`${url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });

assert.equal(await (await fetch(url)).text(), "My app");
assert.equal((await fetch(`${url}/v1/sessions`)).status, 401);
await post("/sessions", { id: "trip" });
const { turnId } = (await (await post("/sessions/trip/inputs", { text: "Hi" })).json()) as { turnId: string };
const events = await (await fetch(`${url}/v1/turns/${turnId}/events`, { headers })).text();
assert.match(events, /"kind":"committed"/);
const view = (await (await fetch(`${url}/v1/sessions/trip`, { headers })).json()) as { messages: object[] };
assert.match(JSON.stringify(view.messages), /Hello from Express\./);
console.log(`${view.messages.length} messages`);

server.close(); // Ends open event streams, so that the process can exit.
listening.closeAllConnections();
listening.close();
