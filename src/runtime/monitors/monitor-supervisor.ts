// The monitors of a process: makes their service, and ends commands whose process has died.
import { type Monitors, type MonitorsView, WATCH } from "../../kernel/monitor.ts";
import { unavailable } from "../../kernel/services.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { JobId, SessionId } from "../../model/ids.ts";
import type { JobRecord } from "../../model/job.ts";
import type { Store } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import type { CallerPlace } from "../services/session-service.ts";
import { endGroup, groupIn } from "./group.ts";
import { nameOf, SessionMonitors } from "./service.ts";

export class MonitorSupervisor {
  readonly #core: () => Core;

  constructor(core: () => Core) {
    this.#core = core;
  }

  /** The service for queries. Its reads start no monitors. */
  view(place: CallerPlace): MonitorsView {
    const viewOf = (monitors: SessionMonitors): MonitorsView => ({
      snapshot: () => monitors.look(),
      of: (session) => viewOf(monitors.of(session)),
    });
    return viewOf(new SessionMonitors(place));
  }
  /** The monitors service for a place of a session. A custom store without `lines` has none. */
  at(place: CallerPlace): Monitors {
    const { jobs } = place.core.store as Partial<Store>;
    return typeof jobs?.lines === "function" ? new SessionMonitors(place) : unavailable("monitors", place.plugin);
  }

  /**
   * Ends the command of a monitor that does not run here. Its process can be dead, and after the end of the job no
   * process looks for the command. If another process still watches the command, it notices the exit and then reads the
   * cancel.
   */
  async endOrphan({ id, operation }: Pick<JobRecord, "id" | "operation">): Promise<void> {
    if (operation !== WATCH || this.#core().background.jobs.find(id) !== undefined) return;
    for (const group of await this.#groupsOf(id)) await endGroup(group);
  }
  async #groupsOf(id: JobId) {
    const events = await this.#core().store.jobs.events(id, 0);
    return events.flatMap(({ event }) => (event.kind === "stepped" ? (groupIn(event.value) ?? []) : []));
  }

  /** Throws `monitor.conflict` if the job is a monitor and the session already runs one with its name. */
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
