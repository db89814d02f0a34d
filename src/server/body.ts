import { RuntimeError } from "../model/errors.ts";
import { isObject } from "../model/json.ts";

/** Reads a body of at most `max` bytes. It never reads the rest of a longer one. */
export async function bytesOf(request: Request, max: number): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  if (Number(declared) > max) throw new RuntimeError("server.body", { max });
  try {
    // The HTTP parser enforces the declared length, so the body can be read at once.
    if (declared !== null && !request.headers.has("transfer-encoding"))
      return new Uint8Array(await request.arrayBuffer());
    const chunks: Uint8Array[] = [];
    let size = 0;
    if (request.body !== null)
      for await (const chunk of request.body) {
        size += chunk.byteLength;
        if (size > max) throw new RuntimeError("server.body", { max });
        chunks.push(chunk);
      }
    return Buffer.concat(chunks);
  } catch (error) {
    if (error instanceof RuntimeError) throw error;
    throw new RuntimeError("server.invalid", { problem: "the body broke off" }); // The client has left.
  }
}

const JSON_TYPE = /^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i;

/**
 * Accepts only JSON, because a page of another site cannot send JSON without a CORS preflight. No body and no content type
 * give `{}`.
 */
export async function jsonOf(request: Request, max: number): Promise<{ readonly [field: string]: unknown }> {
  const type = request.headers.get("content-type");
  const bytes = await bytesOf(request, max);
  if (bytes.byteLength === 0 && type === null) return {};
  if (type === null || !JSON_TYPE.test(type))
    throw new RuntimeError("server.media", { type: (type ?? "").slice(0, 80) });
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new RuntimeError("server.invalid", { problem: "the body is not JSON in UTF-8" });
  }
  if (!isObject(body)) throw new RuntimeError("server.invalid", { problem: "the body must be a JSON object" });
  return body;
}
