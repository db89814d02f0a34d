// The monitors of a process: where their service is made, and how commands end whose watcher is gone.
import { type Monitors, type MonitorsView, WATCH } from "../../kernel/monitor.ts";
import { unavailable } from "../../kernel/services.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { JobId, SessionId } from "../../model/ids.ts";
import type { JobRecord } from "../../model/job.ts";
import type { Store } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import type { JobsPlace } from "../jobs/service.ts";
import { endGroup, groupIn } from "./group.ts";
import { nameOf, SessionMonitors } from "./service.ts";

export class MonitorDesk {
  readonly #core: () => Core;

  constructor(core: () => Core) {
    this.#core = core;
  }

  /** For queries: reading starts nothing. */
  view(place: JobsPlace): MonitorsView {
    return { snapshot: () => new SessionMonitors(place).look() };
  }
  /** The service at a place of a session. A store of before there were monitors keeps no lines. */
  at(place: JobsPlace): Monitors {
    const { jobs } = place.core.store as Partial<Store>;
    return typeof jobs?.lines === "function" ? new SessionMonitors(place) : unavailable("monitors", place.plugin);
  }

  /**
   * Ends the command of a monitor that does not run here: its process may be gone, and once the job is over nobody would
   * look for it. A process that watches it sees that it was ended, and hears why.
   */
  async endLeft({ id, operation }: Pick<JobRecord, "id" | "operation">): Promise<void> {
    if (operation !== WATCH || this.#core().background.jobs.find(id) !== undefined) return;
    for (const group of await this.#groupsOf(id)) await endGroup(group);
  }
  async #groupsOf(id: JobId) {
    const events = await this.#core().store.jobs.events(id, 0);
    return events.flatMap(({ event }) => (event.kind === "stepped" ? (groupIn(event.value) ?? []) : []));
  }

  /** Throws `monitor.conflict` when the job is a monitor, and the session has one of its name that runs. */
  async requireFree(id: JobId, session: SessionId): Promise<void> {
    const { store } = this.#core();
    const record = (await store.jobs.load(id))?.record;
    if (record?.operation !== WATCH || record.sessionId === session) return;
    const name = nameOf(record);
    const live = await store.jobs.list({ session, kind: "monitor", isLive: true, max: Infinity });
    if (live.some(({ record: other }) => other.operation === WATCH && nameOf(other) === name))
      throw new RuntimeError("monitor.conflict", { id: name });
  }
}
