import type { ProtocolDriverSlot } from "../kernel/slots.ts";
import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import { asBlobHash, asInputId, asTurnId, type SessionId } from "../model/ids.ts";
import { type Awaitable, bytesOver, isObject } from "../model/json.ts";
import type { Attachment, Draft, TextPart } from "../model/message.ts";
import { Attachable } from "../model/tool.ts";
import type { NewInput, TurnWants } from "../stores/store.ts";
import { hashOf } from "../tools/catalog.ts";
import type { Opened } from "../turn/event.ts";
import { STEP_VERSION } from "../turn/state.ts";
import type { Core } from "./core.ts";

/** What a user says: text, or parts. */
export type Input = string | readonly (string | TextPart | Attachable | Attachment)[];

/** An input ready to be accepted. Bytes of attachments are kept first: an accepted input never names what is not there. */
export function newInput(
  core: Core,
  sessionId: SessionId,
  input: Input,
  key: string | undefined,
  place: NewInput["place"],
  wants?: TurnWants,
): Awaitable<NewInput> {
  if (key !== undefined && (typeof key !== "string" || key === "" || key.length > 256))
    throw new RuntimeError("input.invalid", { problem: "its key must be text of 1 to 256 characters" });
  const made = (message: Draft): NewInput => {
    const base = {
      id: asInputId(core.world.id("inp")),
      turnId: asTurnId(core.world.id("trn")),
      sessionId,
      message,
      place,
      at: core.world.now(),
      hash: "",
      ...(wants === undefined ? {} : { wants }),
    };
    return key === undefined
      ? base
      : { ...base, key, hash: hashOf(JSON.stringify(wants ? [message, wants] : message)) };
  };
  return typeof input === "string" ? made(ofText(core, input)) : ofParts(core, input).then(made);
}

function ofText(core: Core, text: string): Draft {
  if (text.trim() === "") throw new RuntimeError("input.invalid", { problem: "it is empty" });
  const bytes = bytesOver(text, core.limits.inputBytesMax);
  if (bytes !== undefined) sized(core, bytes);
  return { role: "user", parts: [{ kind: "text", text }] };
}

function sized(core: Core, bytes: number): void {
  const max = core.limits.inputBytesMax;
  if (bytes > max) throw new RuntimeError("limit.bytes", { what: "The input", bytes, max });
}

async function ofParts(core: Core, parts: readonly unknown[]): Promise<Draft> {
  if (!Array.isArray(parts))
    throw new RuntimeError("input.invalid", { problem: "it is neither text nor a list of parts" });
  if (parts.length === 0) throw new RuntimeError("input.invalid", { problem: "it has no parts" });
  let bytes = 0;
  const found: (TextPart | Attachment)[] = [];
  /** Refused at the first that is too much, before anything is made of it. */
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
/** What a part is kept with. */
const PART_BYTES = 32;

/** A reference to bytes that are there; nothing else of it is believed. */
async function keptAlready(
  { store }: Core,
  { hash, mediaType, name }: { readonly [field: string]: unknown },
): Promise<Attachment> {
  const data = typeof hash === "string" ? await store.blobs.get(asBlobHash(hash)) : undefined;
  if (data === undefined || typeof mediaType !== "string")
    throw new RuntimeError("input.invalid", { problem: "an attachment names bytes that are not there" });
  await store.blobs.put(asBlobHash(hash as string), data); // Named anew: a sweep must not take them now.
  return {
    kind: "attachment",
    hash: asBlobHash(hash as string),
    mediaType,
    bytes: data.byteLength,
    ...(typeof name === "string" ? { name } : {}),
  };
}

/** The runtime's, with what the session has of its own. */
export function effectiveConfig(core: Core, own: Partial<SessionConfig>): SessionConfig {
  for (const _ in own) return { ...core.config, ...own };
  return core.config;
}

/** The first event of a turn: everything that a later fold must not read from today's configuration. */
export function openedFor(
  session: { readonly core: Core; readonly id: SessionId; readonly slot: ProtocolDriverSlot },
  input: NewInput,
  config: Partial<SessionConfig>,
): Omit<Opened, "generation"> {
  const { core, slot } = session;
  const effective = effectiveConfig(core, config);
  return {
    kind: "opened",
    at: core.world.now(),
    sessionId: session.id,
    turnId: input.turnId,
    inputId: input.id,
    input: input.message,
    step: STEP_VERSION,
    protocol: { id: slot.driver.id, version: slot.driver.version },
    host: core.host.kind,
    plugins: core.pluginList,
    limits: core.limits,
    config: effective,
    ...(effective.mergesInputs === true && input.wants === undefined ? { merges: true } : {}),
    ...input.wants,
  };
}

/** Ids of the caller's own: anything readable, up to 256 bytes. */
export function checkedId(id: string): string {
  const wrong = (problem: string): never => {
    throw new RuntimeError("session.id", { id: typeof id === "string" ? id : typeof id, problem });
  };
  if (typeof id !== "string" || id === "") wrong("it is empty");
  if (id.length > 256 || Buffer.byteLength(id) > 256) wrong("it is longer than 256 bytes");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(id)) wrong("it has control characters");
  if (!id.isWellFormed()) wrong("it is not well-formed Unicode");
  return id;
}
