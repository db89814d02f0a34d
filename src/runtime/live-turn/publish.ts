// Shows a running turn to other processes, while somebody there follows it.
// Not its job: how those read it (`readers/live.ts`), and who follows: that comes with the turn's mail.
// P1 One write at a time, with a pause between two: what comes meanwhile is joined.
// P2 What was not written, and whoever knows why, is made good by showing all of it.
// P3 After a while all of it is shown again, in one part: whoever joins then need not have the others.
// P4 What is unsent when the turn is parked is shown before that: who follows it has all of the run.
// P5 Previews have the generation of the lease, and not that of the run that was first to show them here: in another
//    process the turn may have been shown as it was recorded since.
import type { Preview } from "../../model/event.ts";
import { defined, describeThrown } from "../../model/json.ts";
import { SHOWN_MAX, type Shown } from "../../stores/store.ts";
import { joined, newest, type Previews } from "../readers/previews.ts";
import type { LiveTurn } from "./turn.ts";

const PAUSE_MS = 100;
const FAILED_MS = 2_000;
/** How long a part may be, and after how much all is shown again: together they stay below what a store keeps. */
const PART_CHARS = Math.floor((SHOWN_MAX.chars * 3) / 8);
const AGAIN = { parts: SHOWN_MAX.parts / 2, chars: Math.floor(SHOWN_MAX.chars / 8) };
const UNSENT_MAX = 4_096;

export class Publisher {
  readonly #live: LiveTurn;
  /** All that the turn has shown. */
  readonly #said: Previews;
  #unsent: Preview[] = [];
  #part: "first" | "more" = "first";
  /** Since all of it was shown. */
  #parts = 0;
  #chars = 0;
  #isBusy = false;
  #isOver = false;
  #showing: Promise<void> = Promise.resolve();

  constructor(live: LiveTurn, said: Previews) {
    this.#live = live;
    this.#said = said;
    if (!said.isEmpty) void this.#publish();
  }

  add(event: Preview): void {
    if (this.#part === "more") this.#unsent.push(event);
    if (this.#unsent.length > UNSENT_MAX) this.#startAnew(); // The store takes its time.
    if (!this.#isBusy) void this.#publish();
  }

  end(): void {
    this.#isOver = true;
  }

  /** P4. Never throws: what cannot be shown is recorded. */
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
    this.#startAnew(); // P2
    this.#live.trace("turn.publish", { problem: describeThrown(error) });
  }

  /** P1 */
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
    const whole = this.#said.list(); // Of the same moment as what is unsent: P3 relies on it.
    const { previews, chars, isCut } = newest(part === "first" ? whole : joined(this.#unsent), PART_CHARS);
    this.#unsent = [];
    this.#part = "more";
    await this.#show({ part, previews }, isCut || (part === "first" && this.#said.isTrimmed));
    this.#parts = part === "first" ? 0 : this.#parts + 1;
    this.#chars = part === "first" ? 0 : this.#chars + chars;
    if (this.#parts < AGAIN.parts && this.#chars < AGAIN.chars) return;
    const all = newest(whole, PART_CHARS);
    await this.#show({ part: "again", previews: all.previews }, all.isCut || this.#said.isTrimmed);
    this.#parts = 0;
    this.#chars = 0;
  }

  async #show(shown: Shown, isCut: boolean): Promise<void> {
    const { core, lease, sessionId } = this.#live;
    if (this.#isOver) return;
    const { generation } = lease;
    const previews = shown.previews.map((event) =>
      event.key.generation === generation ? event : { ...event, key: { ...event.key, generation } },
    ); // P5
    const n = await core.store.live?.show(
      lease,
      defined({ ...shown, previews, isCut: isCut ? (true as const) : undefined }),
    );
    if (n === undefined) this.end();
    else core.live?.published(sessionId, n);
  }
}
