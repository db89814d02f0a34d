// `node bench/observer.ts <path or URL>` observes a store, and prints for each commit how many milliseconds ago it was.
import { setTimeout as sleep } from "node:timers/promises";
import { modelThatCalls } from "./own.ts";
import { built, builtPostgres } from "./sides.ts";

const [place = ""] = process.argv.slice(2);

const { createRuntime, sqlite } = await built();
const store = place.startsWith("postgres") ? (await builtPostgres()).postgres(place) : sqlite(place);
const runtime = await createRuntime({ store, model: modelThatCalls([]), recover: "never" });
const facts = runtime.observe({ after: "latest" });
let next = facts.next(); // Reads where the feed begins.
await sleep(500);
console.log("ready");
for (;;) {
  const { value: fact } = await next;
  const now = performance.timeOrigin + performance.now();
  if (fact?.kind === "committed" && fact.at !== undefined) console.log(now - fact.at);
  next = facts.next();
}
