// A process that watches a command, and is killed at a place of the monitor's life, or leaves in another way.
import { writeFileSync } from "node:fs";
import { createRuntime, type Store } from "bowline";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { says } from "bowline/testing";
import { overJobs } from "../crash/mutants/over.ts";

/**
 * Writes of a monitor, in their order: its group, its first line with what the session is told of it, another line before
 * the session has taken that in, that it is to stop, and its end.
 */
export type Write = "group" | "wake" | "line" | "stop" | "end";
export type WriteMoment = `${"before" | "after"} ${Write}`;

export interface WatcherOrders {
  readonly database: string;
  readonly command: string;
  /** Of the command. It prints its second line when the file `TOLD` is there. */
  readonly env: { readonly TOLD: string; readonly [name: string]: string };
  readonly restarts: boolean;
  /** Where the process kills itself. */
  readonly dies?: WriteMoment;
  /** What it does when there is a line that the session was not told of. */
  readonly leaves?: "stop" | "close" | "exit" | "SIGTERM";
}

const orders = JSON.parse(process.argv[2] ?? "") as WatcherOrders;
const { command, env, restarts, dies, leaves } = orders;
const lines = Promise.withResolvers<void>();

const at = (place: WriteMoment): void => {
  if (place === dies) process.kill(process.pid, "SIGKILL");
  if (place === "after wake") writeFileSync(env.TOLD, "");
  if (place === "after line") lines.resolve();
};

const real = sqlite(orders.database);
const { append, send } = real.jobs;
const store: Store = overJobs(real, {
  async append(...given) {
    const [, events, , more] = given;
    const write = writeOf(events, more);
    if (write !== undefined) at(`before ${write}`);
    const answer = await append.apply(real.jobs, given);
    if (write !== undefined) at(`after ${write}`);
    return answer;
  },
  async send(...given) {
    at("before stop");
    const answer = await send.apply(real.jobs, given);
    at("after stop");
    return answer;
  },
});

type Append = Parameters<Store["jobs"]["append"]>;

function writeOf(events: Append[1], more: Append[3]): Write | undefined {
  if (events.some(({ event }) => event.kind === "ended")) return "end";
  if (events.some(({ event }) => event.kind === "stepped")) return "group";
  if (more?.says === undefined) return undefined;
  return (more.wakes ?? []).length > 0 ? "wake" : "line";
}

/** It answers when there is a line that the session was not told of: until then it has not taken in the first. */
const slow: Provider = {
  id: "listener", // The model of the next process: one without the turn's model would skip it.
  modelId: "test",
  async *stream() {
    await lines.promise;
    yield* says("I see.");
  },
};

const alive = setInterval(() => {}, 60_000);
const runtime = await createRuntime({ store, model: slow });
const session = await runtime.session("desk");
await session.monitors.start({ id: "watch", command, env, restarts, wake: "wake", isPersistent: true });
await lines.promise;
if (leaves === "exit") process.exit(0);
if (leaves === "SIGTERM") process.kill(process.pid, leaves);
if (leaves === "stop") await session.monitors.stop("watch");
if (leaves === "close") {
  await runtime.close();
  clearInterval(alive);
}
