// One configured server, kept connected as long as the runtime lives: connects, connects again after a loss, and offers
// the server's tools. What one connection does is in `link.ts`.
//
// mcp-server-1: One `#live` loop at a time: `attach` queues the next behind `#over`, so that two processes of a server
// never run at once.
// mcp-server-2: While a server is down its tools stay offered: a call waits for the next connection, and the prompt
// stays cached.
// mcp-server-3: A call is sent twice only when the first one cannot have reached the server.
import {
  defineTool,
  defineToolProvider,
  RuntimeError,
  retryable,
  type Tool,
  type ToolContext,
  type ToolProvider,
} from "../../plugin.ts";
import { type Handshake, isAnswer, isTimeout, Link, type Sdk } from "./link.ts";
import type { Settings } from "./options.ts";
import { Disconnected, type McpProblem, problemOf } from "./problem.ts";
import { resultFrom } from "./result.ts";
import { foreignSchema } from "./schema.ts";
import { TEXTS } from "./texts.ts";
import { type Listed, manifestOf, NO_TOOLS, type Skipped, type Toolbox, toolbox } from "./tools.ts";

/**
 * `connecting`: connects, the first time or again. `ready`. `down`: will be tried again soon. `failed`: a retry would
 * not help. `detached`: by the command `detach`.
 */
export type McpState = "connecting" | "ready" | "down" | "failed" | "detached";

export interface McpStatus {
  readonly server: string;
  readonly state: McpState;
  /** When this state began, in milliseconds since 1970. */
  readonly since: number;
  /** How many tools are offered. While a server is down, its last tools are still offered. */
  readonly tools: number;
  /** Tools that the server lists and that are not offered, with the reason. */
  readonly skipped: readonly Skipped[];
  /** The last problem. Omitted when the server is ready again. */
  readonly problem?: McpProblem;
  /** The server's own name and version. */
  readonly about?: { readonly name: string; readonly version: string };
  /** The version of MCP that both sides use. */
  readonly protocol?: string;
  /** The id of the server's process. */
  readonly pid?: number;
  /** The last 8 KiB that the server's process wrote to stderr. */
  readonly stderr?: string;
}

const BACKOFF = { fromMs: 500, toMs: 30_000 };
/** A connection that held this long counts as good: the pauses between tries start from the beginning. */
const STEADY_MS = 10_000;

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
        const watcher = (): void => changed(); // A wrapper, because the same function can be passed twice.
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

  /** Starts to connect, in the background. */
  attach(): void {
    if (this.#life !== undefined) return;
    const life = new AbortController();
    this.#life = life;
    this.#openedAt = performance.now();
    this.#wasTried = false;
    this.#move("connecting");
    this.#over = this.#over.then(() => this.#live(life.signal));
    this.#notifyWatchers(); // Watchers then read the list again, which waits for the connection.
  }

  /** Ends the connection. The server has no tools until it is attached again. */
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

  /** Connects, waits until the connection is lost, and returns how long it was ready, in milliseconds. Never throws. */
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

  /**
   * If the server refuses one handshake, tries the other one at once. If it is silent, the next connection tries the
   * other one.
   */
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

  /** Waits until `holds` returns true, for at most `ms`. */
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

  /** Reads the list of tools again. If the list changes during the read, it reads once more. */
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
        if (link === this.#link) this.#problem = problemOf(error); // The old list stays in use.
      }
    }
  }

  #offer(found: Toolbox): void {
    const isNew = found.fingerprint !== this.#toolbox.fingerprint;
    this.#toolbox = found;
    if (!isNew) return;
    this.#made.clear();
    this.#notifyWatchers();
  }

  #notifyWatchers(): void {
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
      // A call that changes something does not run again after a crash, because many servers ignore idempotency keys.
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
      if (link === undefined) throw failed(`${this.#isDown} ${TEXTS.notDone}`);
      try {
        const answer = await link.call({ tool, inputSchema, input, idempotencyKey, signal, progress });
        return resultFrom(answer, name, resultBytesMax);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (isTimeout(error)) throw new RuntimeError("tool.timeout", { name, ms: totalMs }, { cause: error });
        if (!(error instanceof Disconnected)) throw error;
        if (error.isUnsent && !isLast) continue;
        const lost = TEXTS.lost(this.name, ` ${sentence(error.message)}`);
        throw failed(`${lost} ${error.isUnsent ? TEXTS.notDone : TEXTS.maybeDone}`, error);
      }
    }
  }

  get #isDown(): string {
    const why = this.#problem === undefined ? "" : ` ${sentence(this.#problem.message)}`;
    return TEXTS.notConnected(this.name, why);
  }

  /** Returns the connection. It waits for a running attempt to connect, and starts a scheduled attempt now. */
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

/** Random in part, so that clients of a server that went down do not all come back at once. */
const backoffMs = (failures: number): number =>
  Math.min(BACKOFF.toMs, BACKOFF.fromMs * 2 ** (failures - 1) * (1 + Math.random() / 2));
