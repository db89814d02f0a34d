// Makes parts of a message from the texts and attachments of callers: checks and measures them, and stores their bytes.
// Not its job: who may write a message (`session/input.ts`, `graph.ts`).
// parts-1 All parts are checked and measured before bytes are stored, so that a refused call writes nothing.
// parts-2 Bytes are stored before anything refers to them. After a crash in between, a sweep removes them.
import type { Awaitable } from "../../model/awaitable.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import { isObject } from "../../model/json.ts";
import type { Attachment, Draft, TextPart } from "../../model/message.ts";
import { Attachable, aboutProblem } from "../../model/tool.ts";
import type { Core } from "../core.ts";

/** Added for each part, so that the number of empty parts is bounded too. */
const PART_BYTES = 32;

const wrong = (problem: string): never => {
  throw new RuntimeError("input.invalid", { problem });
};

/** The parts of an input. */
export async function ofParts(core: Core, given: readonly unknown[]): Promise<Draft> {
  if (!Array.isArray(given)) return wrong("it must be a text, or a list of texts and attachments");
  if (given.length === 0) return wrong("the list of parts is empty");
  const max = core.limits.inputBytesMax;
  let bytes = 0;
  /** Refuses the first part over the limit, before the next one is read. */
  const weigh = (more: number): void => {
    bytes += more;
    if (bytes > max) throw new RuntimeError("limit.bytes", { what: "The input", bytes, max });
  };
  let texts = 0;
  const parts = (given as readonly unknown[]).map((part): TextPart | Attachable | Attachment => {
    if (isAttached(part)) {
      weigh(bytesOf(part));
      return part;
    }
    const text = isObject(part) && part.kind === "text" ? part.text : part;
    if (typeof text !== "string") return wrong("a part must be a text or an attachment");
    weigh(PART_BYTES + Math.min(text.length, max + 1));
    texts += Buffer.byteLength(text);
    return { kind: "text", text };
  });
  if (parts.every((part) => "text" in part && part.text.trim() === "")) return wrong("the text is empty");
  weigh(Math.max(0, texts - bytes));
  return { role: "user", parts: await stored(core, parts) };
}

/** Bytes, or a reference to bytes that are stored already. */
export const isAttached = (part: unknown): part is Attachable | Attachment =>
  part instanceof Attachable || (isObject(part) && part.kind === "attachment");

/** The size of a part. Bytes that are already stored count nothing. */
export const bytesOf = (part: Attachable | Attachment): number =>
  PART_BYTES + (part instanceof Attachable ? part.data.byteLength : 0);

/** parts-1, parts-2 */
export async function stored(
  core: Core,
  parts: readonly (TextPart | Attachable | Attachment)[],
): Promise<readonly (TextPart | Attachment)[]> {
  const known = await Promise.all(
    parts.map((part) => (part instanceof Attachable || part.kind === "text" ? part : keptAlready(core, part))),
  );
  return Promise.all(
    known.map(async (part) => {
      if (!(part instanceof Attachable)) return part;
      const { data, mediaType, name } = part;
      const hash = hashOf(data);
      await core.store.blobs.put(hash, data);
      const attachment = { kind: "attachment", hash, mediaType, bytes: data.byteLength } as const;
      return name === undefined ? attachment : { ...attachment, name };
    }),
  );
}

/** An attachment whose bytes are already stored. Its size comes from the store, not from the caller. */
async function keptAlready({ store }: Core, { hash, mediaType, name }: Attachment): Promise<Attachment> {
  const data = typeof hash === "string" ? await store.blobs.get(hash) : undefined;
  if (data === undefined) return wrong("the bytes of an attachment are not in the store");
  const problem = aboutProblem({ mediaType, name });
  if (problem !== undefined) return wrong(`the ${problem.option} of an attachment: ${problem.problem}`);
  await store.blobs.put(hash, data); // Stored again, so that a sweep does not remove them now.
  const attachment = { kind: "attachment", hash, mediaType, bytes: data.byteLength } as const;
  return typeof name === "string" ? { ...attachment, name } : attachment;
}

const ATTACH_TRIES = 5;

/** Runs a write that refers to attachments. If a sweep removed their bytes before, stores them again and retries. */
export async function whileSwept<T>(write: () => Awaitable<T>, attach: () => Awaitable<unknown>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await write();
    } catch (error) {
      if (!hasCode(error, "store.swept") || tries === ATTACH_TRIES) throw error;
      await attach();
    }
  }
}
