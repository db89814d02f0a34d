import type { SessionId } from "../../model/ids.ts";
import type { Core } from "../core.ts";
import type { Session } from "../session/handle.ts";
import type { LiveSession } from "../session/session.ts";

/** The sessions whose functions run here: one handle each, for all of its jobs. */
export class JobSessions {
  readonly #core: () => Core;
  readonly #held = new Map<SessionId, { readonly handle: Promise<Session>; jobs: number }>();

  constructor(core: () => Core) {
    this.#core = core;
  }

  async hold(id: SessionId): Promise<LiveSession> {
    const { sessions } = this.#core();
    const hold = this.#held.get(id) ?? { handle: sessions.handle(id), jobs: 0 };
    this.#held.set(id, hold);
    hold.jobs++;
    try {
      await hold.handle;
      return sessions.find(id) as LiveSession;
    } catch (error) {
      this.letGo(id);
      throw error;
    }
  }

  letGo(id: SessionId): void {
    const hold = this.#held.get(id);
    if (hold === undefined || --hold.jobs > 0) return;
    this.#held.delete(id);
    hold.handle.then((handle) => handle.close()).catch(() => {}); // Whoever asked for it was told.
  }
}
