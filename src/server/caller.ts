// What one caller may see and do. A session of another owner does not exist for them.
import { RuntimeError } from "../model/errors.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Principal } from "./options.ts";
import type { Action } from "./routes.ts";

/** The owners of sessions by id. A session never changes its owner, and its id is never used again. */
export class Owners {
  readonly #runtime: Runtime;
  readonly #known = new Map<string, string | undefined>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Throws `session.unknown`. */
  async of(session: string): Promise<string | undefined> {
    if (this.#known.has(session)) return this.#known.get(session);
    const found = await this.#runtime.sessions.find(session);
    if (found === undefined) throw new RuntimeError("session.unknown", { id: session });
    if (this.#known.size >= OWNERS_MAX) this.#known.clear();
    this.#known.set(session, found.owner);
    return found.owner;
  }
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
  /** The name for limits. */
  get name(): string {
    return this.principal.name ?? this.principal.owner ?? "";
  }

  /** Throws `server.forbidden`. */
  async requireRight(action: Action, session?: string): Promise<void> {
    const { may } = this.principal;
    if (action === "public" || may === undefined) return;
    if ((await may(action, session)) !== true) throw new RuntimeError("server.forbidden", { action });
  }

  /** Throws `session.unknown` also for a session of another owner. */
  async requireSession(id: string): Promise<void> {
    const owner = await this.#owners.of(id);
    if (this.owner !== undefined && owner !== this.owner) throw new RuntimeError("session.unknown", { id });
  }

  async owns(session: string): Promise<boolean> {
    if (this.owner === undefined) return true;
    return this.requireSession(session).then(
      () => true,
      () => false,
    );
  }

  /** Reads pages until `max` items are the caller's own. `next` reads the page after an item. */
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
