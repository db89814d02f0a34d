// The data besides nodes that a commit stores of a turn, so that people can later see what happened: a summary and the
// journal.
import type { Spent } from "../../model/usage.ts";
import type { EndedTurn, TurnSummary } from "../../stores/store.ts";
import type { Opened } from "../../turn/event.ts";
import type { LiveTurn } from "./turn.ts";

/** Returns the summary and, if journals are kept, the journal. */
export function recordOf(
  { opened, state, events, setting }: LiveTurn,
  spent: readonly Spent[],
): Pick<EndedTurn, "summary" | "journal"> {
  const { at: startedAt, config, metadata, acceptedAt } = opened;
  let resumes = 0;
  if (events !== undefined)
    for (let index = 1; index < events.length; index++) if (events[index]!.kind === "resumed") resumes++;
  const short: TurnSummary = { startedAt, model: config.model, rounds: state?.round ?? 0 };
  const isOwn = spent.length === 0 || (spent.length === 1 && spent[0]!.model === config.model);
  const isShort = resumes === 0 && metadata === undefined && acceptedAt === undefined && isOwn;
  const summary: TurnSummary = isShort
    ? short
    : {
        ...short,
        ...(acceptedAt === undefined ? {} : { acceptedAt }),
        ...(resumes === 0 ? {} : { resumes }),
        ...(isOwn ? {} : { spent }),
        ...(metadata === undefined ? {} : { metadata }),
      };
  if (events === undefined) return { summary };
  if (setting === undefined) return { summary, journal: { events } };
  const [first, ...rest] = events;
  const { step, protocol, host, plugins, limits, config: _, options, ...own } = first as Opened;
  return { summary, journal: { setting, events: [own as Opened, ...rest] } };
}
