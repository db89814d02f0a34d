// A session: its conversation, live, and all that a person can do in it.
import type { RunningTurn } from "bowline/client";
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { plural } from "../format.ts";
import { useAction, useLoad } from "../load.ts";
import { Badge, Button, Empty, Id, Page, Problem, Text } from "../parts/basics.tsx";
import { useKeys } from "../parts/keys.tsx";
import { route } from "../router.ts";
import { client } from "../server.ts";
import type { TurnRecord } from "../types.ts";
import type { Around } from "./session/around.tsx";
import { Composer } from "./session/composer.tsx";
import { itemOfInput, itemOfWait, itemsOfMessages, itemsOfNodes, itemsOfRunning } from "./session/items.ts";
import { type Live, type Older, useLive, useOlder, useTurns } from "./session/live.ts";
import { NewSession } from "./session/new.tsx";
import { Row } from "./session/rows.tsx";
import { Side } from "./session/side.tsx";
import { Talk } from "./session/talk.tsx";

export function SessionPage({ id }: { readonly id: string }): JSX.Element {
  return id === "" ? <NewSession /> : <OpenSession id={id} />;
}

function OpenSession({ id }: { readonly id: string }): JSX.Element {
  const live = useLive(id);
  const { view, failure, reload } = live;
  if (view?.read !== undefined) return <Shown id={id} live={live} />;
  return (
    <Page title={<Text>{id}</Text>} name={id} isFull>
      {failure === undefined ? (
        <div class="placeholder talk-placeholder" role="status" aria-label="Loading">
          <span />
          <span />
          <span />
        </div>
      ) : failure.code === "session.unknown" ? (
        <Unknown id={id} onMade={reload} />
      ) : failure.code === "session.deleted" ? (
        <Empty title="This session was deleted.">Its id cannot be used again.</Empty>
      ) : (
        <Problem failure={failure} retry={reload} />
      )}
    </Page>
  );
}

function Unknown({ id, onMade }: { readonly id: string; readonly onMade: () => void }): JSX.Element {
  const { run, failure, isBusy } = useAction();
  return (
    <div class="unknown">
      <Empty title="There is no session with this id.">It may have been deleted, or the link is not complete.</Empty>
      <Button
        isDisabled={isBusy}
        onClick={() => void run(async () => client.sessions.create({ id, ifExists: "take" }).then(onMade))}
      >
        Create it
      </Button>
      {failure !== undefined && <Problem failure={failure} />}
    </div>
  );
}

/** In a window that is so wide, the details stand beside the conversation. */
const WIDE = "(min-width: 1100px)";

function Shown({ id, live }: { readonly id: string; readonly live: Live }): JSX.Element {
  const view = live.view as NonNullable<Live["view"]>;
  const read = view.read as NonNullable<typeof view.read>;
  const isGone = live.failure?.code === "session.unknown" || live.failure?.code === "session.deleted";
  const [isAsideOpen, setAside] = useState(() => matchMedia(WIDE).matches || route.value.query.tab !== undefined);
  const [jumps, setJumps] = useState(0);
  const running = view.turns.find((turn): turn is RunningTurn => turn.kind === "running");
  const older = useOlder(id, view);
  const { base, items } = useItems(id, live, older, running);
  const around = useAround(id, live);
  useKeys([
    { keys: "e", name: "Unfold or fold all", run: around.toggleAll },
    { keys: "l", name: "Jump to the latest message", run: () => setJumps((n) => n + 1) },
    { keys: "d", name: "Show or hide the details", run: () => setAside((is) => !is) },
  ]);

  const summary = useLoad(`summary ${id}`, (signal) => client.request("findSession", { path: { id }, signal }), {
    when: ({ sessionId }) => sessionId === id,
  });
  const isWaiting = (running?.waits.length ?? 0) + (view.jobWaits?.length ?? 0) > 0;
  const isBusy = running !== undefined || read.openTurn !== undefined || view.inputs.length > 0;
  const isMoving = running !== undefined && running.parts.length + Number(running.retrying !== undefined) > 0;
  const state = isWaiting ? "waiting" : isMoving ? "running" : isBusy ? (summary.data?.state ?? "running") : "idle";
  const title = read.config.label ?? id;
  return (
    <Page
      title={<Text>{title}</Text>}
      name={title}
      isFull
      about={
        <span class="session-about">
          <Badge state={isGone ? "off" : state}>{isGone ? "deleted" : state}</Badge>
          {read.config.label !== undefined && <Id>{id}</Id>}
          <span>{plural(read.turns, "turn")}</span>
        </span>
      }
      actions={
        <>
          <Button kind="quiet" onClick={around.toggleAll}>
            {around.isAllOpen ? "Fold all" : "Unfold all"}
          </Button>
          <Button onClick={() => setAside(!isAsideOpen)} icon="menu">
            Details
          </Button>
        </>
      }
    >
      <div class={isAsideOpen ? "session with-details" : "session"}>
        <div class="session-main">
          {isGone && (
            <Notice>
              This session was deleted. Its last state is still shown here, and nothing can be sent to it.
            </Notice>
          )}
          {live.failure !== undefined && !isGone && <Problem failure={live.failure} retry={live.reload} />}
          {items.length === 0 && older.isWhole ? (
            <Empty title="Nothing has been said here yet.">The first message opens a turn.</Empty>
          ) : (
            <Talk
              items={items}
              base={base}
              isBusy={isBusy && !isWaiting}
              start={<Start older={older} />}
              onStart={older.more}
              jumps={jumps}
              target={route.value.query.node}
              row={(item) => <Row item={item} around={around} />}
            />
          )}
          <p class="unseen" role="status">
            {isWaiting ? "The session waits for an answer." : isBusy ? "A turn runs." : "No turn runs."}
          </p>
          <Composer
            session={id}
            make={async () => id}
            isBusy={isBusy}
            isDisabled={isGone}
            onSent={() => setJumps((n) => n + 1)}
          />
        </div>
        {isAsideOpen && (
          <Side id={id} view={view} children={around.children} isGone={isGone} onClose={() => setAside(false)} />
        )}
      </div>
    </Page>
  );
}

const Notice = ({ children }: { readonly children: ComponentChildren }): JSX.Element => (
  <p class="notice" role="status">
    {children}
  </p>
);

function Start({ older }: { readonly older: Older }): JSX.Element | null {
  if (older.failure !== undefined) return <Problem failure={older.failure} retry={older.more} />;
  if (!older.isWhole) return <p class="talk-start dim">Loading older messages …</p>;
  return null;
}

// ── Items ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const NONE: readonly never[] = [];

function useItems(id: string, { view }: Live, older: Older, running: RunningTurn | undefined) {
  const { read, inputs = NONE, jobWaits = NONE } = view ?? {};
  const messages = read?.messages ?? NONE;
  const settled = useMemo(() => itemsOfMessages(messages), [messages]);
  const before = useMemo(() => itemsOfNodes(older.nodes, messages[0]?.id), [older.nodes, messages[0]?.id]);
  const base = useMemo(() => [...before, ...settled], [before, settled]);

  const turn = read?.openTurn;
  const open = turn !== undefined && (running === undefined || running.id === turn.id) ? turn.messages : NONE;
  const taken = new Set(open.map(({ origin }) => (origin?.kind === "input" ? origin.inputId : undefined)));
  const fresh = inputs.filter((input) => input.message !== undefined && !taken.has(input.id));
  const now = running?.id ?? turn?.id;
  // No fact tells that a running turn has taken an input. It does so between its rounds.
  const round = running?.parts.at(-1)?.effect.split(".", 1)[0] ?? "";
  const names = fresh.map((input) => input.id).join();
  const still = useLoad(`inputs ${id} ${names} ${round}`, async (signal) =>
    names === "" ? [] : client.request("listInputs", { path: { id }, signal }),
  );
  const isWaiting = (input: (typeof inputs)[number]): boolean =>
    input.turnId !== now && (still.data === undefined || still.data.some((each) => each.id === input.id));
  const tail = [
    ...itemsOfRunning(running, open),
    ...fresh.map((input) => itemOfInput(input.id, input.message?.parts ?? [], isWaiting(input), now !== undefined)),
    ...jobWaits.map(itemOfWait),
  ];
  return { base, items: tail.length === 0 ? base : [...base, ...tail] };
}

// ── What rows need ──────────────────────────────────────────────────────────────────────────────────────────────────

const CHILDREN_MAX = 200;

function useAround(id: string, { view }: Live) {
  const turns = useTurns(id, view);
  const opened = useRef(new Map<string, boolean>());
  const [all, setAll] = useState<boolean>();
  const [version, setVersion] = useState(0);
  const found = useLoad(
    `children ${id}`,
    (signal) => client.request("listSessions", { query: { parent: id, max: CHILDREN_MAX }, signal }),
    { when: ({ sessionId, kind }) => sessionId === id && kind === "committed" },
  );
  const children = found.data ?? NONE;
  const around = useMemo(
    (): Around => ({
      session: id,
      isOpen: (key) => opened.current.get(key) ?? all,
      setOpen: (key, isOpen) => {
        opened.current.set(key, isOpen);
        setVersion((n) => n + 1);
      },
      turn: (turnId) => turns.get(turnId),
      wantTurn: (turnId) => turns.want(turnId),
      childrenOf: ({ startedAt = 0, endedAt = 0 }: TurnRecord) =>
        children.flatMap((child) => (child.createdAt >= startedAt && child.createdAt <= endedAt ? [child.id] : [])),
    }),
    [id, all, version, turns, turns.version, children],
  );
  const toggleAll = (): void => {
    opened.current.clear();
    setAll(all !== true);
  };
  return { ...around, children, toggleAll, isAllOpen: all === true };
}
