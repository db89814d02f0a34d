import { TurnDetails, TurnRecord, TurnTimeline } from "../../model/turn-record.js";
import { TurnEvent } from "../../turn/event.js";
import { TurnOutcome } from "../../model/outcome.js";
import { WhyResumed } from "./timeline.js";
/** Which turns `turns.list` returns: the latest first. Several filters together narrow the list. */
interface TurnsPage {
  readonly session?: string | undefined;
  /** Only turns of sessions with this owner. */
  readonly owner?: string | undefined;
  readonly state?: TurnRecord["state"] | undefined;
  readonly outcome?: TurnOutcome["kind"] | undefined;
  readonly model?: string | undefined;
  /** Turns that started at this time or later, and before `until`: milliseconds since 1970. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** The `cursor` of the last turn of the page before. */
  readonly after?: string | undefined;
  /** Default: 100; at most 1,000. */
  readonly max?: number | undefined;
}
/** All data of one turn. */
interface TurnReport extends Omit<TurnDetails, "resumed"> {
  /** Each time that a process resumed it. `why` is omitted if the present build cannot follow the journal. */
  readonly resumed?: readonly {
    readonly at: number;
    readonly by?: string;
    readonly why?: WhyResumed;
    readonly isFault?: true;
  }[];
}
/** Turns of all sessions, open or ended, also those that other processes run. */
interface Turns {
  list(page?: TurnsPage): Promise<readonly TurnRecord[]>;
  /** Finds a turn as `list` shows it. Undefined if there is none. */
  find(id: string): Promise<TurnRecord | undefined>;
  /** Throws `turn.unknown`. */
  get(id: string): Promise<TurnReport>;
  /** Throws `turn.unknown`, `turn.no-journal` if the journal is not kept, and `store.corrupt` if it is damaged. */
  timeline(id: string): Promise<TurnTimeline>;
  /** The events of the turn as they were recorded. Throws as `timeline`. */
  journal(id: string): Promise<readonly TurnEvent[]>;
}
export { Turns, TurnsPage };
