// The access of the rest of the runtime to jobs, monitors and triggers. Their code is loaded on first use, so that a
// process that only runs turns never reads it.
// background-1: `jobs`, `monitors` and `triggers` are readable only after loading. Code in these folders runs only
//    then, so it can read them.
// background-2: A service exists before its code is loaded: each method loads the code and then makes the call. Calls
//    keep their order, also if some came before the code was loaded and some after.
// background-3: Code that is loaded while the runtime closes is closed at once, so that it starts nothing.
// background-4: After a failed load, for example without free file handles, the next call tries again.
import type { Composition } from "../../kernel/compose.ts";
import { type Monitors, type MonitorsView, WATCH } from "../../kernel/monitor.ts";
import { wireName } from "../../kernel/operation.ts";
import type { Jobs } from "../../kernel/services.ts";
import type { TriggerDeclaration, Triggers } from "../../kernel/trigger.ts";
import { once, unwaited } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import type { Agenda, Store } from "../../stores/store.ts";
import { APP } from "../../tools/catalog.ts";
import type { Core } from "../core.ts";
import type { AppJobs } from "../jobs/app.ts";
import type { JobWorker } from "../jobs/job-worker.ts";
import type { MonitorSupervisor } from "../monitors/monitor-supervisor.ts";
import { type CallerPlace, placeFor } from "../services/session-service.ts";
import type { AppTriggers } from "../triggers/app.ts";
import type { Scheduler } from "../triggers/scheduler.ts";
import { checkedWebhook } from "../triggers/webhook-options.ts";

export interface Rooms {
  readonly jobs: JobWorker;
  readonly monitors: MonitorSupervisor;
  readonly triggers: Scheduler;
  readonly appJobs: AppJobs;
  readonly appTriggers: AppTriggers;
}

export class Background {
  readonly #core: () => Core;
  /** The composed plugins of a session without its own options. */
  readonly composition: () => Composition;
  /** Undefined until first use. A field and not an accessor, because every turn reads it at its end. */
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
      (rooms) => (this.loaded = rooms), // First, so that waiting calls run after it (background-2).
      () => (this.#loading = undefined), // background-4
    );
    return loading;
  }

  async #load(): Promise<Rooms> {
    const { openRooms } = await import("./rooms.ts");
    const rooms = openRooms(this.#core);
    if (this.#isClosed) {
      this.loaded = rooms; // Closing needs it (background-1). No more calls run, so the order does not matter.
      await rooms.jobs.close(0); // background-3
    }
    return rooms;
  }

  /** background-1 */
  get jobs(): JobWorker {
    return this.#require().jobs;
  }
  get monitors(): MonitorSupervisor {
    return this.#require().monitors;
  }
  get triggers(): Scheduler {
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

  // ── Services (background-2) ────────────────────────────────────────────────────────────────────────────────────────

  jobsAt(place: CallerPlace): Jobs {
    return (
      this.loaded?.jobs.at(place) ?? {
        ...this.#deferred<Omit<Jobs, "of">>(JOBS, ({ jobs }) => jobs.at(place)),
        of: (session) => this.jobsAt(placeFor(place, session)),
      }
    );
  }

  monitorsAt(place: CallerPlace): Monitors {
    return (
      this.loaded?.monitors.at(place) ?? {
        ...this.#deferred<Omit<Monitors, "of">>(MONITORS, ({ monitors }) => monitors.at(place)),
        of: (session) => this.monitorsAt(placeFor(place, session)),
      }
    );
  }

  /** The service for queries. Its reads start no monitors. */
  monitorsView(place: CallerPlace): MonitorsView {
    return {
      snapshot: () => unwaited(async () => (await this.load()).monitors.view(place).snapshot()),
      of: (session) => this.monitorsView(placeFor(place, session)),
    };
  }

  triggersAt(place: CallerPlace): Triggers {
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

  /** The composed plugins of a session. If it is not open here, the composition without session options. */
  compositionOf(session: SessionId | undefined): Composition {
    const open = session === undefined ? undefined : this.#core().sessions.find(session);
    return open?.composition ?? this.composition();
  }

  /** The declared events of a session. Without one, or if it is not open, the events of a session without options. */
  declared(session?: SessionId): readonly TriggerDeclaration[] {
    return this.compositionOf(session).triggers.map(({ value }) => value);
  }

  /** Called before a session and its jobs are deleted: ends the commands of its monitors. */
  async endMonitorsOf(session: SessionId): Promise<void> {
    const { jobs } = this.#core().store as Partial<Store>;
    const live = (await jobs?.list({ session, kind: "monitor", isLive: true, max: Infinity })) ?? [];
    if (live.length === 0) return;
    const { monitors } = await this.load();
    await Promise.all(live.map(({ record }) => monitors.endOrphan(record)));
  }

  // ── Looking ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The tasks that this process can run. Read it only if there are jobs, because it composes the plugins. */
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

  /** Looks at jobs and, with `servesTriggers`, at triggers. Returns whether more triggers are due at once. */
  async look(agenda: Agenda, servesTriggers: boolean): Promise<boolean> {
    const { hasJobs, hasCommits, hasSchedules, next } = agenda;
    // A faster clock can have set `next`. Only the scheduler can notice that.
    const hasWork = hasJobs === true || (servesTriggers && (hasCommits ?? hasSchedules ?? next) !== undefined);
    if (this.loaded === undefined && !hasWork) return false;
    const { jobs, triggers } = await this.load();
    await jobs.look(agenda);
    return servesTriggers && triggers.look(agenda);
  }
}

// ── The services of the app ─────────────────────────────────────────────────────────────────────────────────────────

const placeOf = (core: Core, session: string): CallerPlace => placeFor({ core, plugin: APP }, session);

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
        const { code, message } = new RuntimeError("webhook.failed", {}); // A handler never throws. The sender retries.
        return Response.json({ error: { code, message } }, { status: 503 });
      }
      return handler(request);
    };
  },
});

// ── Deferring (background-2) ─────────────────────────────────────────────────────────────────────────────────────────

/** All methods of a service. A missing method does not compile. */
type Methods<S> = { readonly [K in keyof S]-?: true };

const JOBS: Methods<Omit<Jobs, "of">> = {
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
const MONITORS: Methods<Omit<Monitors, "of">> = { snapshot: true, takeUpdates: true, start: true, stop: true };
const TRIGGERS: Methods<Omit<Triggers, "declared">> = {
  list: true,
  get: true,
  occurrences: true,
  subscribe: true,
  update: true,
  remove: true,
  run: true,
  emit: true,
};
const APP_JOBS: Methods<Omit<AppJobs, "of">> = {
  list: true,
  get: true,
  events: true,
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
