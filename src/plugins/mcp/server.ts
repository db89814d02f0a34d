import {
  defineTool,
  defineToolProvider,
  RuntimeError,
  retryable,
  type Tool,
  type ToolContext,
  type ToolProvider,
} from "../../index.ts";
import { type Handshake, isAnswer, isTimeout, Link, type Sdk } from "./link.ts";
import type { Settings } from "./options.ts";
import { Disconnected, type McpProblem, problemOf } from "./problem.ts";
import { resultFrom } from "./result.ts";
import { foreignSchema } from "./schema.ts";
import { type Listed, manifestOf, NO_TOOLS, type Skipped, type Toolbox, toolbox } from "./tools.ts";

/**
 * `connecting`: for the first time, or again; `ready`; `down`: to be tried again soon; `failed`: trying again would not
 * help; `detached`: taken away with the command `detach`.
 */
export type McpState = "connecting" | "ready" | "down" | "failed" | "detached";

export interface McpStatus {
  readonly server: string;
  readonly state: McpState;
  /** When it came into this state: milliseconds since 1970. */
  readonly since: number;
  /** How many tools are offered. While a server is down they are those it had. */
  readonly tools: number;
  /** What it lists and is not offered, and why. */
  readonly skipped: readonly Skipped[];
  /** What went wrong last; nothing once it is ready again. */
  readonly problem?: McpProblem;
  /** What the server says of itself. */
  readonly about?: { readonly name: string; readonly version: string };
  readonly protocol?: string;
  readonly pid?: number;
  /** The last 8 KiB of what its process wrote to stderr. */
  readonly stderr?: string;
}

const BACKOFF = { fromMs: 500, toMs: 30_000 };
/** A connection that held this long was a good one: the next is tried at once again. */
const STEADY_MS = 10_000;

/** One configured server: kept connected as long as the runtime lives, and given to sessions as a provider of tools. */
export class Server {
  readonly name: string;
  readonly provider: ToolProvider;
  readonly #settings: Settings;
  readonly #load: () => Promise<Sdk>;
  readonly #watchers = new Set<() => void>();
  readonly #waiters = new Set<() => void>();
  readonly #made = new Map<string, { readonly from: Listed; readonly tool: Tool }>();
  #sdk: Sdk | undefined;
  #state: McpState = "connecting";
  #since = Date.now();
  #openedAt = performance.now();
  #problem: McpProblem | undefined;
  #toolbox: Toolbox = NO_TOOLS;
  #link: Link | undefined;
  #handshake: Handshake;
  #stderr = "";
  #wasTried = false;
  #hurry: (() => void) | undefined;
  #refreshing: Promise<void> | undefined;
  #isStale = false;
  #life: AbortController | undefined;
  #over: Promise<void> = Promise.resolve();

  constructor(name: string, settings: Settings, load: () => Promise<Sdk>) {
    this.name = name;
    this.#settings = settings;
    this.#load = load;
    this.#handshake = settings.at.kind === "remote" ? "auto" : "legacy";
    this.provider = defineToolProvider({
      id: `mcp:${name}`,
      list: (signal) => this.#list(signal),
      load: (tool) => this.#tool(tool),
      watch: (changed) => {
        const watcher = (): void => changed(); // The same function may watch twice.
        this.#watchers.add(watcher);
        return () => this.#watchers.delete(watcher);
      },
    });
  }

  get status(): McpStatus {
    const { about, protocol, pid } = this.#link ?? {};
    const stderr = this.#link?.tail || this.#stderr;
    return {
      server: this.name,
      state: this.#state,
      since: this.#since,
      tools: this.#toolbox.tools.size,
      skipped: this.#toolbox.skipped,
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
      ...(about === undefined ? {} : { about: { name: about.name, version: about.version } }),
      ...(protocol === undefined ? {} : { protocol }),
      ...(pid === undefined ? {} : { pid }),
      ...(stderr === "" ? {} : { stderr }),
    };
  }

  /** Begins to connect, in the background. */
  attach(): void {
    if (this.#life !== undefined) return;
    const life = new AbortController();
    this.#life = life;
    this.#openedAt = performance.now();
    this.#wasTried = false;
    this.#move("connecting");
    this.#over = this.#over.then(() => this.#live(life.signal));
    this.#tellWatchers(); // Whoever lists now waits for the connection.
  }

  /** Ends the connection; the server's tools are gone until it is attached again. */
  async detach(): Promise<void> {
    if (this.#life !== undefined) this.#move("detached");
    this.#life?.abort();
    this.#life = undefined;
    this.#hurry?.();
    this.#offer(NO_TOOLS);
    await this.#link?.close();
    await this.#over;
  }

  // ── The connection ────────────────────────────────────────────────────────────────────────────────────────────────

  async #live(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      const upMs = await this.#connectOnce(signal);
      if (signal.aborted || this.#state === "failed") return;
      failures = upMs >= STEADY_MS ? 1 : failures + 1;
      await this.#pause(backoffMs(failures));
    }
  }

  /** Connects, serves until the connection is lost, and says how long that was. Never throws. */
  async #connectOnce(signal: AbortSignal): Promise<number> {
    if (!signal.aborted) this.#move("connecting");
    try {
      this.#sdk ??= await this.#load();
      const link = await this.#dial(this.#sdk, signal);
      const listed = await link.list();
      if (signal.aborted) return 0;
      this.#offer(toolbox(this.name, listed, this.#settings));
      this.#problem = undefined;
      const readyAt = performance.now();
      this.#move("ready");
      this.#problem = await link.lost;
      return performance.now() - readyAt;
    } catch (error) {
      this.#problem = problemOf(error);
      return 0;
    } finally {
      if (!signal.aborted) this.#move(this.#problem?.code === "mcp.package" ? "failed" : "down");
      await this.#hangUp();
    }
  }

  /** A server that refuses one handshake is asked for the other at once; one that is silent, when it is next tried. */
  async #dial(sdk: Sdk, signal: AbortSignal): Promise<Link> {
    for (let isLast = false; ; isLast = true) {
      const link = await Link.to(sdk, this.#settings, this.#handshake, () => this.#refresh());
      this.#link = link;
      try {
        await link.open(signal);
        return link;
      } catch (error) {
        if (!NOT_THE_HANDSHAKE.has(problemOf(error).code)) this.#handshake = OTHER[this.#handshake];
        if (isLast || signal.aborted || !isAnswer(error)) throw error;
        await this.#hangUp();
      }
    }
  }

  async #hangUp(): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    this.#stderr = link?.tail || this.#stderr;
    await link?.close();
  }

  async #pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#hurry = undefined;
  }

  #move(state: McpState): void {
    if (state !== "connecting") this.#wasTried = true;
    if (state === this.#state) return;
    this.#state = state;
    this.#since = Date.now();
    for (const waiter of [...this.#waiters]) waiter();
  }

  /** Waits until this holds, but not longer than so many milliseconds. */
  #until(holds: () => boolean, ms: number, signal: AbortSignal): Promise<void> {
    if (holds() || !(ms > 0) || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(look);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const look = (): void => {
        if (holds()) end();
      };
      const timer = setTimeout(end, ms);
      this.#waiters.add(look);
      signal.addEventListener("abort", end);
    });
  }

  // ── Its tools ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #list(signal: AbortSignal) {
    const leftMs = this.#openedAt + this.#settings.connectMs - performance.now();
    await this.#until(() => this.#wasTried, leftMs, signal);
    return [...this.#toolbox.tools.values()].map((listed) => manifestOf(this.name, listed, this.#settings));
  }

  /** Reads the list again. A change that comes meanwhile is not missed. */
  #refresh(): void {
    this.#isStale = true;
    this.#refreshing ??= this.#refreshAll().finally(() => {
      this.#refreshing = undefined;
    });
  }

  async #refreshAll(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      const link = this.#link;
      if (link === undefined || this.#state !== "ready") return;
      try {
        const listed = await link.list();
        if (link === this.#link && this.#life !== undefined) this.#offer(toolbox(this.name, listed, this.#settings));
      } catch (error) {
        if (link === this.#link) this.#problem = problemOf(error); // The list stays as it was.
      }
    }
  }

  #offer(found: Toolbox): void {
    const isNew = found.fingerprint !== this.#toolbox.fingerprint;
    this.#toolbox = found;
    if (!isNew) return;
    this.#made.clear();
    this.#tellWatchers();
  }

  #tellWatchers(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  #tool(name: string): Tool | undefined {
    const from = this.#toolbox.tools.get(name);
    if (from === undefined || this.#sdk === undefined) return undefined;
    const made = this.#made.get(name);
    if (made?.from === from) return made.tool;
    const tool = this.#make(from, this.#sdk);
    this.#made.set(name, { from, tool });
    return tool;
  }

  #make(listed: Listed, sdk: Sdk): Tool {
    const { isSerial, idleMs } = this.#settings;
    const { readOnlyHint, idempotentHint } = listed.hints;
    const retry = readOnlyHint === true ? "safe" : idempotentHint === true ? "idempotent" : "never";
    return defineTool({
      ...manifestOf(this.name, listed, this.#settings),
      input: foreignSchema(listed.inputSchema, sdk.interpreter),
      timeoutMs: idleMs,
      isSerial,
      retry,
      // A server need not know what an idempotency key is.
      onInterrupt: retry === "never" ? "fail" : "rerun",
      execute: (input, context) => this.#call(listed, input, context, retry !== "never"),
    });
  }

  // ── Calls ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #call(listed: Listed, input: unknown, context: ToolContext, mayRepeat: boolean): Promise<unknown> {
    const { tool, name, inputSchema } = listed;
    const { signal, idempotencyKey } = context;
    const { totalMs, resultBytesMax } = this.#settings;
    const progress = (note?: string): void => context.progress(note);
    const failed = (words: string, cause?: unknown): Error => {
      const error = new Error(words, { cause });
      return mayRepeat ? retryable(error) : error;
    };
    for (let isLast = false; ; isLast = true) {
      const link = await this.#connected(signal);
      if (link === undefined) throw failed(`${this.#isDown} Nothing was done.`);
      try {
        const answer = await link.call({ tool, inputSchema, input, idempotencyKey, signal, progress });
        return resultFrom(answer, name, resultBytesMax);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (isTimeout(error)) throw new RuntimeError("tool.timeout", { name, ms: totalMs }, { cause: error });
        if (!(error instanceof Disconnected)) throw error;
        if (error.isUnsent && !isLast) continue;
        const lost = `The connection to the MCP server ${this.name} was lost. ${sentence(error.message)}`;
        throw failed(
          `${lost} ${error.isUnsent ? "Nothing was done." : "Whether the call was carried out is not known."}`,
          error,
        );
      }
    }
  }

  get #isDown(): string {
    const why = this.#problem === undefined ? "" : ` ${sentence(this.#problem.message)}`;
    return `The MCP server ${this.name} is not connected.${why}`;
  }

  /** The connection; one that is being made is waited for, and one that is due later is tried now. */
  async #connected(signal: AbortSignal): Promise<Link | undefined> {
    if (this.#state !== "ready") {
      this.#hurry?.();
      const isDecided = (): boolean => ["ready", "failed", "detached"].includes(this.#state);
      await this.#until(isDecided, this.#settings.connectMs, signal);
    }
    return this.#state === "ready" ? this.#link : undefined;
  }
}

const sentence = (words: string): string => (/[.!?…]$/.test(words) ? words : `${words}.`);
const OTHER: { readonly [H in Handshake]: Handshake } = { auto: "legacy", legacy: "auto" };
const NOT_THE_HANDSHAKE = new Set<McpProblem["code"]>([
  "mcp.package",
  "mcp.start",
  "mcp.unreachable",
  "mcp.unauthorized",
]);

/** The same for nobody: servers that went down together do not come back all at once. */
const backoffMs = (failures: number): number =>
  Math.min(BACKOFF.toMs, BACKOFF.fromMs * 2 ** (failures - 1) * (1 + Math.random() / 2));
