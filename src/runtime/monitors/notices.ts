// The printed lines of a monitor, and the messages about them to its session.
// notices-1: The newest 128 lines are kept: in memory until they are written, then in the store.
// notices-2: The session gets one message, and the next one only after it has acknowledged the first: the turn with the
//    message has ended, or `takeUpdates` took the lines. The next message has all lines since then. So a flood of lines
//    is one turn.
// notices-3: A line on standard error opens no turn.
import type { CheckedMonitor } from "../../kernel/monitor.ts";
import { asTurnId, type InputId } from "../../model/ids.ts";
import type { JobEvent, JobRecord, JobWake } from "../../model/job.ts";
import { TEXTS } from "../../model/texts.ts";
import type { JobLine, JobWrites } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { type WakeInput, wakeInput } from "../jobs/wake.ts";

/** notices-1 */
export const LINES_MAX = 128;
/** The most lines of one message. Of more lines it has the newest. */
const NOTICE_LINES_MAX = 20;

/** A sent message that the session has perhaps not acknowledged. */
interface SentNotice {
  readonly inputId: InputId;
  readonly isNotice: boolean;
  /** The number of its last line; 0 if that is unknown. */
  readonly upTo: number;
}

export class MonitorNotices {
  readonly #core: Core;
  readonly #record: () => JobRecord;
  readonly #spec: CheckedMonitor;
  /** Lines that are not written yet. */
  #lines: JobLine[] = [];
  #n = 0;
  #printed = 0;
  /** Lines that no message has contained yet. */
  #unsent: JobLine[] = [];
  /** The number of older unsent lines that were dropped. */
  #dropped = 0;
  #wake: SentNotice | undefined;
  #notice: SentNotice | undefined;
  #isEnding = false;

  constructor(core: Core, record: () => JobRecord, spec: CheckedMonitor) {
    this.#core = core;
    this.#record = record;
    this.#spec = spec;
  }

  /** How many lines the command has printed. */
  get count(): number {
    return this.#printed;
  }
  get hasLines(): boolean {
    return this.#lines.length > 0;
  }
  get hasMore(): boolean {
    return this.hasLines || this.#unsent.length > 0;
  }

  /** Continues the line numbers of an earlier run. */
  resumeAfter(n: number): void {
    this.#n = n;
    this.#printed = n;
  }
  /**
   * Restores a message of an earlier run. Its kind is unknown, so it counts as a wake, and the next message waits for
   * its acknowledgement.
   */
  restoreSent(inputId: InputId): void {
    this.#wake = { inputId, isNotice: false, upTo: 0 };
  }

  add(channel: JobLine["channel"], text: string): void {
    const line = { n: ++this.#n, at: this.#core.world.now(), channel, text };
    if (channel !== "note") this.#printed++;
    this.#lines.push(line);
    if (this.#lines.length > LINES_MAX) this.#lines.shift();
    if (this.#spec.wake === "none") return;
    this.#unsent.push(line);
    if (this.#unsent.length <= NOTICE_LINES_MAX) return;
    this.#unsent.shift();
    this.#dropped++;
  }

  /** The next write; undefined without lines and messages. */
  async nextWrites(): Promise<JobWrites | undefined> {
    const how = await this.#nextKind();
    const wakes = how === "none" ? [] : [this.#input(how === "notify")];
    const lines = [...this.#lines];
    if (lines.length === 0 && wakes.length === 0) return undefined;
    return { says: { lines, max: LINES_MAX }, ...(wakes.length === 0 ? {} : { wakes }) };
  }

  /** Removes lines that are now in the store. */
  markWritten({ says, wakes: [wake] = [] }: JobWrites): void {
    const upTo = says?.lines.at(-1)?.n ?? 0;
    this.#lines = this.#lines.filter(({ n }) => n > upTo);
    if (wake === undefined) return;
    const sent = { inputId: wake.id, isNotice: wake.place === "injected", upTo: Number(wake.key?.split("/").at(-1)) };
    if (sent.isNotice) this.#notice = sent;
    else this.#wake = sent;
    this.#unsent = this.#unsent.filter(({ n }) => n > sent.upTo);
    this.#dropped = 0;
  }

  /** The write with the end of the job: the last lines, and a message of how it ended. */
  async lastWrites(ended: Extract<JobEvent, { readonly kind: "ended" }>): Promise<JobWrites> {
    const { state, error } = ended;
    const note = error?.message ?? TEXTS.monitorOver(state);
    if (!this.#isEnding) this.add("note", note); // Only once, because a failed write is retried.
    this.#isEnding = true;
    const says = { lines: [...this.#lines], max: LINES_MAX };
    const { wake } = this.#spec;
    if (wake === "none" || state === "cancelled") return { says };
    await this.#acknowledge();
    const { label } = this.#record();
    const lines = this.#unsent.filter(({ channel }) => channel !== "note").map(shown);
    const text = TEXTS.monitorEnded(label, this.#id, note, lines, this.#dropped);
    // If a turn for earlier lines waits, it reads this notice too. A running turn may have no boundary left, so a new
    // turn is needed.
    const isNotice = wake === "notify" || (await this.#isWaiting(this.#wake));
    return { says, wakes: [this.#wakeInput("end", text, isNotice)] };
  }

  /** notices-2: the kind of the next message; `none` if it must wait. */
  async #nextKind(): Promise<JobWake> {
    if (this.#unsent.length === 0) return "none";
    await this.#acknowledge();
    if (this.#unsent.length === 0) return "none";
    const isWake = this.#spec.wake === "wake" && this.#unsent.some(({ channel }) => channel === "out"); // notices-3
    if (this.#wake !== undefined) return "none";
    if (isWake) return "wake";
    return this.#notice === undefined ? "notify" : "none";
  }

  async #acknowledge(): Promise<void> {
    const { store } = this.#core;
    const { taken } = await store.jobs.lines(this.#record().id);
    const left = this.#unsent.filter(({ n }) => n > taken);
    if (left.length < this.#unsent.length) this.#dropped = 0;
    this.#unsent = left;
    if (await this.#isAcknowledged(this.#wake, taken)) this.#wake = undefined;
    if (await this.#isAcknowledged(this.#notice, taken)) this.#notice = undefined;
  }

  async #isAcknowledged(sent: SentNotice | undefined, taken: number): Promise<boolean> {
    if (sent === undefined || (await this.#isWaiting(sent))) return false; // The turn that reads it comes first.
    if (sent.upTo > 0 && sent.upTo <= taken) return true;
    const turn = await this.#core.store.find(asTurnId(sent.inputId.replace(/^inp_/, "trn_")));
    return turn === undefined || turn.state === "ended" || turn.state === "withdrawn";
  }

  /** Whether the message still waits in the session's inputs. */
  async #isWaiting(sent: SentNotice | undefined): Promise<boolean> {
    if (sent === undefined) return false;
    const waiting = await this.#core.store.inputs.list(this.#record().sessionId);
    return waiting.some(({ id }) => id === sent.inputId);
  }

  #input(isNotice: boolean): WakeInput {
    const record = this.#record();
    const last = this.#unsent.at(-1)?.n ?? 0;
    const text = TEXTS.monitorLines(record.label, this.#id, this.#unsent.map(shown), this.#dropped);
    return this.#wakeInput(`lines/${last}`, text, isNotice);
  }
  /** The name contains `createdAt`, because an older removed monitor can have had the same job id and line numbers. */
  #wakeInput(name: string, text: string, isNotice: boolean): WakeInput {
    const record = this.#record();
    return wakeInput(this.#core, record, `${record.createdAt}/${name}`, text, isNotice);
  }
  get #id(): string {
    return this.#spec.id ?? this.#record().id;
  }
}

const MARKS = { out: "", err: "(error output) ", note: "(note) " } as const;
const shown = ({ channel, text }: JobLine): string => `${MARKS[channel]}${text}`;
