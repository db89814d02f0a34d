// The sessions that have started others, to choose from.
import type { JSX } from "preact";
import { plural } from "../../format.ts";
import { useLoad } from "../../load.ts";
import { Badge, Empty, Id, Page, Problem, Text, When } from "../../parts/basics.tsx";
import { useListKeys } from "../../parts/keys.tsx";
import { VirtualList } from "../../parts/virtual.tsx";
import { href } from "../../router.ts";
import { client } from "../../server.ts";
import type { SessionSummary } from "../../types.ts";
import { titleOf } from "./title.ts";

/** So many of the latest sessions are looked through for children. */
const SCAN = 1_000;
const ROOTS_MAX = 100;

interface Root {
  readonly session: SessionSummary;
  /** Descendants among the sessions that were looked through. */
  readonly below: number;
  readonly running: number;
  readonly waiting: number;
  readonly activeAt: number;
}

export function RootsPage(): JSX.Element {
  useListKeys();
  const found = useLoad("roots", roots, { when: ({ kind }) => kind === "committed" || kind === "waiting" });
  return (
    <Page
      title="Agents"
      about={`Sessions that have started other sessions, such as subagents${found.data?.isWhole === false ? `, among the latest ${SCAN}` : ""}.`}
      isFull
    >
      {found.failure !== undefined && <Problem failure={found.failure} retry={found.reload} />}
      {found.data?.roots.length === 0 ? (
        <Empty title="No session has children.">
          {found.data.isWhole
            ? "A tree appears here when a model starts subagents, or an app creates child sessions."
            : `Only the latest ${SCAN} sessions were looked through.`}
        </Empty>
      ) : (
        <VirtualList
          label="Roots"
          items={found.data?.roots}
          hasFailed={found.failure !== undefined}
          keyOf={({ session }) => session.id}
          height={60}
          row={({ session, below, running, waiting, activeAt }) => (
            <a class="row" data-row href={href("agents", session.id)}>
              <span class="row-main">
                <span class="row-title">
                  <Text>{titleOf(session)}</Text>
                </span>
                <span class="row-about">
                  <Id>{session.id}</Id>
                </span>
              </span>
              {running > 0 && <Badge state="running">{running} running</Badge>}
              {waiting > 0 && <Badge state="waiting">{waiting} waiting</Badge>}
              {running === 0 && waiting === 0 && <Badge state={session.state} />}
              <span class="cell number">{plural(below, "descendant")}</span>
              <span class="cell when">
                <When at={activeAt} />
              </span>
            </a>
          )}
        />
      )}
    </Page>
  );
}

async function roots(signal: AbortSignal): Promise<{ readonly roots: readonly Root[]; readonly isWhole: boolean }> {
  const list = (order: "activity") => client.request("listSessions", { query: { order, max: SCAN }, signal });
  const sessions = await list("activity");
  const known = new Map<string, SessionSummary>(sessions.map((session) => [session.id, session]));
  const find = async (id: string): Promise<SessionSummary | undefined> => {
    const session =
      known.get(id) ?? (await client.request("findSession", { path: { id }, signal }).catch(() => undefined));
    if (session !== undefined) known.set(id, session);
    return session;
  };
  const trees = new Map<string, Root>();
  for (const session of sessions) {
    let root: SessionSummary | undefined = session;
    while (root?.parentId !== undefined) root = await find(root.parentId);
    if (root === undefined || (root === session && !trees.has(root.id))) continue;
    const before = trees.get(root.id);
    if (before === undefined && trees.size === ROOTS_MAX) continue;
    const count = (state: SessionSummary["state"]): number => (session.state === state ? 1 : 0);
    trees.set(root.id, {
      session: root,
      below: (before?.below ?? 0) + (session === root ? 0 : 1),
      running: (before?.running ?? 0) + count("running"),
      waiting: (before?.waiting ?? 0) + count("waiting"),
      activeAt: Math.max(before?.activeAt ?? root.activeAt, session.activeAt),
    });
  }
  return {
    roots: [...trees.values()].sort((a, b) => b.activeAt - a.activeAt),
    isWhole: sessions.length < SCAN,
  };
}
