import type { GivenInput } from "../../kernel/hooks.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import type { SessionConfig } from "../../model/config.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import { asBlobHash, asInputId, asTurnId, type SessionId, type TurnId } from "../../model/ids.ts";
import type { InjectedMessage, Input } from "../../model/input.ts";
import { bytesOver, isObject } from "../../model/json.ts";
import { type Known, requireKnown } from "../../model/known.ts";
import type { Attachment, Draft, TextPart } from "../../model/message.ts";
import { Attachable } from "../../model/tool.ts";
import type { NewInput, Standing, TurnWants } from "../../stores/store.ts";
import type { Opened } from "../../turn/event.ts";
import { STEP_VERSION } from "../../turn/state.ts";
import { requireKey } from "../checks.ts";
import { type Core, effectiveConfig } from "../core.ts";
import { ofProtocol, PROTOCOL } from "../services/reading.ts";
import type { LiveSession } from "../session/session.ts";

/**
 * Checks an input and makes it ready to be accepted. Attachments are stored first: an accepted input never names
 * missing bytes. Text is ready without a promise, so that turns begin in the order they were asked for.
 */
export function newInput(
  core: Core,
  sessionId: SessionId,
  input: Input,
  key: string | undefined,
  place: NewInput["place"],
  wants?: TurnWants,
): Awaitable<NewInput> {
  if (key !== undefined) requireKey("key", key);
  if (typeof input !== "string")
    return ofParts(core, input).then((message) => made(core, sessionId, message, key, place, wants));
  if (input.trim() === "") throw new RuntimeError("input.invalid", { problem: "it is empty" });
  const bytes = bytesOver(input, core.limits.inputBytesMax);
  if (bytes !== undefined) sized(core, bytes);
  return made(core, sessionId, { role: "user", parts: [{ kind: "text", text: input }] }, key, place, wants);
}

const MESSAGE: Known<InjectedMessage> = { role: true, parts: true };

/** Checks a message that opens no turn and makes it ready to be accepted; `plugin`: who injects it, if not the app. */
export async function injectedInput(
  core: Core,
  sessionId: SessionId,
  given: string | InjectedMessage,
  id: string | undefined,
  plugin: string | undefined,
): Promise<NewInput> {
  if (id !== undefined) requireKey("id", id);
  const { role, parts } = messageOf(given);
  const said = { ...(await ofParts(core, parts)), role };
  if (plugin === undefined) return made(core, sessionId, said, id, "injected", undefined);
  const origin = { kind: "plugin", plugin } as const;
  const input = made(core, sessionId, { ...said, origin }, id, "injected", undefined);
  // Not hashed: a repeat has another id.
  return { ...input, message: { ...said, origin: { ...origin, inputId: input.id } } };
}

function messageOf(given: string | InjectedMessage): InjectedMessage {
  if (typeof given === "string") return { role: "user", parts: [given] };
  if (!isObject(given) || (given.role !== "user" && given.role !== "system"))
    throw new RuntimeError("input.invalid", { problem: "only text, or a message of role user or system, is injected" });
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

/** The turn that a waiting input opens; an injected one opens none. */
export const ownTurn = (place: NewInput["place"], turnId: TurnId): { readonly turnId?: TurnId } =>
  place === "injected" ? {} : { turnId };

function sized(core: Core, bytes: number): void {
  const max = core.limits.inputBytesMax;
  if (bytes > max) throw new RuntimeError("limit.bytes", { what: "The input", bytes, max });
}

/** Stores the attachments of an input again. */
export const attaching =
  (core: Core, input: Exclude<Input, string>): (() => Promise<unknown>) =>
  () =>
    ofParts(core, input);

const ATTACH_TRIES = 5;

/** Accepts an input, and stores its attachments again when a sweep was quicker. */
export async function whileSwept<T>(accept: () => Awaitable<T>, attach: () => Promise<unknown>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await accept();
    } catch (error) {
      if (!hasCode(error, "store.swept") || tries === ATTACH_TRIES) throw error;
      await attach();
    }
  }
}

async function ofParts(core: Core, parts: readonly unknown[]): Promise<Draft> {
  if (!Array.isArray(parts))
    throw new RuntimeError("input.invalid", { problem: "it is neither text nor a list of parts" });
  if (parts.length === 0) throw new RuntimeError("input.invalid", { problem: "it has no parts" });
  let bytes = 0;
  const found: (TextPart | Attachment)[] = [];
  /** Refuses the first part that is too much, before it is hashed or stored. */
  const weigh = (part: string | number): void => {
    bytes += PART_BYTES + (typeof part === "number" ? part : Math.min(part.length, core.limits.inputBytesMax + 1));
    sized(core, bytes);
  };
  const say = (text: string): void => {
    weigh(text);
    found.push({ kind: "text", text });
  };
  for (const part of parts as readonly unknown[]) {
    if (typeof part === "string") say(part);
    else if (part instanceof Attachable) {
      weigh(part.data.byteLength);
      const hash = hashOf(part.data);
      await core.store.blobs.put(hash, part.data);
      found.push({
        kind: "attachment",
        hash,
        mediaType: part.mediaType,
        bytes: part.data.byteLength,
        ...(part.name === undefined ? {} : { name: part.name }),
      });
    } else if (isObject(part) && part.kind === "text" && typeof part.text === "string") say(part.text);
    else if (isObject(part) && part.kind === "attachment") {
      weigh(0);
      found.push(await keptAlready(core, part));
    } else throw new RuntimeError("input.invalid", { problem: "a part is neither text nor an attachment" });
  }
  if (found.every((part) => part.kind === "text" && part.text.trim() === ""))
    throw new RuntimeError("input.invalid", { problem: "it is empty" });
  const texts = found.reduce((sum, part) => sum + (part.kind === "text" ? Buffer.byteLength(part.text) : 0), 0);
  sized(core, Math.max(bytes, texts));
  return { role: "user", parts: found };
}
/** Counted for each part besides its content, so that empty parts are bounded too. */
const PART_BYTES = 32;

/** An attachment whose bytes are stored already. Its size is taken from the store, not from the caller. */
async function keptAlready(
  { store }: Core,
  { hash, mediaType, name }: { readonly [field: string]: unknown },
): Promise<Attachment> {
  const data = typeof hash === "string" ? await store.blobs.get(asBlobHash(hash)) : undefined;
  if (data === undefined || typeof mediaType !== "string")
    throw new RuntimeError("input.invalid", { problem: "an attachment names bytes that are not there" });
  await store.blobs.put(asBlobHash(hash as string), data); // Put again, so that a sweep does not take them now.
  return {
    kind: "attachment",
    hash: asBlobHash(hash as string),
    mediaType,
    bytes: data.byteLength,
    ...(typeof name === "string" ? { name } : {}),
  };
}

/** The input as `input` hooks make it. One whose key is known is not new: hooks have seen it. */
export async function heardInput(session: LiveSession, input: NewInput): Promise<NewInput> {
  const { core, composition, id } = session;
  const { key, message, place } = input;
  if (key !== undefined && (await core.store.inputs.holds(id, key))) return input;
  const given = message.parts as GivenInput["parts"];
  const at: GivenInput["at"] = place === "boundary" ? "boundary" : "next-turn";
  const parts = await composition.hooks.transform(
    "input",
    given,
    session.siteAbout(input.wants?.extensions),
    (now) => ({ input: { parts: now, at, ...(key === undefined ? {} : { key }) } }),
    (_, answer): GivenInput["parts"] => (typeof answer === "string" ? [{ kind: "text", text: answer }] : answer),
  );
  return parts === given ? input : { ...input, message: await ofParts(core, parts) };
}

/** The first event of a turn: everything that a later fold must not read from today's configuration. */
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
  return {
    kind: "opened",
    at: core.world.now(),
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
    ...input.wants,
  };
}
