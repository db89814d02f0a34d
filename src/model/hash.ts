import { createHash } from "node:crypto";
import { asBlobHash, type BlobHash } from "./ids.ts";

/**
 * The name of a blob: the hash of its content. Equal content is stored once, and a reader can check the content that it
 * reads.
 */
export const hashOf = (content: string | Uint8Array): BlobHash =>
  asBlobHash(createHash("sha256").update(content).digest("base64url"));
