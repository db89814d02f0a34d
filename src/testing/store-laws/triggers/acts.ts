// Actions that laws of triggers in several files share, beside the cast of triggers (`../../trigger-cast.ts`).
import assert from "node:assert/strict";
import type { TriggerSource } from "../../../model/trigger.ts";
import type { Agenda, Store } from "../../../stores/store.ts";
import { NOW } from "../../cast.ts";
import { TASK } from "../../job-cast.ts";
import { occurrences } from "../../trigger-cast.ts";

export const COMMITS: TriggerSource = { kind: "commits" };
export const CRON: TriggerSource = { kind: "cron", cron: "0 9 * * *", timeZone: "Europe/Vienna", missed: "all" };

/** Reads everything that a store has of triggers and their jobs. Equal if nothing was written. */
const everything = async (store: Store): Promise<unknown> => ({
  subscriptions: await store.triggers.list({ max: 100 }),
  occurrences: await occurrences(store),
  jobs: await store.jobs.list({ max: 100 }),
});

export async function unchanged<T>(store: Store, act: () => Promise<T>): Promise<T> {
  const before = await everything(store);
  const answer = await act();
  assert.deepEqual(await everything(store), before);
  return answer;
}

type TriggerAgenda = Pick<Agenda, "hasSchedules" | "hasCommits" | "next">;

export const agenda = async (store: Store, now = NOW): Promise<TriggerAgenda> => {
  const { hasSchedules, hasCommits, next } = await store.agenda(now, 10, [TASK]);
  return {
    ...(hasSchedules === undefined ? {} : { hasSchedules }),
    ...(hasCommits === undefined ? {} : { hasCommits }),
    ...(next === undefined ? {} : { next }),
  };
};

export const of = async (store: Store, page: Partial<Parameters<Store["triggers"]["list"]>[0]> = {}) =>
  (await store.triggers.list({ max: 100, ...page })).map(({ sessionId, id }) => `${sessionId}/${id}`);
