// Shows a running turn to other processes while one of them follows it.
// Not its job: reading there (`readers/live.ts`), and whether a process follows: the turn's mail contains that.
// publish-1 One write at a time, with a pause between two. Deltas that arrive meanwhile are joined.
// publish-2 After a failed write the publisher writes all previews again, because it cannot know what was written.
// publish-3 At intervals it writes all previews again in one part, so that a later reader needs only this part.
// publish-4 Before a park it writes the unsent previews, so that followers have all previews of the run.
// publish-5 Previews get the generation of the present lease, not of the run that first showed them here, because another
//           process may have shown the turn from its journal since then.
import type { Preview } from "../../model/event.ts";
import { defined, describeThrown } from "../../model/json.ts";
import { SHOWN_MAX, type Shown } from "../../stores/store.ts";
import { joined, newest, type Previews } from "../readers/previews.ts";
import type { LiveTurn } from "./turn.ts";

const PAUSE_MS = 100;
const FAILED_MS = 2_000;
/**
 * The size of a part, and after how much text everything is written again (publish-3). Together they stay below the
 * limit of the store.
 */
const PART_CHARS = Math.floor((SHOWN_MAX.chars * 3) / 8);
const AGAIN = { parts: SHOWN_MAX.parts / 2, chars: Math.floor(SHOWN_MAX.chars / 8) };
const UNSENT_MAX = 4_096;

export class Publisher {
  readonly #live: LiveTurn;
  /** All previews of the turn so far. */
  readonly #previews: Previews;
  #unsent: Preview[] = [];
  #part: "first" | "more" = "first";
  /** Parts and characters since all previews were written. */
  #parts = 0;
  #chars = 0;
  #isBusy = false;
  #isOver = false;
  #showing: Promise<void> = Promise.resolve();

  constructor(live: LiveTurn, previews: Previews) {
    this.#live = live;
    this.#previews = previews;
    if (!previews.isEmpty) void this.#publish();
  }

  add(event: Preview): void {
    if (this.#part === "more") this.#unsent.push(event);
    if (this.#unsent.length > UNSENT_MAX) this.#startAnew(); // The store is slow.
    if (!this.#isBusy) void this.#publish();
  }

  end(): void {
    this.#isOver = true;
  }

  /** publish-4. Never throws: a failed write is traced, because it must not prevent the park. */
  async finish(): Promise<void> {
    await this.#next().catch((error: unknown) => this.#failed(error));
    this.end();
  }

  #startAnew(): void {
    this.#unsent = [];
    this.#part = "first";
  }

  async #publish(): Promise<void> {
    const { world } = this.#live;
    this.#isBusy = true;
    while (!this.#isOver && (this.#part === "first" || this.#unsent.length > 0)) {
      try {
        await this.#next();
        await world.rest(PAUSE_MS);
      } catch (error) {
        this.#failed(error);
        await world.rest(FAILED_MS);
      }
    }
    this.#isBusy = false;
  }

  #failed(error: unknown): void {
    this.#startAnew(); // publish-2
    this.#live.trace("turn.publish", { problem: describeThrown(error) });
  }

  /** publish-1 */
  #next(): Promise<void> {
    const next = async (): Promise<void> => {
      if (!this.#isOver && (this.#part === "first" || this.#unsent.length > 0)) await this.#showNext();
    };
    const showing = this.#showing.then(next);
    this.#showing = showing.catch(() => {});
    return showing;
  }

  async #showNext(): Promise<void> {
    const part = this.#part;
    // Read at the same time as `#unsent`, because publish-3 needs both from one moment.
    const whole = this.#previews.list();
    const { previews, chars, isCut } = newest(part === "first" ? whole : joined(this.#unsent), PART_CHARS);
    this.#unsent = [];
    this.#part = "more";
    await this.#show({ part, previews }, isCut || (part === "first" && this.#previews.isTrimmed));
    this.#parts = part === "first" ? 0 : this.#parts + 1;
    this.#chars = part === "first" ? 0 : this.#chars + chars;
    if (this.#parts < AGAIN.parts && this.#chars < AGAIN.chars) return;
    const all = newest(whole, PART_CHARS);
    await this.#show({ part: "again", previews: all.previews }, all.isCut || this.#previews.isTrimmed);
    this.#parts = 0;
    this.#chars = 0;
  }

  async #show(shown: Shown, isCut: boolean): Promise<void> {
    const { core, lease, sessionId } = this.#live;
    if (this.#isOver) return;
    const { generation } = lease;
    const previews = shown.previews.map((event) =>
      event.key.generation === generation ? event : { ...event, key: { ...event.key, generation } },
    ); // publish-5
    const n = await core.store.live?.show(
      lease,
      defined({ ...shown, previews, isCut: isCut ? (true as const) : undefined }),
    );
    if (n === undefined) this.end();
    else core.live?.published(sessionId, n);
  }
}
