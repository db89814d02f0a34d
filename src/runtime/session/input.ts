import type { GivenInput } from "../../kernel/hook-values.ts";
import { type Awaitable, andThen } from "../../model/awaitable.ts";
import type { SessionConfig } from "../../model/config.ts";
import { RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import { asInputId, asTurnId, type SessionId, type TurnId } from "../../model/ids.ts";
import type { InjectedMessage, Input } from "../../model/input.ts";
import { bytesOver, isObject, type JsonObject, storable } from "../../model/json.ts";
import { type Known, requireKnown } from "../../model/known.ts";
import type { Draft } from "../../model/message.ts";
import type { NewInput, Standing, TurnWants } from "../../stores/store.ts";
import type { Opened } from "../../turn/event.ts";
import { STEP_VERSION } from "../../turn/state.ts";
import { requireKey } from "../checks.ts";
import { type Core, effectiveConfig } from "../core.ts";
import { ofParts } from "../services/parts.ts";
import { ofProtocol, PROTOCOL } from "../services/reading.ts";
import type { LiveSession } from "./session.ts";

/**
 * Checks an input and prepares it for acceptance. Attachments are stored first, because an accepted input must not refer
 * to missing bytes. Text needs no promise, so that turns begin in the order of their calls.
 */
export function newInput(
  core: Core,
  sessionId: SessionId,
  input: Input,
  key: string | undefined,
  place: NewInput["place"],
  wants?: TurnWants,
  metadata?: JsonObject,
): Awaitable<NewInput> {
  if (key !== undefined) requireKey("key", key);
  if (metadata !== undefined) {
    const notes = checkedMetadata(metadata);
    const noted = newInput(core, sessionId, input, key, place, wants);
    return andThen(noted, (made) => ({ ...made, metadata: notes }));
  }
  if (typeof input !== "string")
    return ofParts(core, input).then((message) => made(core, sessionId, message, key, place, wants));
  if (input.trim() === "") throw new RuntimeError("input.invalid", { problem: "the text is empty" });
  const max = core.limits.inputBytesMax;
  const bytes = bytesOver(input, max);
  if (bytes !== undefined) throw new RuntimeError("limit.bytes", { what: "The input", bytes, max });
  return made(core, sessionId, { role: "user", parts: [{ kind: "text", text: input }] }, key, place, wants);
}

const METADATA_MAX = 8_192;

/** Returns a copy of the metadata. Throws `metadata.invalid`. */
export function checkedMetadata(given: unknown): JsonObject {
  const wrong = (problem: string): never => {
    throw new RuntimeError("metadata.invalid", { problem });
  };
  if (!isObject(given) || Array.isArray(given)) return wrong("it is not an object");
  const metadata = storable(given);
  if (metadata === undefined) return wrong("it is not JSON");
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  return bytes > METADATA_MAX
    ? wrong(`it has ${bytes} bytes, and the limit is ${METADATA_MAX}`)
    : (metadata as JsonObject);
}

const MESSAGE: Known<InjectedMessage> = { role: true, parts: true };

/** Checks a message that opens no turn and prepares it for acceptance. `plugin`: the plugin that injects it, if any. */
export async function injectedInput(
  core: Core,
  sessionId: SessionId,
  given: string | InjectedMessage,
  id: string | undefined,
  plugin: string | undefined,
): Promise<NewInput> {
  if (id !== undefined) requireKey("id", id);
  const { role, parts } = messageOf(given);
  const message = { ...(await ofParts(core, parts)), role };
  if (plugin === undefined) return made(core, sessionId, message, id, "injected", undefined);
  const origin = { kind: "plugin", plugin } as const;
  const input = made(core, sessionId, { ...message, origin }, id, "injected", undefined);
  // Not part of the hash, because a repeat has another id.
  return { ...input, message: { ...message, origin: { ...origin, inputId: input.id } } };
}

function messageOf(given: string | InjectedMessage): InjectedMessage {
  if (typeof given === "string") return { role: "user", parts: [given] };
  if (!isObject(given) || (given.role !== "user" && given.role !== "system"))
    throw new RuntimeError("input.invalid", {
      problem: "an injected input must be a text, or a message of role user or system",
    });
  requireKnown("sessions.inject", given, MESSAGE);
  return given;
}

function made(
  { world }: Core,
  sessionId: SessionId,
  message: Draft,
  key: string | undefined,
  place: NewInput["place"],
  wants: TurnWants | undefined,
): NewInput {
  const input = {
    id: asInputId(world.id("inp")),
    turnId: asTurnId(world.id("trn")),
    sessionId,
    message,
    place,
    at: world.now(),
    hash: "",
  };
  if (key === undefined) return wants === undefined ? input : { ...input, wants };
  const about = wants ?? (place === "injected" ? place : undefined);
  const hash = hashOf(JSON.stringify(about === undefined ? message : [message, about]));
  return { ...input, ...(wants === undefined ? {} : { wants }), key, hash };
}

/** The turn that a waiting input opens. An injected input opens none. */
export const ownTurn = (place: NewInput["place"], turnId: TurnId): { readonly turnId?: TurnId } =>
  place === "injected" ? {} : { turnId };

/** Stores the attachments of an input again. */
export const attaching =
  (core: Core, input: Exclude<Input, string>): (() => Promise<unknown>) =>
  () =>
    ofParts(core, input);

/** The input after `input` hooks. An input with a known key skips the hooks, because they have seen it before. */
export async function applyInputHooks(session: LiveSession, input: NewInput): Promise<NewInput> {
  const { core, composition, id } = session;
  const { key, message, place } = input;
  if (key !== undefined && (await core.store.inputs.holds(id, key))) return input;
  const given = message.parts as GivenInput["parts"];
  const at: GivenInput["at"] = place === "boundary" ? "boundary" : "next-turn";
  const parts = await composition.hooks.transform(
    "input",
    given,
    session.contextAbout(input.wants?.extensions),
    (now) => ({ input: { parts: now, at, ...(key === undefined ? {} : { key }) } }),
    (_, answer): GivenInput["parts"] => (typeof answer === "string" ? [{ kind: "text", text: answer }] : answer),
  );
  return parts === given ? input : { ...input, message: await ofParts(core, parts) };
}

/** The first event of a turn. It records everything that a resumed turn must not read from a newer configuration. */
export function openedFor(
  session: LiveSession,
  input: NewInput,
  config: Partial<SessionConfig>,
  { plugins, options, hasInjected }: Standing,
): Omit<Opened, "generation"> {
  const { core } = session;
  const slot = options === session.options ? session.slot : session.slotWith(options);
  const effective = effectiveConfig(core, config);
  const own = plugins[PROTOCOL] === undefined ? undefined : ofProtocol(plugins)?.options;
  const { id, version } = slot.driver;
  const at = core.world.now();
  return {
    kind: "opened",
    at,
    sessionId: input.sessionId,
    turnId: input.turnId,
    inputId: input.id,
    input: input.message,
    step: STEP_VERSION,
    protocol: own === undefined ? { id, version } : { id, version, options: own },
    host: core.host.kind,
    plugins: core.pluginList,
    limits: core.limits,
    config: effective,
    ...(options === undefined ? {} : { options }),
    ...(effective.mergesInputs === true && input.wants === undefined ? { merges: true } : {}),
    ...(hasInjected === true ? { takes: true } : {}),
    ...(input.metadata === undefined ? {} : { metadata: input.metadata }),
    ...(at === input.at ? {} : { acceptedAt: input.at }),
    ...input.wants,
  };
}
