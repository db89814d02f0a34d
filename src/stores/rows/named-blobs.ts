import type { PluginState, TurnEvent } from "../../turn/event.ts";

/** Which blobs a row names, so that one that is missing is found before it is asked for. */

/** The attachments anywhere in a value. */
export function attachmentsIn(value: unknown): readonly string[] {
  const found: string[] = [];
  for (const left = [value]; left.length > 0; ) {
    const each = left.pop();
    if (typeof each !== "object" || each === null) continue;
    const { kind, hash, mediaType } = each as { readonly [field: string]: unknown };
    if (kind === "attachment" && typeof mediaType === "string" && isHash(hash)) found.push(hash);
    else for (const inner of Object.values(each)) if (typeof inner === "object") left.push(inner);
  }
  return found;
}

export const blobsOfState = ({ blobs = {} }: PluginState): readonly string[] => Object.values(blobs);

export function blobsOfEvent(event: TurnEvent): readonly string[] {
  const found = [...attachmentsIn(event)];
  if ("changes" in event && event.changes !== undefined)
    for (const state of Object.values(event.changes)) found.push(...blobsOfState(state));
  if (event.kind === "prepared")
    for (const hash of [event.prompt, event.catalog, event.shown, event.parts])
      if (hash !== undefined) found.push(hash);
  return found;
}

// A tool's own JSON may look like an attachment; only the hash of one is of this form.
const isHash = (value: unknown): value is string => typeof value === "string" && /^[\w-]{43}$/.test(value);
