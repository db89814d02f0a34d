import { DatabaseSync } from "node:sqlite";
import { createRuntime, type Runtime, type Store } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says } from "bowline/testing";
import { expect, test } from "vitest";
import { signalOf, within } from "../kit/reading.ts";
import { around, file } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";
import { model, nothing, tool } from "./witness.ts";

/** Another connection that writes for longer than anybody who only calls would wait. */
function locking(path: string, store: Store): { lock(): void; outlast(): Promise<void>; unlock(): void } {
  const other = new DatabaseSync(path);
  return {
    lock: () => other.exec("BEGIN IMMEDIATE"),
    /** Settles when a call that came after all others has been refused. */
    outlast: () =>
      expect(store.create({ id: "x" as never, config: {}, at: 0 })).rejects.toMatchObject({ code: "store.locked" }),
    unlock: () => other.exec("ROLLBACK"),
  };
}

for (const writes of ["renew", "append", "commit"] as const)
  test(`D2 D8 a lock longer than \`busyTimeoutMs\` on ${writes} ends no turn that runs: no call is aborted, and none is made twice`, async () => {
    const path = file();
    const did = nothing();
    const [held, began, gate] = [signalOf(), signalOf(), signalOf()];
    const kept = sqlite(path, { durability: "process", busyTimeoutMs: 60 });
    const { lock, outlast, unlock } = locking(path, kept);
    let isLocked = false;
    const store = around(kept, {
      [writes]: (write) => {
        if (isLocked) held.resolve();
        return write();
      },
    });
    const lockNow = (): void => {
      lock();
      isLocked = true;
    };
    const traces: string[] = [];
    const aborted: unknown[] = [];
    const runtime: Runtime = await createRuntime({
      store,
      telemetry: onEvent(({ name }) => void traces.push(name)),
      model: model(did, ({ messages }) => {
        if (messages.at(-1)?.role !== "tool") return calls("search");
        if (writes === "commit") lockNow();
        return says("Found.");
      }),
      tools: [
        tool(did, "search", async (_, { signal }) => {
          signal.addEventListener("abort", () => aborted.push(signal.reason));
          began.resolve();
          if (writes === "renew") await gate.promise;
          if (writes === "append") lockNow();
          return "Nine.";
        }),
      ],
    });
    const turn = (await runtime.session("s")).turn("Go.");
    await began.promise;
    if (writes === "renew") lockNow();
    await held.promise;
    await outlast();
    unlock();
    gate.resolve();
    expect((await within(turn.result(), 3_000)).outcome).toMatchObject({ kind: "answered", text: "Found." });
    expect(did).toMatchObject({ asks: { length: 2 }, calls: { length: 1 } });
    expect(aborted).toEqual([]);
    expect(traces.filter((name) => name === "host.lost")).toEqual([]);
    await runtime.close();
  });
