import type { CodePast } from "bowline/protocol";

type Ran = CodePast<unknown>["segments"][number];

/** What ran, with answers swapped, two by two, that might have come in the other order. */
export function swapped(ran: readonly Ran[]): readonly Ran[] {
  const [first, second, ...later] = ran;
  if (first === undefined || second === undefined) return ran;
  if (!isSwappable(first, second)) return [first, ...swapped(ran.slice(1))];
  return [given(first, second), given(second, first), ...swapped(later)];
}

const given = ({ segment, progress }: Ran, { segment: { deliver } }: Ran): Ran => ({
  segment: deliver === undefined ? segment : { ...segment, deliver },
  progress,
});

/** Both answer the same cell, and the second answers nothing that the code did only after the first. */
function isSwappable({ segment, progress }: Ran, next: Ran): boolean {
  const deliver = next.segment.deliver;
  if (segment.deliver === undefined || deliver === undefined || progress.kind !== "called") return false;
  if (segment.name !== next.segment.name) return false;
  return [...progress.calls, ...(progress.sleeps ?? [])].every(({ at }) => at !== deliver.at);
}
