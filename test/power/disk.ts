// A disk as a power cut finds it. What was synced is there. Of what came after the last sync of a file, every sector is
// there in any of the versions it had since; so is the file's size, and of the folder every name.
// Not its job: choosing (`cuts.ts`).

export type Operation =
  | { readonly kind: "create" | "sync" | "unlink"; readonly name: string }
  | Change
  | { readonly kind: "sync-folder" };
type Change =
  | { readonly kind: "write"; readonly name: string; readonly offset: number; readonly data: Uint8Array }
  | { readonly kind: "truncate"; readonly name: string; readonly size: number };

/** What of a file's changes since its last sync reached the disk; `nth` counts from 0 to `count` - 1. */
export interface Luck {
  /** Whether this sector was written in the version of the nth change. */
  keepsSector(nth: number, count: number): boolean;
  /** Whether the size was, where the nth change moved it. */
  keepsSize(nth: number, count: number): boolean;
  /** What is in sectors that belong to the file and were never written. */
  unwritten(): number;
  /** Which of the states of a name is found: 0 is the synced one, `count` - 1 the latest. */
  state(name: string, count: number): number;
}

/** The files of a folder by name, where the database itself has the name "". */
export type Image = ReadonlyMap<string, Uint8Array>;

const SECTOR = 512;

class File {
  synced: Uint8Array;
  changes: Change[] = [];

  constructor(synced: Uint8Array = new Uint8Array()) {
    this.synced = synced;
  }

  sync(): void {
    this.synced = this.latest();
    this.changes = [];
  }

  latest(): Uint8Array<ArrayBuffer> {
    const bytes = new Bytes(this.synced);
    for (const change of this.changes) bytes.apply(change);
    return bytes.taken();
  }

  found(luck: Luck): Uint8Array {
    const count = this.changes.length;
    const now = new Bytes(this.synced);
    const found = new Bytes(this.synced);
    const written = new Set<number>();
    for (const [nth, change] of this.changes.entries()) {
      const { size } = now;
      const [from, to] = now.apply(change);
      for (let sector = Math.floor(from / SECTOR); sector * SECTOR < to; sector++) {
        if (!luck.keepsSector(nth, count)) continue;
        found.copy(now, sector * SECTOR, SECTOR);
        written.add(sector);
      }
      if (now.size !== size && luck.keepsSize(nth, count)) found.size = now.size;
    }
    const image = found.taken();
    const first = Math.ceil(this.synced.length / SECTOR);
    for (let sector = first; sector * SECTOR < image.length; sector++)
      if (!written.has(sector))
        for (let n = 0; n < SECTOR && sector * SECTOR + n < image.length; n++)
          image[sector * SECTOR + n] = luck.unwritten();
    return image;
  }
}

/** Bytes that grow. Beyond `size` they are zero, or kept for a size that comes later. */
class Bytes {
  #bytes: Uint8Array<ArrayBuffer>;
  size: number;

  constructor(from: Uint8Array) {
    this.#bytes = Uint8Array.from(from);
    this.size = from.length;
  }

  /** Answers from where to where it changed. */
  apply(change: Change): readonly [from: number, to: number] {
    if (change.kind === "write") {
      const end = change.offset + change.data.length;
      this.#reserve(end);
      this.#bytes.set(change.data, change.offset);
      this.size = Math.max(this.size, end);
      return [change.offset, end];
    }
    const [from, to] = [Math.min(this.size, change.size), Math.max(this.size, change.size)];
    this.#reserve(to);
    this.#bytes.fill(0, from, to);
    this.size = change.size;
    return [from, to];
  }

  copy(other: Bytes, from: number, length: number): void {
    this.#reserve(from + length);
    other.#reserve(from + length);
    this.#bytes.set(other.#bytes.subarray(from, from + length), from);
  }

  taken(): Uint8Array<ArrayBuffer> {
    this.#reserve(this.size);
    return this.#bytes.slice(0, this.size);
  }

  #reserve(size: number): void {
    if (size <= this.#bytes.length) return;
    const more = new Uint8Array(Math.max(size, this.#bytes.length * 2));
    more.set(this.#bytes);
    this.#bytes = more;
  }
}

export class Disk {
  /** The file of each name as the folder was last synced, and all states of the name since, oldest first. */
  readonly #names: Map<string, (File | undefined)[]>;

  /** Begins with files that are synced. */
  constructor(files: Image = new Map()) {
    this.#names = new Map([...files].map(([name, bytes]) => [name, [new File(bytes)]]));
  }

  apply(operation: Operation): void {
    if (operation.kind === "sync-folder") {
      for (const states of this.#names.values()) states.splice(0, states.length - 1);
      return;
    }
    const states = this.#names.get(operation.name) ?? [undefined];
    this.#names.set(operation.name, states);
    if (operation.kind === "create") states.push(new File());
    else if (operation.kind === "unlink") states.push(undefined);
    else {
      const file = states.at(-1);
      if (file === undefined) throw new Error(`There is no file "${operation.name}" to ${operation.kind}.`);
      if (operation.kind === "write" || operation.kind === "truncate") file.changes.push(operation);
      else file.sync();
    }
  }

  /** The files as a process sees them. */
  latest(): Image {
    return this.#files((_, states) => states.at(-1)?.latest());
  }

  found(luck: Luck): Image {
    return this.#files((name, states) => states[luck.state(name, states.length)]?.found(luck));
  }

  #files(read: (name: string, states: readonly (File | undefined)[]) => Uint8Array | undefined): Image {
    const files = new Map<string, Uint8Array>();
    for (const [name, states] of this.#names) {
      const bytes = read(name, states);
      if (bytes !== undefined) files.set(name, bytes);
    }
    return files;
  }
}
