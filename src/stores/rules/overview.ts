import type { Overview, Owner, Worker } from "../store.ts";
import { type InputContent, JOB, JOB_OWNER, SESSION, TURN, WAIT } from "../tables.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";

/**
 * How much work a store has, for people who watch it. Damaged rows are skipped, because the rest must be shown too. A
 * check reports them.
 */
export function* overview(db: Port, max: number, now: number | undefined): Rule<Overview> {
  const damage: unknown[] = [];
  const [time, open, parked, queued, asked, moved, jobs, owners, [oldest]] = yield* all([
    now === undefined ? undefined : db.now(now),
    db.scan(SESSION, "open", [], { max, damage }),
    db.count(SESSION, "wake"),
    db.count(TURN, "ready"),
    db.count(WAIT, "open"),
    db.count(WAIT, "openMoved"),
    db.count(JOB, "unfinished"),
    db.scan(JOB_OWNER, "all", [], { damage }),
    db.scan(TURN, "ready", [], { max: 1, isWhole: true, damage }),
  ]);
  const isHeld = (process: string | null, until: number): boolean =>
    (time === undefined || until > time) && (process === null || !db.isDead(process));
  const running = open.filter(({ process, until }) => isHeld(process, until));
  const holders = owners.filter(({ process, until }) => isHeld(process, until));
  const held = yield* all(holders.map(({ id }) => db.count(JOB, "owner", id)));
  const workers = new Map<string, Worker>();
  const add = (owner: Owner, until: number, more: Pick<Worker, "turns" | "jobs">): void => {
    const { turns, jobs, forMs = Infinity } = workers.get(owner.id) ?? { turns: 0, jobs: 0 };
    const ends = time === undefined ? {} : { forMs: Math.min(forMs, until - time) };
    workers.set(owner.id, { owner, turns: turns + more.turns, jobs: jobs + more.jobs, ...ends });
  };
  for (const { owner, process, until } of running)
    add({ id: owner ?? "", process: process ?? "" }, until, { turns: 1, jobs: 0 });
  for (const [at, { id, process, until }] of holders.entries())
    if (held[at]! > 0) add({ id, process }, until, { turns: 0, jobs: held[at]! });
  const upTo = (count: number): number => Math.min(count, max);
  const { at: oldestQueuedAt } = (oldest?.input ?? {}) as Partial<InputContent>;
  return {
    turns: {
      queued: upTo(queued),
      running: running.length,
      waiting: upTo(parked),
      interrupted: open.length - running.length,
    },
    waits: upTo(asked + moved),
    jobs: upTo(jobs),
    ...(oldestQueuedAt === undefined ? {} : { oldestQueuedAt }),
    workers: [...workers.values()],
  };
}
