// The forks of a session as a tree: where it came from, what began at the same place, and what began in it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { plainWords, plural } from "../../format.ts";
import { useLoad } from "../../load.ts";
import { Badge, Button, Link, Shown, Text, When } from "../../parts/basics.tsx";
import { client } from "../../server.ts";
import type { SessionSummary } from "../../types.ts";
import { Compare } from "./compare.tsx";

/** The most sessions that are drawn. */
const MAX = 60;
const UP_MAX = 8;

interface Branch {
  readonly session: SessionSummary;
  readonly depth: number;
  /** The row of its origin. */
  readonly from: number;
}
interface Tree {
  readonly rows: readonly Branch[];
  readonly isPartial: boolean;
}

/** Reads the tree from its root. An origin that is deleted is left out. */
async function treeOf(id: string, signal: AbortSignal): Promise<Tree> {
  const find = (each: string): Promise<SessionSummary> => client.request("findSession", { path: { id: each }, signal });
  let root = await find(id);
  const above = new Set([id]);
  for (let up = 0; root.origin !== undefined && up < UP_MAX; up++) {
    const origin = await find(root.origin.sessionId).catch(() => undefined);
    if (origin === undefined || above.has(origin.id)) break;
    above.add(origin.id);
    root = origin;
  }
  const rows: Branch[] = [];
  let isPartial = false;
  const add = async (session: SessionSummary, depth: number, from: number): Promise<void> => {
    if (rows.length >= MAX) return void (isPartial = true);
    const row = rows.push({ session, depth, from }) - 1;
    const forks = await client.request("listSessions", { query: { origin: session.id, max: MAX }, signal });
    // The way to this session comes first, so that it is always drawn.
    const sorted = forks.toSorted(
      (a, b) => Number(above.has(b.id)) - Number(above.has(a.id)) || a.createdAt - b.createdAt,
    );
    for (const fork of sorted) await add(fork, depth + 1, row);
  };
  await add(root, 0, -1);
  return { rows, isPartial };
}

export function Branches({ id, origin }: { readonly id: string; readonly origin: string | undefined }): JSX.Element {
  const tree = useLoad(`branches ${id} ${origin}`, (signal) => treeOf(id, signal), {
    when: ({ kind }) => kind === "accepted",
  });
  return <Shown of={tree}>{(data) => <Drawn tree={data} id={id} />}</Shown>;
}

const ROW = 52;
const LANE = 16;
const LANES_MAX = 8;

function Drawn({ tree, id }: { readonly tree: Tree; readonly id: string }): JSX.Element {
  const { rows, isPartial } = tree;
  const [other, setOther] = useState<string>();
  if (rows.length === 1)
    return <p class="dim">This session has no forks. “Fork here” at a message begins one, with the history so far.</p>;
  const lane = ({ depth }: Branch): number => Math.min(depth, LANES_MAX) * LANE + LANE / 2;
  const middle = (row: number): number => row * ROW + ROW / 2;
  const width = (Math.min(LANES_MAX, Math.max(...rows.map(({ depth }) => depth))) + 1) * LANE;
  return (
    <>
      <div class="branches">
        <svg width={width} height={rows.length * ROW} aria-hidden="true">
          {rows.map((branch, row) => {
            const parent = rows[branch.from];
            if (parent === undefined) return null;
            const [x, y] = [lane(branch), middle(row)];
            const [px, py] = [lane(parent), middle(branch.from)];
            return <path key={branch.session.id} class="branch-line" d={`M${px} ${py}V${y - 10}q0 10 ${x - px} 10`} />;
          })}
          {rows.map((branch, row) => (
            <circle
              key={branch.session.id}
              class={branch.session.id === id ? "branch-dot here" : "branch-dot"}
              cx={lane(branch)}
              cy={middle(row)}
              r={branch.session.id === id ? 5 : 4}
            />
          ))}
        </svg>
        <ul>
          {rows.map(({ session }) => (
            <li key={session.id}>
              <Link to="session" id={session.id} query={{ tab: "branches" }} class={session.id === id ? "here" : ""}>
                <span class="branch-name">
                  <Text>{session.label || plainWords(session.lastWords ?? "", 60) || session.id}</Text>
                </span>
                <span class="dim">
                  {session.id === id ? "This session · " : ""}
                  {plural(session.turns, "turn")} · <When at={session.activeAt} />
                </span>
              </Link>
              {session.state !== "idle" && <Badge state={session.state} />}
              {session.id !== id && (
                <Button kind="quiet" title="Shows both beside each other" onClick={() => setOther(session.id)}>
                  Compare
                </Button>
              )}
            </li>
          ))}
        </ul>
      </div>
      {other !== undefined && <Compare id={id} other={other} onClose={() => setOther(undefined)} />}
      {isPartial && <p class="dim">There are more forks. The list of sessions shows the forks of each.</p>}
    </>
  );
}
