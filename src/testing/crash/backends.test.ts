import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Lease } from "../../stores/store.ts";
import { alice, begin, ben, LAPSED, NOW, newSession, opening, send, slept } from "../cast.ts";
import type { OpenedBackend, TrialResources } from "./backends/backend.ts";
import { type CrashBackendName, crashBackends } from "./backends.ts";

/** A place in which a turn has begun and slept once. */
interface Begun extends OpenedBackend, AsyncDisposable {
  readonly at: TrialResources;
  readonly lease: Lease;
}

async function begun(name: CrashBackendName): Promise<Begun> {
  const at = { folder: mkdtempSync(join(tmpdir(), "bowline-place-")), name: "unused" };
  const opened = await crashBackends[name].open(at);
  await opened.store.create(newSession());
  const lease = await begin(opened.store, "hello");
  await opened.store.append(lease, 1, [slept("a")], NOW);
  return {
    ...opened,
    at,
    lease,
    async [Symbol.asyncDispose]() {
      await opened.store.close();
      rmSync(at.folder, { recursive: true });
    },
  };
}

test.each(["sqlite", "amnesiac"] as const)(
  "D6 a look at the place %s shows what was written, and repairs nothing",
  async (name) => {
    await using there = await begun(name);
    const { at, lease } = there;
    const files = () =>
      readdirSync(at.folder)
        .filter((file) => !file.endsWith("-shm"))
        .map((file) => [file, readFileSync(join(at.folder, file))]);
    const before = files();
    const shown = await crashBackends[name].look(
      at,
      async (store) => {
        const events = await store.journal(lease.turnId, 0);
        await store.delete(alice); // As what is written to a copy, it is forgotten.
        return events.map(({ kind }) => kind);
      },
      "still",
    );
    expect(shown).toEqual(["opened", "slept"]);
    expect(files()).toEqual(before);
  },
);

test("D6 a shared look at the place sqlite shows what another process writes meanwhile", async () => {
  await using there = await begun("sqlite");
  const inputs = await crashBackends.sqlite.look(
    there.at,
    async (store) => {
      await send(there.store, "and more");
      return store.inputs.list(alice);
    },
    "shared",
  );
  expect(inputs.length).toBe(1);
});

test("D2 D6 who opens a turn again on the place amnesiac gets its first event, and the others only from the journal", async () => {
  await using there = await begun("amnesiac");
  const { store, lease } = there;
  const answer = await store.open(alice, ben, LAPSED, opening);
  expect(answer).toMatchObject({ kind: "resumed", journal: [{ kind: "opened" }] });
  expect((await store.journal(lease.turnId, 0)).length).toBe(2);
});
