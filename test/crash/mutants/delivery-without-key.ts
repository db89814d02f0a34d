import { randomBytes } from "node:crypto";
import type { Store } from "bowline";
import { overJobs } from "./over.ts";

type Wake = NonNullable<NonNullable<Parameters<Store["jobs"]["append"]>[3]>["wakes"]>[number];

/** What a job tells its session is not known again. */
export const store = (inner: Store): Store =>
  overJobs(inner, {
    append: (lease, events, now, more) =>
      inner.jobs.append(lease, events, now, { ...more, wakes: more?.wakes?.map(anew) ?? [] }),
  });

const anew = (input: Wake): Wake => {
  const chance = randomBytes(12).toString("hex");
  const id = `inp_${chance}` as Wake["id"];
  const { origin, ...message } = input.message;
  const from = { kind: "plugin", plugin: origin?.kind === "plugin" ? origin.plugin : "jobs", inputId: id } as const;
  return {
    ...input,
    id,
    turnId: `trn_${chance}` as Wake["turnId"],
    key: chance,
    message: { ...message, origin: from },
  };
};
