// What a commit stores of a turn besides its nodes, so that people can see later what happened: a summary, and the journal.
import { type Awaitable, isThenable } from "../../model/awaitable.ts";
import type { EndedTurn, TurnSummary } from "../../stores/store.ts";
import type { Opened, TurnEvent } from "../../turn/event.ts";
import type { LiveTurn } from "./turn.ts";

/** The fields of `opened` that most turns of a process have in common. They are stored once, in a blob. */
const SETTING = ["step", "protocol", "host", "plugins", "limits", "config", "options"] as const;
export type Setting = Pick<Opened, (typeof SETTING)[number]>;

/** Adds the summary and, if journals are kept, the journal. */
export function withRecord(
  live: LiveTurn,
  turn: EndedTurn,
  events: readonly TurnEvent[] | undefined,
): Awaitable<EndedTurn> {
  const summary = summaryOf(live, turn, events);
  if (events === undefined || live.core.keepsJournals === undefined) return { ...turn, summary };
  const [opened, ...rest] = events as [Opened, ...TurnEvent[]];
  const { step, protocol, host, plugins, limits, config, options, ...own } = opened;
  const setting: Setting = {
    step,
    protocol,
    host,
    plugins,
    limits,
    config,
    ...(options === undefined ? {} : { options }),
  };
  const put = live.core.artifacts.setting(setting, live.lease);
  const withJournal = ({ hash }: Awaited<typeof put>): EndedTurn => ({
    ...turn,
    summary,
    journal: { setting: hash, events: [own as Opened, ...rest] },
  });
  return isThenable(put) ? put.then(withJournal) : withJournal(put);
}

function summaryOf({ opened, state }: LiveTurn, { spent }: EndedTurn, events: readonly TurnEvent[] = []): TurnSummary {
  const { at: startedAt, config, metadata, acceptedAt } = opened;
  let resumes = 0;
  for (let index = 1; index < events.length; index++) if (events[index]?.kind === "resumed") resumes++;
  const summary: TurnSummary = { startedAt, model: config.model, rounds: state?.round ?? 0 };
  const isPlain = resumes === 0 && metadata === undefined && acceptedAt === undefined && spent.length < 2;
  if (isPlain) return summary;
  return {
    ...summary,
    ...(acceptedAt === undefined ? {} : { acceptedAt }),
    ...(resumes === 0 ? {} : { resumes }),
    ...(spent.length < 2 ? {} : { spent }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
