import { RuntimeError } from "../../model/errors.ts";
import { describeThrown, isObject } from "../../model/json.ts";
import { type Known, requireKnown } from "../../model/known.ts";
import type { Core } from "../core.ts";
import { Poller } from "../poller.ts";

/** How long the journals of ended turns are kept. A journal is removed soon after one of these limits is exceeded. */
export interface KeepJournals {
  /** Default: 7. */
  readonly days?: number | undefined;
  /** How many turns of one session keep theirs. Default: 200. */
  readonly perSession?: number | undefined;
  /** The size of all journals of the store. The memory store does not count bytes. Default: 1 GiB. */
  readonly bytes?: number | undefined;
}
export type JournalBounds = { readonly [bound in keyof KeepJournals]-?: number };
export const KEEP_JOURNALS: JournalBounds = { days: 7, perSession: 200, bytes: 2 ** 30 };
const KNOWN: Known<KeepJournals> = { days: true, perSession: true, bytes: true };

/** When a process searches for expired journals: after its start, and after each search. */
const SWEEP_MS = { first: 60_000, next: 600_000 };
/** One of this many searches reads all turns: about one a day. */
const WHOLE_EVERY = 144;

/** Removes expired journals from time to time. */
export class JournalSweeper {
  readonly #core: Core;
  #looks = 0;
  readonly #poller = new Poller(
    () => this.#core.world,
    () => this.#sweep(),
  );

  constructor(core: Core) {
    this.#core = core;
  }

  start(): void {
    if (this.#core.runs && this.#core.keepsJournals !== undefined) this.#poller.soonest(SWEEP_MS.first);
  }

  close(): void {
    this.#poller.close();
  }

  async #sweep(): Promise<void> {
    try {
      const { sweepJournals } = await import("./journals.ts");
      await sweepJournals(this.#core, this.#looks++ % WHOLE_EVERY === 0);
    } catch (error) {
      this.#core.trace("journals.sweep", { problem: describeThrown(error) });
    }
    this.#poller.soonest(SWEEP_MS.next);
  }
}

export function checkedKeepJournals(given: KeepJournals | false | undefined): JournalBounds | undefined {
  if (given === false) return undefined;
  if (given === undefined) return KEEP_JOURNALS;
  if (!isObject(given))
    throw new RuntimeError("options.invalid", { option: "keepJournals", problem: "it must be an object or false" });
  requireKnown("createRuntime: keepJournals", given, KNOWN);
  const {
    days = KEEP_JOURNALS.days,
    perSession = KEEP_JOURNALS.perSession,
    bytes = KEEP_JOURNALS.bytes,
  } = given as KeepJournals;
  for (const [name, value] of Object.entries({ days, perSession, bytes }))
    if (!(typeof value === "number" && value >= 0))
      throw new RuntimeError("options.invalid", {
        option: `keepJournals.${name}`,
        problem: "it must be a number of 0 or more",
      });
  return { days, perSession, bytes };
}
