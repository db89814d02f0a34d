// The events of a job as they leave the runtime.
// A key can answer its wait, and the steps of a call record keys (`call.ts`). So each key is replaced by the public id of
// its wait, wherever a step, a result or a message repeats it.
import { asWaitKey, type WaitKey } from "../../model/ids.ts";
import type { JobEvent } from "../../model/job.ts";
import { isObject, type Json } from "../../model/json.ts";
import { waitIdOf } from "../../model/wait.ts";

/** The steps of a call that make a key: the verdict of its gate, a key for its tool, or a wait. */
const MAKES_KEY = /(?:^|\/)call\/\d+\/(?:gate|key|wait)\/\d+$/;

export function withoutKeys(events: readonly JobEvent[]): readonly JobEvent[] {
  const keys = events.flatMap((event) => (event.kind === "stepped" ? keyIn(event.name, event.value) : []));
  if (keys.length === 0) return events;
  const shown = (text: string): string => keys.reduce((now, key) => now.replaceAll(key, waitIdOf(key)), text);
  return events.map((event) => JSON.parse(JSON.stringify(event), (_, value) => (isText(value) ? shown(value) : value)));
}

const isText = (value: unknown): value is string => typeof value === "string";

function keyIn(step: string, value: Json): readonly WaitKey[] {
  if (!MAKES_KEY.test(step)) return [];
  const made = isObject(value) ? (isObject(value.verdict) ? value.verdict.key : value.key) : value;
  return isText(made) && made !== "" ? [asWaitKey(made)] : [];
}
