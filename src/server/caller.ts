// What one caller may see and do. To a caller, a session of another owner does not exist.
import { RuntimeError } from "../model/errors.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Principal } from "./principal.ts";
import type { Action } from "./routes.ts";

/** The owners of sessions by id. A session never changes its owner, and its id is never used again. */
export class Owners {
  readonly #runtime: Runtime;
  readonly #known = new Map<string, Owned>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Undefined if there is no such session. */
  async of(session: string): Promise<Owned | undefined> {
    const known = this.#known.get(session);
    if (known !== undefined) return known;
    const found = await this.#runtime.sessions.find(session);
    if (found === undefined) return undefined;
    if (this.#known.size >= OWNERS_MAX) this.#known.clear();
    const owned = { owner: found.owner };
    this.#known.set(session, owned);
    return owned;
  }
}
interface Owned {
  readonly owner: string | undefined;
}
const OWNERS_MAX = 10_000;

export class Caller {
  readonly principal: Principal;
  readonly #owners: Owners;

  constructor(principal: Principal, owners: Owners) {
    this.principal = principal;
    this.#owners = owners;
  }

  get owner(): string | undefined {
    return this.principal.owner;
  }
  /** The name of the caller for rate limits. */
  get name(): string {
    return this.principal.name ?? this.principal.owner ?? "";
  }

  /** Throws `server.forbidden`. */
  async requireRight(action: Action, session?: string): Promise<void> {
    const { may } = this.principal;
    if (action === "public" || may === undefined) return;
    if ((await may(action, session)) !== true) throw new RuntimeError("server.forbidden", { action });
  }

  /** Throws `session.unknown`, also for a session of another owner, and `server.forbidden`. */
  async requireSession(id: string, action: Action): Promise<void> {
    const found = await this.#owners.of(id);
    if (found === undefined || !this.#sees(found)) throw new RuntimeError("session.unknown", { id });
    await this.requireRight(action, id);
  }

  async owns(session: string): Promise<boolean> {
    if (this.owner === undefined) return true;
    const found = await this.#owners.of(session);
    return found !== undefined && this.#sees(found);
  }

  #sees({ owner }: Owned): boolean {
    return this.owner === undefined || owner === this.owner;
  }

  /** Reads pages until it has `max` items that belong to the caller. `next` reads the page after an item. */
  async own<T>(
    max: number,
    next: (after: T | undefined, max: number) => Promise<readonly T[]>,
    sessionOf: (item: T) => string,
  ): Promise<readonly T[]> {
    const found: T[] = [];
    for (let after: T | undefined; ; ) {
      const page = await next(after, PAGE);
      for (const item of page) if (await this.owns(sessionOf(item))) found.push(item);
      if (found.length >= max || page.length < PAGE) return found.slice(0, max);
      after = page.at(-1);
    }
  }
}
const PAGE = 200;
