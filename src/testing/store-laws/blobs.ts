import assert from "node:assert/strict";
import { asBlobHash } from "../../model/ids.ts";
import type { Part } from "../../model/message.ts";
import { alice, newSession, send } from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { HASH, hello } from "./acts.ts";

export const blobLaws: readonly StoreLaw[] = [
  law("a blob is given back as it was put", async (store) => {
    assert.equal(await store.blobs.get(HASH), undefined);
    await store.blobs.put(HASH, hello());
    const data = await store.blobs.get(HASH);
    assert.deepEqual([...(data ?? [])], [...hello()]);
  }),
  law("putting a blob again is harmless", async (store) => {
    await store.blobs.put(HASH, hello());
    await store.blobs.put(HASH, hello());
    assert.deepEqual([...((await store.blobs.get(HASH)) ?? [])], [...hello()]);
  }),
  law("a blob does not change with the bytes it was made of, or that were read", async (store) => {
    const data = hello();
    await store.blobs.put(HASH, data);
    data.fill(0);
    (await store.blobs.get(HASH))?.fill(0);
    assert.deepEqual([...((await store.blobs.get(HASH)) ?? [])], [...hello()]);
  }),
  law("an input whose attachment is not there is refused, and kept once its bytes are", async (store) => {
    await store.create(newSession(alice));
    const parts: readonly Part[] = [{ kind: "attachment", hash: HASH, mediaType: "text/plain", bytes: 5 }];
    await refused("store.swept", () => send(store, "look", { parts, key: "k" }));
    assert.deepEqual([await store.inputs.list(alice), await store.latest()], [[], undefined]);
    await store.blobs.put(HASH, hello());
    assert.equal((await send(store, "look", { parts, key: "k" })).kind, "opened");
    assert.equal((await send(store, "look", { parts, key: "k" })).kind, "known");
  }),
  law("a session whose state names bytes that are not there is refused, and created once they are", async (store) => {
    const plugins = { "a/b": { version: "1", revision: 1, state: null, blobs: { file: HASH } } };
    await refused("store.swept", () => store.create({ ...newSession(alice), plugins }));
    assert.equal(await store.load(alice), undefined);
    await store.blobs.put(HASH, hello());
    await store.create({ ...newSession(alice), plugins });
    assert.deepEqual((await store.load(alice))?.plugins, plugins);
  }),
  law("a blob may be empty", async (store) => {
    const empty = asBlobHash("47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    await store.blobs.put(empty, new Uint8Array());
    assert.equal((await store.blobs.get(empty))?.length, 0);
  }),
];
