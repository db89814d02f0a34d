// Parses the engine's stacks: one frame per line, the innermost first, as ` at name (file:line:column)`.

import { PRELUDE_FILE } from "./prelude.ts";

export interface Frame {
  readonly line: number;
  readonly column: number;
}

/** Returns the innermost frame in this file. Its column counts bytes. */
export function frameIn(stack: string, file: string): Frame | undefined {
  for (const text of stack.split("\n")) {
    const place = /(?:\(|^\s*at )([^()]*):(\d+):(\d+)\)?$/.exec(text);
    if (place?.[1] === file) return { line: Number(place[2]), column: Number(place[3]) };
  }
  return undefined;
}

/**
 * Returns the guest's own frames. Native frames that the prelude called (`Promise`, `stringify`) are removed with the
 * prelude.
 */
export function withoutPrelude(stack: string): string {
  const frames: string[] = [];
  let isPrelude = false;
  for (const text of stack.split("\n").toReversed()) {
    const frame = text.trim();
    if (!frame.endsWith("(native)")) isPrelude = frame.includes(PRELUDE_FILE);
    if (!isPrelude && frame !== "") frames.push(frame);
  }
  return frames.toReversed().join("\n");
}
