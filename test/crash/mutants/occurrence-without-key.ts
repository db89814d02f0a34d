import { randomBytes } from "node:crypto";
import type { Store } from "bowline";
import { overTriggers } from "./over.ts";

type Delivery = Parameters<Store["triggers"]["occur"]>[1][number];
type Job = NonNullable<Delivery["job"]>;
type Delivered = NonNullable<Job["delivers"]>;

/** What happened, and what it starts, is not known again. */
export const store = (inner: Store): Store =>
  overTriggers(inner, {
    occur: (occurrence, deliveries, ...more) =>
      inner.triggers.occur({ ...occurrence, id: `occ_${chance()}` }, deliveries.map(anew), ...more),
  });

const chance = (): string => randomBytes(13).toString("hex");

function anew({ job, ...delivery }: Delivery): Delivery {
  if (job === undefined) return delivery;
  const id = `job_${chance()}` as Job["id"];
  const delivers = job.delivers && anewInput(job.delivers);
  return { ...delivery, jobId: id, job: { ...job, id, ...(delivers && { delivers }) } };
}

function anewInput(input: Delivered): Delivered {
  const id = `inp_${chance()}` as Delivered["id"];
  const { origin, ...message } = input.message;
  const from = { kind: "plugin", plugin: origin?.kind === "plugin" ? origin.plugin : "triggers", inputId: id } as const;
  const key = chance();
  return { ...input, id, turnId: `trn_${key}` as Delivered["turnId"], key, message: { ...message, origin: from } };
}
