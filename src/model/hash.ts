import { createHash } from "node:crypto";
import { asBlobHash, type BlobHash } from "./ids.ts";

/** The name of a blob: the hash of its content. Equal content is kept once, and a reader can check what it reads. */
export const hashOf = (content: string | Uint8Array): BlobHash =>
  asBlobHash(createHash("sha256").update(content).digest("base64url"));
