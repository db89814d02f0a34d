// Job: the sources of tools: static ones, and providers. A provider's tools are listed without schemas and loaded by
// name, once for all sessions of a runtime.
// Not its job: which of them a session has (`registry.ts`). An error of a provider must not fail a turn.

import type { Owned } from "../kernel/hooks.ts";
import { isTool, type Tool, type ToolProvider } from "../kernel/tool.ts";
import { describeThrown, isObject, toJson } from "../model/json.ts";
import { AVAILABILITIES, isToolName, type ToolManifest } from "../model/tool.ts";
import { isToolPath } from "../model/tool-path.ts";

/** A tool in the list of its source, loaded or not. */
export interface Offered {
  readonly manifest: ToolManifest;
  readonly source: string;
  /** The plugin whose state and services the tool gets. */
  readonly owner: string;
  /** The tool, if it needs no loading or was loaded before. */
  loaded(): Tool | undefined;
  load(): Promise<Tool | undefined>;
}

/** A source of tools for a session: the app, a plugin or a provider. */
export interface Source {
  readonly id: string;
  readonly owner: string;
  /** Grows with every change of the list. */
  readonly revision: number;
  readonly offers: readonly Offered[];
  /** The tools are known from the start. Two static sources with a tool of the same name are reported as a mistake. */
  readonly isStatic: boolean;
}

/** A source with fixed tools of an app, a plugin or a context hook. */
export function staticSource(owner: string, tools: readonly Tool[]): Source {
  const offers = tools.map(
    (tool): Offered => ({ manifest: tool, source: owner, owner, loaded: () => tool, load: async () => tool }),
  );
  return { id: owner, owner, revision: 0, offers, isStatic: true };
}

/** Differs from every list, so that the next list counts as changed. */
const RENEWED = "";

/** How long a turn waits for a list or a tool that is needed for the first time. */
const LIST_MS = 10_000;

type ReportProblem = (problem: string, about: { readonly source: string; readonly tool?: string }) => void;

/**
 * A provider in this runtime: its list as last read, and the tools loaded from it. An error of a provider does not fail
 * a turn: if a list cannot be read, the old list stays, and a tool that cannot be loaded is left out.
 */
export class Listing implements Source {
  readonly isStatic = false;
  readonly owner: string;
  revision = 0;
  offers: readonly Offered[] = [];
  readonly provider: ToolProvider;
  readonly #report: ReportProblem;
  readonly #closing = new AbortController();
  #seen = "[]";
  #isStale = true;
  #hasFailed = false;
  #reading: Promise<void> | undefined;
  #unwatch: (() => void) | undefined;

  constructor(owner: string, provider: ToolProvider, report: ReportProblem) {
    this.owner = owner;
    this.provider = provider;
    this.#report = report;
    try {
      this.#unwatch = provider.watch?.(() => {
        this.#isStale = true;
      });
    } catch (error) {
      report(describeThrown(error), { source: this.id });
    }
  }

  get id(): string {
    return this.provider.id;
  }

  /** Whether `offers` is the provider's latest list: `watch` has reported no change since. */
  get isRead(): boolean {
    return !this.#isStale;
  }

  /**
   * Reads the list again if it changed, and once more if it changed during the read. It does not read a third time,
   * because a provider that changes at every read would block the turn. After a failure the turn does not wait: a later
   * list counts in the next turn.
   */
  refresh(isAgain = false): Promise<void> | undefined {
    if (this.#reading === undefined) {
      if (!this.#isStale) return undefined;
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined;
      });
    }
    if (this.#hasFailed) return undefined;
    if (isAgain) return this.#reading;
    return this.#reading.then(() => (this.#isStale && !this.#hasFailed ? this.refresh(true) : undefined));
  }

  /** Reads the list even without a reported change, and offers its tools again, none of them loaded. */
  async renew(): Promise<void> {
    await this.#reading; // This read may have begun before the change for which the caller asks.
    this.#seen = RENEWED;
    this.#isStale = true;
    await (this.refresh(true) ?? this.#reading);
  }

  async #read(): Promise<void> {
    this.#isStale = false; // Set first, so that a change during the read is noticed.
    try {
      const { signal } = this.#closing;
      const found = await inTime(LIST_MS, () => this.provider.list(signal));
      this.#take(found);
      this.#hasFailed = false;
    } catch (error) {
      this.#isStale = true;
      this.#hasFailed = true;
      this.#report(describeThrown(error), { source: this.id });
    }
  }

  #take(found: unknown): void {
    if (!Array.isArray(found)) throw new TypeError("list() gave no list");
    const names = new Set<string>();
    const right = found.flatMap((given: unknown): readonly ToolManifest[] => {
      const own = toJson(given); // A copy, because the provider may change its manifest later.
      const problem = "problem" in own ? `${own.path}: ${own.problem}` : manifestProblem(own.json, names);
      if (problem !== undefined || "problem" in own) {
        this.#report(problem ?? "", { source: this.id, tool: String(isObject(given) ? given.name : given) });
        return [];
      }
      const manifest = own.json as unknown as ToolManifest;
      names.add(manifest.name);
      return [manifest];
    });
    const seen = JSON.stringify(right);
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.revision++;
    this.offers = right.map((manifest) => this.#offer(manifest));
  }

  /**
   * Loads a tool once for all sessions, and keeps it when a newer list replaces this one, because a turn that began
   * with this offer continues with this tool. After a timeout it loads the tool again without blocking: the tool is
   * available in the next turn.
   */
  #offer(manifest: ToolManifest): Offered {
    let tool: Tool | undefined;
    let loading: Promise<Tool | undefined> | undefined;
    let wasLate = false;
    const load = async (): Promise<Tool | undefined> => {
      try {
        tool = await this.#fetch(manifest);
        wasLate = false;
      } catch (error) {
        loading = undefined;
        wasLate = error instanceof Late;
        this.#report(describeThrown(error), { source: this.id, tool: manifest.name });
      }
      return tool;
    };
    return {
      manifest,
      source: this.id,
      owner: this.owner,
      loaded: () => tool,
      load: () => {
        loading ??= load();
        return wasLate ? Promise.resolve(undefined) : loading;
      },
    };
  }

  async #fetch(manifest: ToolManifest): Promise<Tool | undefined> {
    const { name } = manifest;
    const tool = await inTime(LIST_MS, () => this.provider.load(name, this.#closing.signal));
    if (tool === undefined || tool === null) return undefined;
    if (!isTool(tool) || tool.name !== name) throw new TypeError("load() gave no tool of this name");
    return { ...tool, ...manifest };
  }

  close(): void {
    this.#closing.abort();
    try {
      this.#unwatch?.();
    } catch (error) {
      this.#report(describeThrown(error), { source: this.id });
    }
  }
}

function manifestProblem(manifest: unknown, names: ReadonlySet<string>): string | undefined {
  if (!isObject(manifest)) return "a manifest is no object";
  const { name, description, availability, audience, bindings, examples, path } = manifest;
  if (!isToolName(name)) return "its name cannot be a tool's name";
  if (names.has(name)) return "it is listed twice";
  if (typeof description !== "string") return "it has no description";
  if (availability !== undefined && !(AVAILABILITIES as readonly unknown[]).includes(availability))
    return `its availability must be one of ${AVAILABILITIES.join(", ")}`;
  if (audience !== undefined && audience !== "model" && audience !== "runtime") return "its audience is unknown";
  if (bindings !== undefined && !isObject(bindings)) return "its bindings must be an object";
  if (examples !== undefined && !(Array.isArray(examples) && examples.every(isObject)))
    return "its examples are no list";
  if (path !== undefined && !isToolPath(path))
    return "its path must have the form module.operation, without a name that has another meaning in code";
  return undefined;
}

class Late extends Error {}

async function inTime<T>(ms: number, run: () => T | PromiseLike<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await Promise.race([
      (async () => run())(),
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Late(`it did not answer within ${ms} ms`)), ms);
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/** The providers that the sessions of a runtime share. Each is listed once and closed with its last user. */
export class Listings {
  readonly #report: ReportProblem;
  readonly #known = new Map<ToolProvider, { readonly listing: Listing; users: number }>();
  readonly #before = new WeakSet<ToolProvider>();

  constructor(report: ReportProblem) {
    this.#report = report;
  }

  take({ plugin, value }: Owned<ToolProvider>): Listing {
    let known = this.#known.get(value);
    if (known === undefined) {
      // More than one session uses this provider. So an extra user keeps it as long as the runtime lives, because
      // otherwise each session would list it again.
      known = { listing: new Listing(plugin, value, this.#report), users: this.#before.has(value) ? 1 : 0 };
      this.#known.set(value, known);
      this.#before.add(value);
    }
    known.users++;
    return known.listing;
  }

  give(provider: ToolProvider): void {
    const known = this.#known.get(provider);
    if (known === undefined || --known.users > 0) return;
    this.#known.delete(provider);
    known.listing.close();
  }

  close(): void {
    for (const { listing } of this.#known.values()) listing.close();
    this.#known.clear();
  }
}
