import { Overview } from "../stores/store.js";
/** How much work there is, and who does it. Numbers stop at about 1,000. */
interface RuntimeStatus extends Omit<Overview, "workers"> {
  /** The time of this process. */
  readonly now: number;
  /** The kind of the store. */
  readonly store: string;
  /** Processes that run turns or jobs now. */
  readonly workers: readonly {
    /** `host/pid`, or all that is known of the process. */
    readonly name: string;
    readonly turns: number;
    readonly jobs: number;
    /** When its earliest lease ends unless it is renewed. Omitted for a store in memory. */
    readonly until?: number;
  }[];
}
export { RuntimeStatus };
