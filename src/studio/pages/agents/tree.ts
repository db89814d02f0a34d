// The tree of sessions below a root: children are read when their parent is opened, and again when facts come of them.
import { useEffect, useRef, useState } from "preact/hooks";
import { client, type Fact, type Failure, failureOf, onFact } from "../../server.ts";
import type { SessionSummary } from "../../types.ts";
import type { Branch, Branches } from "./rows.ts";

const PAGE = 100;
/** Facts come in bursts: one read answers all of them. */
const JOINED_MS = 300;
/** The first levels open by themselves, up to so many sessions. */
const OPEN = { depth: 2, sessions: 60 };
/** So many sessions outside of the tree are remembered, so that their facts are not looked up again. */
const STRANGERS_MAX = 5_000;

export interface Tree {
  readonly branches: Branches;
  readonly failure: Failure | undefined;
  toggle(id: string, isOpen: boolean): void;
  more(id: string): void;
  reload(): void;
}

export function useTree(root: string): Tree {
  const [branches, setBranches] = useState<Branches>(new Map());
  const [failure, setFailure] = useState<Failure>();
  const own = useRef<TreeReader>(undefined);
  useEffect(() => {
    const reader = new TreeReader(root, setBranches, setFailure);
    own.current = reader;
    void reader.begin();
    const drop = onFact((fact) => reader.onFact(fact));
    return () => {
      drop();
      reader.close();
    };
  }, [root]);
  return {
    branches,
    failure,
    toggle: (id, isOpen) => void own.current?.toggle(id, isOpen),
    more: (id) => void own.current?.read(id, true),
    reload: () => void own.current?.begin(),
  };
}

class TreeReader {
  readonly #root: string;
  readonly #show: (branches: Branches) => void;
  readonly #fail: (failure: Failure | undefined) => void;
  readonly #leaving = new AbortController();
  readonly #strangers = new Set<string>();
  /** Sessions with facts since the last look. */
  readonly #changed = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #branches = new Map<string, Branch>();

  constructor(root: string, show: (branches: Branches) => void, fail: (failure: Failure | undefined) => void) {
    this.#root = root;
    this.#show = show;
    this.#fail = fail;
  }

  async begin(): Promise<void> {
    try {
      const session = await this.#find(this.#root);
      this.#fail(undefined);
      this.#set(this.#root, { session });
      await this.toggle(this.#root, true);
      for (let depth = 1, level = this.#childrenOf(this.#root); depth <= OPEN.depth; depth++) {
        await Promise.all(level.slice(0, OPEN.sessions).map((id) => this.#look(id, depth < OPEN.depth)));
        level = level.flatMap((id) => this.#childrenOf(id));
      }
    } catch (error) {
      if (!this.#leaving.signal.aborted) this.#fail(failureOf(error));
    }
  }

  close(): void {
    this.#leaving.abort();
    clearTimeout(this.#timer);
  }

  async toggle(id: string, isOpen: boolean): Promise<void> {
    this.#set(id, { isOpen });
    if (isOpen && this.#branches.get(id)?.children === undefined) await this.read(id, false);
  }

  /** Reads the children of a session; with `isMore` also the next page of them. */
  async read(id: string, isMore: boolean): Promise<void> {
    const known = this.#childrenOf(id);
    const last = isMore ? this.#branches.get(known.at(-1) ?? "")?.session.cursor : undefined;
    const max = isMore ? PAGE : Math.max(PAGE, known.length);
    try {
      const found = await client.request("listSessions", {
        query: { parent: id, order: "created", max, before: last },
        signal: this.#leaving.signal,
      });
      for (const session of found) this.#set(session.id, { session }, false);
      const children = [...(isMore ? known : []), ...found.map((session) => session.id as string)];
      this.#set(id, { children, hasMore: found.length === max });
    } catch (error) {
      if (!this.#leaving.signal.aborted) this.#set(id, { failure: failureOf(error) });
    }
  }

  /** Without a fact, some may have been missed. */
  onFact(fact: Fact | undefined): void {
    if (fact === undefined) for (const id of this.#branches.keys()) this.#changed.add(id);
    else if (!this.#strangers.has(fact.sessionId)) this.#changed.add(fact.sessionId);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#changed.size > 0) this.#timer ??= setTimeout(() => void this.#renew(), JOINED_MS);
  }

  /** Reads what has changed. A session that is not in the tree yet may be a new child. */
  async #renew(): Promise<void> {
    const ids = [...this.#changed];
    this.#changed.clear();
    for (const id of ids) {
      if (this.#leaving.signal.aborted) return;
      try {
        const session = await this.#find(id);
        const { parentId } = session;
        if (this.#branches.has(id)) this.#set(id, { session });
        else if (parentId === undefined || !this.#branches.has(parentId)) this.#ignore(id);
        else if (this.#branches.get(parentId)?.children !== undefined) {
          await this.read(parentId, false);
          await this.#look(id, true);
        }
      } catch {
        // It was deleted, or the connection is lost: then the feed reports that facts may be missing.
      }
    }
    this.#timer = undefined;
    this.#schedule();
  }

  #ignore(id: string): void {
    if (this.#strangers.size >= STRANGERS_MAX) this.#strangers.clear();
    this.#strangers.add(id);
  }

  /** Reads the children of a session, so that a leaf is known as one. */
  async #look(id: string, isOpen: boolean): Promise<void> {
    if (this.#branches.get(id)?.children === undefined) await this.read(id, false);
    if (isOpen && this.#childrenOf(id).length > 0) this.#set(id, { isOpen: true });
  }

  #find(id: string): Promise<SessionSummary> {
    return client.request("findSession", { path: { id }, signal: this.#leaving.signal });
  }

  #childrenOf(id: string): readonly string[] {
    return this.#branches.get(id)?.children ?? [];
  }

  #set(id: string, change: Partial<Branch>, isShown = true): void {
    const before = this.#branches.get(id) ?? { isOpen: false };
    this.#branches = new Map(this.#branches).set(id, { ...before, ...change } as Branch);
    if (isShown && !this.#leaving.signal.aborted) this.#show(this.#branches);
  }
}
