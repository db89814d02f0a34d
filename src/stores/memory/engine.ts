import type { BlobHash } from "../../model/ids.ts";
import type { Engine, Fast, Port } from "../rules/port.ts";
import { type Rule, runNow } from "../rules/rule.ts";
import { fastWays } from "./fast.ts";
import { MemoryPort } from "./port.ts";

/** Runs rules on maps. Every call returns synchronously. */
export class MemoryEngine implements Engine {
  readonly kind = "memory";
  readonly isDurable = false;
  readonly #port = new MemoryPort();
  readonly fast: Fast = fastWays(this.#port);

  read<T>(rule: (db: Port) => Rule<T>): T {
    this.#port.requireOpen();
    return runNow(rule(this.#port));
  }

  write<T>(rule: (db: Port) => Rule<T>): T {
    this.#port.requireOpen();
    try {
      const answer = runNow(rule(this.#port));
      this.#port.keep();
      return answer;
    } catch (error) {
      this.#port.undo();
      throw error;
    }
  }

  readonly blobs = {
    // Copied on write and on read: bytes are often a view of a buffer that the caller reuses.
    put: (hash: BlobHash, data: Uint8Array): void => {
      this.#port.requireOpen();
      if (!this.#port.blobs.has(hash)) this.#port.blobs.set(hash, new Uint8Array(data));
    },
    get: (hash: BlobHash): Uint8Array | undefined => {
      this.#port.requireOpen();
      const data = this.#port.blobs.get(hash);
      return data === undefined ? undefined : new Uint8Array(data);
    },
  };

  close(): void {
    this.#port.isClosed = true;
  }
}
