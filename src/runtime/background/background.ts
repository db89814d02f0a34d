// Jobs, monitors and triggers, as the rest of the runtime reaches them. Their code is loaded on first use: a process that
// only runs turns never reads it.
// B1 Code in `jobs/`, `monitors/` and `triggers/` runs only when it is loaded; there `jobs`, `monitors` and `triggers`
//    are at hand.
// B2 A service is handed out before its code is loaded: each of its methods loads the code and then makes the call. Calls
//    are made in the order in which they came, also where some came before the code was loaded and some after.
// B3 What is loaded while the runtime closes is closed at once, so that it starts nothing.
// B4 A load that failed, for example for want of file handles, is forgotten: the next call tries again.
import type { Composition } from "../../kernel/compose.ts";
import { type Monitors, type MonitorsView, WATCH } from "../../kernel/monitor.ts";
import { wireName } from "../../kernel/operation.ts";
import type { Jobs } from "../../kernel/services.ts";
import type { TriggerDeclaration, Triggers } from "../../kernel/trigger.ts";
import { once, unwaited } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asSessionId, type SessionId } from "../../model/ids.ts";
import type { Agenda, Store } from "../../stores/store.ts";
import { APP } from "../../tools/catalog.ts";
import type { Core } from "../core.ts";
import type { AppJobs } from "../jobs/app.ts";
import type { Desk } from "../jobs/desk.ts";
import type { JobsPlace } from "../jobs/service.ts";
import type { MonitorDesk } from "../monitors/desk.ts";
import type { AppTriggers } from "../triggers/app.ts";
import type { TriggerDesk } from "../triggers/desk.ts";
import { checkedWebhook } from "../triggers/webhook-options.ts";

export interface Rooms {
  readonly jobs: Desk;
  readonly monitors: MonitorDesk;
  readonly triggers: TriggerDesk;
  readonly appJobs: AppJobs;
  readonly appTriggers: AppTriggers;
}

export class Background {
  readonly #core: () => Core;
  /** What the plugins give to a session without options of its own. */
  readonly composition: () => Composition;
  /** Undefined until something needed them. A field, not an accessor: every turn that ends reads it. */
  loaded: Rooms | undefined = undefined;
  #loading: Promise<Rooms> | undefined;
  #operations: readonly string[] | undefined;
  #isClosed = false;

  constructor(core: () => Core, compose: () => Composition) {
    this.#core = core;
    this.composition = once(compose);
  }

  // ── Loading ─────────────────────────────────────────────────────────────────────────────────────────────────────

  load(): Promise<Rooms> {
    if (this.#loading !== undefined) return this.#loading;
    const loading = this.#load();
    this.#loading = loading;
    loading.then(
      (rooms) => (this.loaded = rooms), // The first to be notified: calls that wait for the load come next (B2).
      () => (this.#loading = undefined), // B4
    );
    return loading;
  }

  async #load(): Promise<Rooms> {
    const { openRooms } = await import("./rooms.ts");
    const rooms = openRooms(this.#core);
    if (this.#isClosed) {
      this.loaded = rooms; // Closing needs it (B1); no call is made any more, so none can overtake another.
      await rooms.jobs.close(0); // B3
    }
    return rooms;
  }

  /** B1 */
  get jobs(): Desk {
    return this.#require().jobs;
  }
  get monitors(): MonitorDesk {
    return this.#require().monitors;
  }
  get triggers(): TriggerDesk {
    return this.#require().triggers;
  }
  #require(): Rooms {
    if (this.loaded === undefined) throw new Error("The code of background work is not loaded.");
    return this.loaded;
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    const rooms = this.loaded ?? (await this.#loading?.catch(() => undefined));
    await rooms?.jobs.close(graceMs);
  }

  // ── Services (B2) ───────────────────────────────────────────────────────────────────────────────────────────────

  jobsAt(place: JobsPlace): Jobs {
    return this.loaded?.jobs.at(place) ?? this.#deferred<Jobs>(JOBS, ({ jobs }) => jobs.at(place));
  }

  monitorsAt(place: JobsPlace): Monitors {
    return this.loaded?.monitors.at(place) ?? this.#deferred<Monitors>(MONITORS, ({ monitors }) => monitors.at(place));
  }

  /** For queries: reading starts nothing. */
  monitorsView(place: JobsPlace): MonitorsView {
    return { snapshot: () => unwaited(async () => (await this.load()).monitors.view(place).snapshot()) };
  }

  triggersAt(place: JobsPlace): Triggers {
    const { sessionId } = place;
    return (
      this.loaded?.triggers.at(place) ?? {
        ...this.#deferred<Omit<Triggers, "declared">>(TRIGGERS, ({ triggers }) => triggers.at(place)),
        declared: () => this.declared(sessionId),
      }
    );
  }

  #deferred<S extends object>(methods: Methods<S>, pick: (rooms: Rooms) => S): S {
    return deferred(methods, () => this, pick);
  }

  /** The events that are declared in a session; without one, or when it is not open, those of every session. */
  declared(sessionId?: SessionId): readonly TriggerDeclaration[] {
    const open = sessionId === undefined ? undefined : this.#core().sessions.find(sessionId);
    return (open?.composition ?? this.composition()).triggers.map(({ value }) => value);
  }

  /** A session is about to be deleted, and its jobs with it: ends the commands of its monitors. */
  async endMonitorsOf(session: SessionId): Promise<void> {
    const { jobs } = this.#core().store as Partial<Store>;
    const live = (await jobs?.list({ session, kind: "monitor", isLive: true, max: Infinity })) ?? [];
    if (live.length === 0) return;
    const { monitors } = await this.load();
    await Promise.all(live.map(({ record }) => monitors.endLeft(record)));
  }

  // ── Looking ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The tasks that this process can run. Read only where there are jobs: plugins are composed for it. */
  get operations(): readonly string[] {
    this.#operations ??= [
      WATCH,
      ...[...this.composition().operations.values()].flatMap(({ plugin, name, operation }) =>
        operation.kind === "task" ? [wireName(plugin, name)] : [],
      ),
    ];
    return this.#operations;
  }

  get isBusy(): boolean {
    return this.loaded?.jobs.isBusy === true;
  }
  get isAwaited(): boolean {
    return this.loaded?.jobs.isAwaited === true;
  }

  /** One look at jobs and, if wanted, at triggers. Returns whether more of these is due at once. */
  async look(agenda: Agenda, servesTriggers: boolean): Promise<boolean> {
    const { hasJobs, hasCommits, hasSchedules, next } = agenda;
    // `next` may be the time of a schedule that was set by a clock ahead of ours: only the triggers can find that out.
    const hasWork = hasJobs === true || (servesTriggers && (hasCommits ?? hasSchedules ?? next) !== undefined);
    if (this.loaded === undefined && !hasWork) return false;
    const { jobs, triggers } = await this.load();
    await jobs.look(agenda);
    return servesTriggers && triggers.look(agenda);
  }
}

// ── The services of the app ─────────────────────────────────────────────────────────────────────────────────────────

const placeOf = (core: Core, session: string): JobsPlace => {
  if (typeof session !== "string") throw new RuntimeError("session.unknown", { id: typeof session });
  return { core, sessionId: asSessionId(session), plugin: APP };
};

export const appJobs = (open: () => Core): AppJobs => ({
  ...deferred<Omit<AppJobs, "of">>(
    APP_JOBS,
    () => open().background,
    (rooms) => rooms.appJobs,
  ),
  of: (session) => open().background.jobsAt(placeOf(open(), session)),
});

export const appMonitors = (open: () => Core): { of(session: string): Monitors } => ({
  of: (session) => open().background.monitorsAt(placeOf(open(), session)),
});

export const appTriggers = (open: () => Core): AppTriggers => ({
  ...deferred<Omit<AppTriggers, "of" | "declared" | "webhook">>(
    APP_TRIGGERS,
    () => open().background,
    (rooms) => rooms.appTriggers,
  ),
  of: (session) => open().background.triggersAt(placeOf(open(), session)),
  declared: () => open().background.declared(),
  webhook: (options) => {
    const { background } = open();
    checkedWebhook(options, background.declared());
    let handler: ((request: Request) => Promise<Response>) | undefined;
    return async (request) => {
      try {
        handler ??= (await background.load()).appTriggers.webhook(options);
      } catch {
        const { code, message } = new RuntimeError("webhook.failed", {}); // A handler never throws: the sender tries again.
        return Response.json({ error: { code, message } }, { status: 503 });
      }
      return handler(request);
    };
  },
});

// ── Deferring (B2) ──────────────────────────────────────────────────────────────────────────────────────────────────

/** The methods of a service, all of them: one that is missing does not compile. */
type Methods<S> = { readonly [K in keyof S]-?: true };

const JOBS: Methods<Jobs> = {
  list: true,
  get: true,
  spawn: true,
  spawnHidden: true,
  awaitHidden: true,
  register: true,
  unregister: true,
  complete: true,
  transition: true,
  cancel: true,
  cancelAll: true,
  validate: true,
  transfer: true,
  cancelUnreferenced: true,
  await: true,
  signal: true,
  changes: true,
};
const MONITORS: Methods<Monitors> = { snapshot: true, takeUpdates: true, start: true, stop: true };
const TRIGGERS: Methods<Omit<Triggers, "declared">> = {
  list: true,
  get: true,
  occurrences: true,
  subscribe: true,
  update: true,
  remove: true,
  emit: true,
};
const APP_JOBS: Methods<Omit<AppJobs, "of">> = {
  list: true,
  get: true,
  cancel: true,
  signal: true,
  await: true,
  changes: true,
};
const APP_TRIGGERS: Methods<Omit<AppTriggers, "of" | "declared" | "webhook">> = {
  list: true,
  emit: true,
  occurrences: true,
};

type Call = (...args: readonly unknown[]) => Promise<unknown>;

function deferred<S extends object>(methods: Methods<S>, background: () => Background, pick: (rooms: Rooms) => S): S {
  const call = (name: string): Call => {
    return (...args) =>
      unwaited(async () => {
        const { loaded } = background();
        const rooms = loaded ?? (await background().load());
        return (pick(rooms) as { [name: string]: Call })[name]!(...args);
      });
  };
  return Object.fromEntries(Object.keys(methods).map((name) => [name, call(name)])) as S;
}
