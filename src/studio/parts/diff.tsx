// What changed between two texts, line by line.
import type { JSX } from "preact";
import { shown } from "../format.ts";
import { linesBetween } from "./lines.ts";

/** So many equal lines are shown around a change. */
const AROUND = 3;
const MARKS = { same: " ", added: "+", removed: "−" } as const;
const NAMES = { same: "", added: "added: ", removed: "removed: " } as const;

export function Diff({ before, after }: { readonly before: string; readonly after: string }): JSX.Element {
  const lines = linesBetween(before, after);
  const isNear = lines.map((_, at) =>
    lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ kind }) => kind !== "same"),
  );
  if (!isNear.includes(true)) return <p class="dim">No changes.</p>;
  const rows: JSX.Element[] = [];
  for (let at = 0; at < lines.length; at++) {
    const { kind, text } = lines[at]!;
    if (isNear[at]) {
      rows.push(
        <div key={at} class={`diff-line ${kind}`}>
          <span aria-hidden="true">{MARKS[kind]}</span>
          <span class="unseen">{NAMES[kind]}</span>
          {shown(text)}
        </div>,
      );
      continue;
    }
    const from = at;
    while (at + 1 < lines.length && !isNear[at + 1]) at++;
    rows.push(
      <div key={from} class="diff-gap">
        {at - from + 1} equal lines
      </div>,
    );
  }
  return (
    <div class="code diff" tabIndex={0} role="group" aria-label="Changes">
      {rows}
    </div>
  );
}
