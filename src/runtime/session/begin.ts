// The data with which a session begins, besides its history: plugin states and a first input.

import type { SavedState, SavedStates } from "../../kernel/created.ts";
import type { Installed } from "../../kernel/plugin.ts";
import type { NewSessionRequest } from "../../kernel/session-requests.ts";
import { BLOBS_MAX, isBlobName, migrated, parse, requireSize } from "../../kernel/states.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import { isObject, type Json, toJson } from "../../model/json.ts";
import type { Core } from "../core.ts";
import { FIRST_INPUT, isOwnState } from "../services/reading.ts";
import { newInput } from "./input.ts";

/** Checks states and input, and stores their blobs. A sweep may remove these blobs until the session refers to them. */
export async function beginning(
  core: Core,
  id: SessionId,
  { firstInput, states = {} }: NewSessionRequest,
  plugin: string | undefined,
): Promise<SavedStates> {
  const checked = await savedAgain(core, states);
  if (firstInput === undefined) return checked;
  const { message } = await newInput(core, id, firstInput, undefined, "turn");
  const state = plugin === undefined ? message : { ...message, origin: { kind: "plugin", plugin } };
  const files = message.parts.filter((part) => part.kind === "attachment");
  // The session refers to the blobs, so that a sweep keeps their bytes.
  const blobs = Object.fromEntries(files.map(({ hash }) => [hash, hash]));
  const saved = {
    version: "1",
    revision: 1,
    state: state as unknown as Json,
    ...(files.length === 0 ? {} : { blobs }),
  };
  return { ...checked, [FIRST_INPUT]: saved };
}

async function savedAgain({ plugins, limits, store }: Core, given: unknown): Promise<SavedStates> {
  if (!isObject(given))
    throw new RuntimeError("input.invalid", { problem: "`states` must be an object that session.states() returned" });
  const own = Object.keys(given).find(isOwnState);
  if (own !== undefined)
    throw new RuntimeError("session.states", {
      plugin: own,
      problem: "this state belongs to the runtime, not to a plugin",
    });
  const states = checkedStates(plugins, given, limits.stateBytesMax);
  for (const [plugin, { blobs = {} }] of Object.entries(states))
    for (const [name, hash] of Object.entries(blobs)) {
      const data = await store.blobs.get(hash);
      if (data === undefined)
        throw new RuntimeError("session.states", {
          plugin,
          problem: `the bytes of its blob ${name} are not in this store`,
        });
      await store.blobs.put(hash, data);
    }
  return states;
}

/**
 * Checks states of callers, and migrates them to the installed versions. Keeps states of plugins that are not installed
 * (S4).
 */
const checkedStates = (plugins: readonly Installed[], given: object, bytesMax: number): SavedStates =>
  Object.fromEntries(
    Object.entries(given).map(([id, value]: [string, unknown]) => {
      const plugin = plugins.find((each) => each.id === id);
      return [id, checkedState(id, plugin?.spec.state === undefined ? undefined : plugin, value, bytesMax)];
    }),
  );

function checkedState(id: string, plugin: Installed | undefined, value: unknown, bytesMax: number): SavedState {
  const found = toJson(value);
  const wrong = (problem: string): never => {
    throw new RuntimeError("session.states", { plugin: id, problem });
  };
  if ("problem" in found) return wrong(`${found.path}: ${found.problem}`);
  const { version, revision, state, blobs } = (isObject(found.json) ? found.json : {}) as Partial<SavedState>;
  if (
    typeof version !== "string" ||
    !Number.isSafeInteger(Number(revision) + 1) ||
    Number(revision) < 0 ||
    state === undefined
  )
    return wrong("a saved state must have a version, a revision and a state");
  const names = Object.keys(blobs ?? {});
  const isRight = isObject(blobs ?? {}) && names.every(isBlobName) && names.length <= BLOBS_MAX;
  if (!isRight || !Object.values(blobs ?? {}).every((hash) => typeof hash === "string"))
    return wrong("its blobs must be hashes by name");
  const stored: SavedState = { version, revision: Number(revision), state, ...(blobs === undefined ? {} : { blobs }) };
  requireSize(id, state, bytesMax);
  if (plugin === undefined) return stored;
  const now = plugin.version === version ? parse(plugin, state) : migrated(plugin, stored);
  requireSize(id, now, bytesMax);
  return { ...stored, version: plugin.version, state: now };
}
