// A session: its conversation, live, and all that a person can do in it.
import type { ClientInput, RunningTurn } from "bowline/client";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { firstWords, plural } from "../format.ts";
import { useAction, useLoad } from "../load.ts";
import { Badge, Button, Empty, Id, Page, Problem, Text } from "../parts/basics.tsx";
import { useKeys } from "../parts/keys.tsx";
import { route } from "../router.ts";
import { client } from "../server.ts";
import type { TurnRecord } from "../types.ts";
import type { Around } from "./session/around.tsx";
import { Composer } from "./session/composer.tsx";
import {
  type Item,
  isSilent,
  itemOfInput,
  itemOfWait,
  itemsOfMessages,
  itemsOfNodes,
  itemsOfRunning,
  roundOf,
  turnAt,
} from "./session/items.ts";
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

/** In a window that is so wide, the details are beside the conversation. */
const WIDE = "(min-width: 1100px)";

/** A process that runs turns takes a message sooner. */
const UNTAKEN_MS = 3_000;

/** Whether something has been so for some time. */
function useLong(isSo: boolean, ms: number): boolean {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    setLong(false);
    if (!isSo) return;
    const timer = setTimeout(() => setLong(true), ms);
    return () => clearTimeout(timer);
  }, [isSo]);
  return isSo && isLong;
}

function Shown({ id, live }: { readonly id: string; readonly live: Live }): JSX.Element {
  const view = live.view as NonNullable<Live["view"]>;
  const read = view.read as NonNullable<typeof view.read>;
  const isGone = live.failure?.code === "session.unknown" || live.failure?.code === "session.deleted";
  const [isAsideOpen, setAside] = useState(() => matchMedia(WIDE).matches || route.value.query.tab !== undefined);
  const [jumps, setJumps] = useState(0);
  const running = view.turns.find((turn): turn is RunningTurn => turn.kind === "running");
  const older = useOlder(id, view);
  const isUntaken = running === undefined && read.openTurn === undefined && view.inputs.length > 0;
  const summary = useLoad(`summary ${id}`, (signal) => client.request("findSession", { path: { id }, signal }), {
    when: ({ sessionId }) => sessionId === id,
    everyMs: isUntaken ? UNTAKEN_MS : undefined,
  });
  // No process takes the message, for example because none runs turns.
  const isQueued = useLong(isUntaken && summary.data?.state === "idle", UNTAKEN_MS);
  const isWaiting = (running?.waits.length ?? 0) + (view.jobWaits?.length ?? 0) > 0;
  const isBusy = running !== undefined || read.openTurn !== undefined || view.inputs.length > 0;
  const isMoving = running !== undefined && running.parts.length + Number(running.retrying !== undefined) > 0;
  // The summary comes a moment later than the view.
  const stored = summary.data?.state ?? "idle";
  const busy = isMoving || stored === "idle" ? "running" : stored;
  const state = isWaiting ? "waiting" : isQueued ? "queued" : isBusy ? busy : "idle";
  const { base, items, more } = useItems(id, live, older, running, isBusy && state === "running");
  const { around, children, toggleAll, isAllOpen } = useAround(id, live);
  useKeys([
    { keys: "e", name: "Unfold or fold all", run: toggleAll },
    { keys: "l", name: "Jump to the latest message", run: () => setJumps((n) => n + 1) },
    { keys: "d", name: "Show or hide the details", run: () => setAside((is) => !is) },
    ...(isAsideOpen && !matchMedia(WIDE).matches
      ? [{ keys: "Escape", name: "Hide the details", run: () => setAside(false) }]
      : NONE),
  ]);

  const title = read.config.label || firstWords(openingOf(read), TITLE_MAX) || id;
  return (
    <Page
      title={<Text>{title}</Text>}
      name={title}
      isFull
      about={
        <span class="session-about">
          <Badge state={isGone ? "off" : state}>{isGone ? "deleted" : state}</Badge>
          {title !== id && <Id>{id}</Id>}
          <span class="session-turns">{plural(read.turns, "turn")}</span>
        </span>
      }
      actions={
        <>
          <Button kind="quiet" onClick={toggleAll}>
            {isAllOpen ? "Fold all" : "Unfold all"}
          </Button>
          <Button onClick={() => setAside(!isAsideOpen)} icon="menu">
            Details
          </Button>
        </>
      }
    >
      <div class={isAsideOpen ? "session-page with-details" : "session-page"}>
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
              onStart={more}
              jumps={jumps}
              target={route.value.query.node}
              row={(item) => <Row item={item} around={around} />}
            />
          )}
          <p class="unseen" role="status">
            {isWaiting
              ? "The session waits for an answer."
              : isQueued
                ? "The message waits for a process that runs turns."
                : isBusy
                  ? "A turn runs."
                  : "No turn runs."}
          </p>
          <Composer
            session={id}
            make={async () => id}
            isBusy={isBusy && !isQueued}
            isDisabled={isGone}
            onSent={() => setJumps((n) => n + 1)}
          />
        </div>
        {isAsideOpen && (
          <Side id={id} view={view} children={children} isGone={isGone} onClose={() => setAside(false)} />
        )}
      </div>
    </Page>
  );
}

const TITLE_MAX = 60;

/** What a person said first, where it is among the messages: a later frame begins with something else. */
function openingOf({ messages, frame, openTurn }: NonNullable<NonNullable<Live["view"]>["read"]>): string {
  const first = messages[0] ?? openTurn?.messages[0];
  if (frame !== undefined || first?.role !== "user") return "";
  return first.parts.flatMap((part) => (part.kind === "text" ? [part.text.slice(0, 200)] : [])).join(" ");
}

const Notice = ({ children }: { readonly children: ComponentChildren }): JSX.Element => (
  <p class="session-notice" role="status">
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
const MESSAGES = 300;
const WORKING: Item = { key: "working", kind: "working" };

function useItems(id: string, { view }: Live, older: Older, running: RunningTurn | undefined, isRunning: boolean) {
  const { read, inputs = NONE, jobWaits = NONE } = view ?? {};
  const messages = read?.messages ?? NONE;
  // A frame can be long: its older messages become items when the list comes near them.
  const first = messages[0]?.id;
  const [hiding, setHiding] = useState({ first, hidden: Math.max(0, messages.length - MESSAGES) });
  const wanted = hiding.first === first ? hiding.hidden : Math.max(0, messages.length - MESSAGES);
  const hidden = messages.length === 0 ? 0 : turnAt(messages, Math.min(wanted, messages.length - 1));
  useEffect(() => setHiding({ first, hidden: wanted }), [first]);
  const more = (): void => (hidden > 0 ? setHiding({ first, hidden: Math.max(0, hidden - MESSAGES) }) : older.more());
  const settled = useMemo(() => itemsOfMessages(messages.slice(hidden)), [messages, hidden]);
  const before = useMemo(() => itemsOfNodes(hidden > 0 ? NONE : older.nodes, first), [older.nodes, first, hidden]);
  const base = useMemo(() => [...before, ...settled], [before, settled]);

  const turn = read?.openTurn;
  const open = turn !== undefined && (running === undefined || running.id === turn.id) ? turn.messages : NONE;
  const shown = new Set(open.map(({ origin }) => (origin?.kind === "input" ? origin.inputId : undefined)));
  const fresh = inputs.filter((input) => input.message !== undefined && !shown.has(input.id));
  const now = running?.id ?? turn?.id;
  // No fact reports that a running turn has taken an input. It does so between its rounds.
  const round = running?.parts.at(-1)?.effect ?? "";
  const names = fresh.map((input) => input.id).join();
  const still = useLoad(`inputs ${id} ${names} ${roundOf(round)}`, async (signal) =>
    names === "" ? [] : client.request("listInputs", { path: { id }, signal }),
  );
  const taken = useRef(new Map<string, number>());
  const opens = (input: ClientInput): boolean => now !== undefined && input.turnId === now;
  for (const input of fresh)
    if (!opens(input) && still.data?.every((each) => each.id !== input.id) === true && !taken.current.has(input.id))
      taken.current.set(input.id, roundOf(round));
  const ofInput = (input: ClientInput, isWaiting: boolean): Item =>
    itemOfInput(input.id, input.message?.parts ?? NONE, isWaiting, now !== undefined);
  const said = fresh.flatMap((input) => {
    const before = opens(input) ? 0 : taken.current.get(input.id);
    return before === undefined ? [] : [{ before, item: ofInput(input, false) }];
  });
  const waiting = fresh.filter((input) => !opens(input) && !taken.current.has(input.id));
  const shows = itemsOfRunning(running, open, said);
  const tail = [
    ...shows,
    ...(isRunning && isSilent(shows.at(-1)) ? [WORKING] : NONE),
    ...waiting.map((input) => ofInput(input, true)),
    ...jobWaits.map(itemOfWait),
  ];
  return { base, items: tail.length === 0 ? base : [...base, ...tail], more };
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
  return { around, children, toggleAll, isAllOpen: all === true };
}
