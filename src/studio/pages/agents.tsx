// The tree of sessions below a root, such as an agent with its subagents, and what all of them have spent.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { count, money, plainWords, plural, tokenCount } from "../format.ts";
import { useLoad } from "../load.ts";
import { Badge, Button, Empty, Figure, Link, Page, Problem, Shown, Text, When } from "../parts/basics.tsx";
import { useKeys } from "../parts/keys.tsx";
import { SessionName } from "../parts/session-name.tsx";
import { go, href } from "../router.ts";
import { client, type Fact } from "../server.ts";
import { RootsPage } from "./agents/roots.tsx";
import { type Branches, type TreeRow, treeRows } from "./agents/rows.ts";
import { titleOf } from "./agents/title.ts";
import { type Tree, useTree } from "./agents/tree.ts";

export const AgentsPage = ({ id }: { readonly id: string }): JSX.Element =>
  id === "" ? <RootsPage /> : <TreePage root={id} />;

const WAITS_MAX = 1_000;

function TreePage({ root }: { readonly root: string }): JSX.Element {
  const tree = useTree(root);
  const isOf = ({ sessionId }: Fact): boolean => tree.branches.has(sessionId);
  const usage = useLoad(`usage ${root}`, (signal) => client.request("sessionUsage", { path: { id: root }, signal }), {
    when: (fact) => fact.kind === "committed" && isOf(fact),
  });
  const waits = useLoad(
    `waits ${root}`,
    (signal) => client.request("listWaits", { query: { tree: root, max: WAITS_MAX }, signal }),
    { when: (fact) => fact.kind !== "accepted" && isOf(fact) },
  );
  const waiting = new Map<string, number>();
  for (const { sessionId } of waits.data ?? []) waiting.set(sessionId, (waiting.get(sessionId) ?? 0) + 1);
  const all = [...tree.branches.values()];
  const running = all.filter(({ session }) => session.state === "running").length;
  const waitCount = waits.data?.length ?? 0;
  const isWhole = all.every(({ children, hasMore }) => children !== undefined && hasMore !== true);
  return (
    <Page
      title="Agents"
      about={
        <>
          Below{" "}
          <Link to="session" id={root}>
            <SessionName id={root} />
          </Link>
        </>
      }
      actions={
        <a class="button" href={href("agents")}>
          All trees
        </a>
      }
    >
      {tree.failure === undefined && (
        <Shown of={usage}>
          {({ usage: spent, cost }) => (
            <div class="figures">
              <Figure
                value={`${count(all.length)}${isWhole ? "" : "+"}`}
                name={all.length === 1 ? "session" : "sessions"}
              />
              <Figure value={running} name="running now" />
              <Figure
                value={count(waitCount)}
                name={waitCount === 1 ? "wait" : "waits"}
                {...(waitCount > 0 ? { state: "asks" as const } : {})}
              />
              <Figure value={tokenCount(spent)} name="tokens" />
              {cost !== undefined && <Figure value={money(cost)} name="cost" />}
            </div>
          )}
        </Shown>
      )}
      {tree.failure !== undefined && <Problem failure={tree.failure} retry={tree.reload} />}
      <TreeView tree={tree} root={root} waiting={waiting} />
    </Page>
  );
}

// ── The tree ────────────────────────────────────────────────────────────────────────────────────────────────────────

function TreeView(props: {
  readonly tree: Tree;
  readonly root: string;
  readonly waiting: ReadonlyMap<string, number>;
}): JSX.Element | null {
  const { tree, root, waiting } = props;
  const rows = treeRows(tree.branches, root);
  const [current, setCurrent] = useState(root);
  const at = Math.max(
    0,
    rows.findIndex((row) => row.kind === "session" && row.id === current),
  );
  useEffect(() => {
    if (rows.length > 0 && !rows.some(({ id }) => id === current)) setCurrent(root);
  }, [rows.length]);
  const isAlone = tree.branches.get(root)?.children?.length === 0;

  const focus = (row: TreeRow | undefined): void => {
    if (row === undefined) return;
    setCurrent(row.id);
    const element = document.querySelector<HTMLElement>(`[data-tree="${CSS.escape(row.id)}"]`);
    element?.focus();
    element?.scrollIntoView({ block: "nearest" });
  };
  const move = (step: number): void => {
    const sessions = rows.filter(({ kind }) => kind === "session");
    focus(sessions[sessions.findIndex(({ id }) => id === current) + step]);
  };
  useKeys([
    { keys: "j", name: "Next session", run: () => move(1) },
    { keys: "k", name: "Previous session", run: () => move(-1) },
  ]);
  /** The keys of the ARIA tree pattern. */
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const sessions = rows.filter(({ kind }) => kind === "session");
    const here = sessions.findIndex(({ id }) => id === current);
    const row = sessions[here];
    const branch = tree.branches.get(current);
    if (row === undefined || branch === undefined) return;
    const does: { readonly [key: string]: () => void } = {
      ArrowDown: () => focus(sessions[here + 1]),
      ArrowUp: () => focus(sessions[here - 1]),
      Home: () => focus(sessions[0]),
      End: () => focus(sessions.at(-1)),
      ArrowRight: () => (branch.isOpen ? focus(childOf(sessions, here)) : tree.toggle(current, true)),
      ArrowLeft: () => (branch.isOpen ? tree.toggle(current, false) : focus(parentIn(sessions, here))),
      Enter: () => go(href("session", current)),
    };
    const run = does[event.key];
    if (run === undefined || (event.target as HTMLElement).closest("a, button") !== null) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  };

  if (rows.length === 0) return null;
  return (
    <>
      <div class="tree" role="tree" aria-label="Sessions" onKeyDown={onKey}>
        {rows.map((row, nth) =>
          row.kind === "more" ? (
            <div class="tree-row" key={`more ${row.id}`} role="treeitem" aria-level={row.depth + 1} tabIndex={-1}>
              <Lines lines={row.lines} />
              <Button kind="quiet" onClick={() => tree.more(row.id)}>
                Show more
              </Button>
            </div>
          ) : (
            <Item
              key={row.id}
              row={row}
              branches={tree.branches}
              waits={waiting.get(row.id) ?? 0}
              isCurrent={nth === at}
              onFocus={() => setCurrent(row.id)}
              onToggle={(isOpen) => tree.toggle(row.id, isOpen)}
            />
          ),
        )}
      </div>
      {isAlone && (
        <Empty title="This session has no children.">
          Its subagents, and sessions that an app creates below it, appear here.
        </Empty>
      )}
    </>
  );
}

const childOf = (rows: readonly TreeRow[], at: number): TreeRow | undefined =>
  rows[at + 1]?.depth === rows[at]!.depth + 1 ? rows[at + 1] : undefined;
const parentIn = (rows: readonly TreeRow[], at: number): TreeRow | undefined =>
  rows.slice(0, at).findLast(({ depth }) => depth < rows[at]!.depth);

/** The lines from the parents to their children. */
const Lines = ({ lines }: { readonly lines: readonly boolean[] }): JSX.Element => (
  <>
    {lines.map((goesOn, nth) => {
      const isLast = nth === lines.length - 1;
      return <span key={nth} class={`tree-line ${isLast ? "branch" : ""} ${goesOn ? "on" : ""}`} aria-hidden="true" />;
    })}
  </>
);

interface ItemProps {
  readonly row: TreeRow;
  readonly branches: Branches;
  readonly waits: number;
  readonly isCurrent: boolean;
  readonly onFocus: () => void;
  readonly onToggle: (isOpen: boolean) => void;
}

const WORDS = 100;

function Item({ row, branches, waits, isCurrent, onFocus, onToggle }: ItemProps): JSX.Element {
  const { session, isOpen, children, failure } = branches.get(row.id)!;
  const { id, label, state, lastWords, turns, cost, openTurn, activeAt } = session;
  const isLeaf = children?.length === 0;
  return (
    <div
      class="tree-row"
      role="treeitem"
      data-tree={id}
      tabIndex={isCurrent ? 0 : -1}
      aria-level={row.depth + 1}
      aria-posinset={row.position}
      aria-setsize={row.size}
      aria-expanded={isLeaf ? undefined : isOpen}
      aria-selected={isCurrent}
      onFocus={onFocus}
    >
      <Lines lines={row.lines} />
      <button
        type="button"
        class="tree-fold"
        tabIndex={-1}
        aria-label={isOpen ? "Close" : "Open"}
        disabled={isLeaf}
        onClick={() => onToggle(!isOpen)}
      >
        {isLeaf ? "" : "▸"}
      </button>
      <span class="row-main">
        <span class="row-title">
          <Link to="session" id={id}>
            <Text>{titleOf(session)}</Text>
          </Link>
        </span>
        <span class="row-about dim">
          {failure !== undefined ? (
            <span class="bad">Its children cannot be read: {failure.title}</span>
          ) : (
            label !== undefined && lastWords !== undefined && <Text>{plainWords(lastWords, WORDS)}</Text>
          )}
        </span>
      </span>
      {waits > 0 && (
        <Link to="waits" class="count" title="Open the questions">
          {plural(waits, "wait")}
        </Link>
      )}
      {openTurn !== undefined && (
        <Link to="turn" id={openTurn} class="tree-turn">
          open turn
        </Link>
      )}
      <Badge state={state} />
      <span class="cell number wide">{plural(turns, "turn")}</span>
      <span class="cell number wide">{cost === undefined ? "" : money(cost)}</span>
      <span class="cell when">
        <When at={activeAt} />
      </span>
    </div>
  );
}
