import type { PluginState, TurnEvent } from "../../turn/event.ts";

/** Finds the blobs that a row refers to, so that a check can find a missing one. */

/** Returns the attachments anywhere in a value. */
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

/** A tool's JSON may look like an attachment. Only a real hash has this form. */
export const isHash = (value: unknown): value is string => typeof value === "string" && /^[\w-]{43}$/.test(value);
