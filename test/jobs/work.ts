/** Jobs with a task, for tests. */
import { definePlugin } from "bowline";
import { z } from "zod";

type TaskRun = Parameters<Parameters<typeof definePlugin>[0]["setup"]>[0]["task"] extends (spec: infer S) => unknown
  ? S extends { run(context: infer C): unknown }
    ? (context: C) => unknown
    : never
  : never;
/** A plugin with one task. */
export const doing = (run: TaskRun) =>
  definePlugin({
    id: "test/work",
    setup: ({ task }) => ({ operations: { work: task({ input: z.any(), run: run as never }) } }),
  });
export const WORK = { label: "Work", operation: "test/work.work", input: null } as const;
