import type { SessionId } from "../../model/ids.ts";
import type { Core } from "../core.ts";
import type { Session } from "../session/public-api.ts";
import type { LiveSession } from "../session/session.ts";

/** The open sessions of running functions: one handle for all jobs of a session. */
export class JobSessions {
  readonly #core: () => Core;
  readonly #open = new Map<SessionId, { readonly handle: Promise<Session>; jobs: number }>();

  constructor(core: () => Core) {
    this.#core = core;
  }

  async hold(id: SessionId): Promise<LiveSession> {
    const { sessions } = this.#core();
    const hold = this.#open.get(id) ?? { handle: sessions.handle(id), jobs: 0 };
    this.#open.set(id, hold);
    hold.jobs++;
    try {
      await hold.handle;
      return sessions.find(id) as LiveSession;
    } catch (error) {
      this.release(id);
      throw error;
    }
  }

  release(id: SessionId): void {
    const hold = this.#open.get(id);
    if (hold === undefined || --hold.jobs > 0) return;
    this.#open.delete(id);
    hold.handle.then((handle) => handle.close()).catch(() => {}); // The caller of `hold` got the error.
  }
}
