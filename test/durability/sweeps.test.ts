import { attach, createRuntime, definePlugin, defineTool, type Runtime, type Store, type ToolContext } from "bowline";
import { type SqliteStore, sqlite } from "bowline/stores/sqlite";
import { calls, says } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { signalOf, within } from "../kit/reading.ts";
import { around, file } from "../kit/stores.ts";
import { HOUR } from "../kit/worlds.ts";
import { model, nothing } from "./witness.ts";

/** A file, and another process that sweeps it as sharply as it can: to its clock everything is old. */
function swept(ahead: number): { store: SqliteStore; again: () => SqliteStore; sweep(): Promise<void> } {
  const path = file();
  const store = sqlite(path, { durability: "process" });
  const other = sqlite(path, { durability: "process", now: () => Date.now() + ahead });
  return {
    store,
    again: () => sqlite(path, { durability: "process" }),
    async sweep() {
      for (let sweeps = 0; sweeps < 3; sweeps++) await other.sweep({ olderThanMs: ahead > 0 ? 120_000 : -1 });
    },
  };
}
const AHEAD = [
  ["2 h ahead", 2 * HOUR],
  ["right", 0],
  ["2 h behind", -2 * HOUR],
] as const;

const rules = definePlugin({
  id: "acme/rules",
  setup: () => ({ prompt: () => [{ slot: "guidance", text: "Be brief." }] }),
});
/** Calls `search` in every turn, then answers. */
const searching = (store: Store, search: (context: ToolContext) => unknown): Promise<Runtime> =>
  createRuntime({
    store,
    instructions: "You search.",
    plugins: [rules],
    model: model(nothing(), ({ messages }) =>
      messages.at(-1)?.role === "tool" ? says("Found.") : calls("search", {}, `call_${messages.length}`),
    ),
    tools: [
      defineTool({
        name: "search",
        description: "Searches.",
        input: z.object({}),
        execute: (_, context) => search(context) as string,
      }),
    ],
  });

/** What the journal of an open turn names and the store does not have. */
async function missing(store: Store, turn: string): Promise<readonly string[]> {
  const hashes = JSON.stringify(await store.journal(turn as never, 0)).match(/"[\w-]{43}"/g) ?? [];
  expect(hashes.length).toBeGreaterThanOrEqual(3); // Prompt, catalog and parts.
  const gone: string[] = [];
  for (const hash of hashes) if ((await store.blobs.get(JSON.parse(hash))) === undefined) gone.push(hash);
  return gone;
}

for (const [clock, ahead] of AHEAD)
  test(`D9 D2 a runtime that has run before names nothing that was garbage-collected meanwhile, and the turn can be resumed: a clock ${clock}`, async () => {
    const { store, again, sweep } = swept(ahead);
    const began = signalOf();
    let [isHeld, lease]: [boolean, unknown] = [false, undefined];
    const watched = around(store, {
      append(append, given) {
        lease = given;
        return append();
      },
    });
    const runtime = await searching(watched, () => {
      if (!isHeld) return "Nine.";
      began.resolve();
      return new Promise(() => {});
    });
    const session = await runtime.session("s");
    for (const words of ["One.", "Two."]) await session.turn(words).result();
    await sweep();
    isHeld = true;
    const turn = session.turn("Three.");
    void turn.result().catch(() => {});
    await began.promise;
    await sweep();
    expect(await missing(store, await turn.id)).toEqual([]);
    await store.release(lease as never); // As if its process were proven dead.
    const next = await searching(again(), () => "Ten.");
    const { outcome } = await within((await next.session("s")).follow(await turn.id).result(), 3_000);
    expect(outcome).toMatchObject({ kind: "answered", text: "Found." });
    await Promise.all([next.close(), runtime.close()]);
  });

for (const [clock, ahead] of AHEAD)
  test(`D9 a sweep between the bytes of a prompt and the event that names them takes nothing: a clock ${clock}`, async () => {
    const { store, sweep } = swept(ahead);
    const gone: string[][] = [];
    const busy = around(store, {
      append: async (append, lease) => {
        await sweep();
        const until = await append();
        gone.push([...(await missing(store, (lease as { turnId: string }).turnId))]);
        return until;
      },
    });
    const runtime = await searching(busy, () => "Nine.");
    const session = await runtime.session("s");
    for (const words of ["One.", "Two."]) {
      const turn = session.turn(words);
      expect((await turn.result()).outcome.kind).toBe("answered");
    }
    expect(gone.length).toBeGreaterThanOrEqual(4);
    expect(gone.flat()).toEqual([]);
    await runtime.close();
  });

for (const [clock, ahead] of AHEAD)
  test(`D9 an attachment that is garbage-collected before its input is accepted is stored again, and the caller gets no error: a clock ${clock}`, async () => {
    const { store, sweep } = swept(ahead);
    const refusals: unknown[] = [];
    let sweeps = 0;
    const busy = around(store, {
      accept: async (accept) => {
        if (++sweeps <= 2) await sweep();
        try {
          return await accept();
        } catch (error) {
          refusals.push((error as { code?: string }).code);
          throw error;
        }
      },
    });
    const runtime = await searching(busy, () => "Nine.");
    const session = await runtime.session("s");
    const picture = () => attach(new Uint8Array([1, 2, 3]), { mediaType: "image/png" });
    expect((await session.turn(["Look.", picture()]).result()).outcome.kind).toBe("answered");
    sweeps = 0;
    const { turnId } = await session.send(["And this.", picture()], { at: "next-turn" });
    await session.follow(turnId).result();
    const hashes = (await session.read()).messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.kind === "attachment" ? [part.hash] : [])),
    );
    expect(hashes).toHaveLength(2);
    for (const hash of hashes) expect(await store.blobs.get(hash)).toEqual(new Uint8Array([1, 2, 3]));
    expect(new Set(refusals)).toEqual(new Set(ahead < 0 ? [] : ["store.swept"]));
    await runtime.close();
  });

for (const [clock, ahead] of AHEAD)
  test(`D9 T13 a blob that a tool puts exists when its result names it, whatever is garbage-collected in between: a clock ${clock}`, async () => {
    const { store, sweep } = swept(ahead);
    const runtime = await searching(store, async ({ blobs }) => {
      const hash = await blobs.put(new Uint8Array([7, 7]));
      await sweep();
      return { kind: "drawn", hash };
    });
    const session = await runtime.session("s");
    await session.turn("Draw.").result();
    await sweep();
    const { messages } = await session.read();
    const [hash] = /[\w-]{43}/.exec(JSON.stringify(messages)) ?? [];
    expect(await store.blobs.get(hash as never)).toEqual(new Uint8Array([7, 7]));
    await runtime.close();
  });

for (const [clock, ahead] of AHEAD)
  test(`D9 a command whose bytes are garbage-collected before it is kept is done again: a clock ${clock}`, async () => {
    const { store, sweep } = swept(ahead);
    let [runs, isSwept] = [0, false];
    const busy = around(store, {
      apply: async (apply) => {
        if (!isSwept) await sweep();
        isSwept = true;
        return apply();
      },
    });
    const keeper = definePlugin({
      id: "acme/keeper",
      state: z.object({}),
      setup: ({ command, query }) => ({
        operations: {
          put: command({
            run: async ({ state }) => {
              runs++;
              await state.blobs.put("note", new TextEncoder().encode("Kept."));
            },
          }),
          get: query({ run: async ({ state }) => new TextDecoder().decode(await state.blobs.get("note")) }),
        },
      }),
    });
    const runtime = await createRuntime({ store: busy, model: model(nothing(), () => says("Hm.")), plugins: [keeper] });
    const session = await runtime.session("s");
    await session.command(keeper, "put");
    await sweep();
    expect(await session.query(keeper, "get")).toBe("Kept.");
    expect(runs).toBe(ahead < 0 ? 1 : 2);
    await runtime.close();
  });
