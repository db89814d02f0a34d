import type { BlobHash } from "../model/ids.ts";
import type { Attachment } from "../model/message.ts";
import type { Runtime } from "../runtime/runtime.ts";

const PAGE = 200;
const UPLOADS_MAX = 10_000;

/**
 * The uploads of owners to this process. An owner attaches only bytes that were uploaded here or are in the session.
 */
export class Uploads {
  readonly #known = new Set<string>();

  add(owner: string, hash: string): void {
    if (this.#known.size >= UPLOADS_MAX) this.#known.clear();
    this.#known.add(`${hash} ${owner}`);
  }

  has(owner: string, hash: string): boolean {
    return this.#known.has(`${hash} ${owner}`);
  }
}

/**
 * Finds an attachment of a session by its hash. The hash alone gives no access, because the store keeps the bytes of
 * all owners together, and a hash is not a secret.
 */
export async function holdsBlob(runtime: Runtime, id: string, hash: BlobHash): Promise<Attachment | undefined> {
  const view = await runtime.sessions.get(id);
  const recent = attachmentIn([view.messages, view.openTurn?.messages, view.inputs], hash);
  if (recent !== undefined) return recent;
  for (let before: string | undefined; ; ) {
    const nodes = await runtime.sessions.history(id, { max: PAGE, ...(before === undefined ? {} : { before }) });
    const found = attachmentIn(nodes, hash);
    if (found !== undefined || nodes.length < PAGE) return found;
    before = nodes.at(-1)?.id;
  }
}

/** Searches the attachment in a message, a tool result or an input. */
function attachmentIn(value: unknown, hash: BlobHash): Attachment | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if ((value as Partial<Attachment>).kind === "attachment" && (value as Partial<Attachment>).hash === hash)
    return value as Attachment;
  for (const each of Object.values(value)) {
    const found = attachmentIn(each, hash);
    if (found !== undefined) return found;
  }
  return undefined;
}
