// The turns of all sessions: the latest first, or the slowest first.
import type { JSX } from "preact";
import { duration, money, plural, shown, tokenCount } from "../format.ts";
import { usePages } from "../load.ts";
import { Badge, Button, Empty, Id, Page, Problem, Text, When } from "../parts/basics.tsx";
import { useListKeys } from "../parts/keys.tsx";
import { SessionName } from "../parts/session-name.tsx";
import { VirtualList } from "../parts/virtual.tsx";
import { href, route, setQuery } from "../router.ts";
import { client } from "../server.ts";
import type { TurnRecord } from "../types.ts";

const PAGE = 100;
/** The server lists turns by time: the slowest are found among so many of the latest. */
const SORTED_MAX = 1_000;

type Filter = Partial<Pick<TurnRecord, "state" | "outcome">>;
const KINDS: { readonly [show: string]: { readonly name: string; readonly filter: Filter } } = {
  "": { name: "All", filter: {} },
  running: { name: "Running", filter: { state: "running" } },
  queued: { name: "Queued", filter: { state: "queued" } },
  waiting: { name: "Waiting", filter: { state: "waiting" } },
  interrupted: { name: "Interrupted", filter: { state: "interrupted" } },
  answered: { name: "Answered", filter: { outcome: "answered" } },
  finished: { name: "Finished", filter: { outcome: "finished" } },
  stopped: { name: "Stopped", filter: { outcome: "stopped" } },
  failed: { name: "Failed", filter: { outcome: "failed" } },
};

export function TurnsPage(): JSX.Element {
  const { show = "", order, model, session, since, until } = route.value.query;
  const isSlowest = order === "slowest";
  useListKeys();
  const query = {
    ...KINDS[show]?.filter,
    ...{ model, session },
    ...(Number(since) > 0 && { since: Number(since) }),
    ...(Number(until) > 0 && { until: Number(until) }),
  };
  const found = usePages<TurnRecord>(
    JSON.stringify([query, isSlowest]),
    ({ after, max }, signal) => client.request("listTurns", { query: { ...query, after, max }, signal }),
    isSlowest ? SORTED_MAX : PAGE,
    { when: ({ kind }) => kind === "accepted" || kind === "committed" || kind === "waiting" || kind === "resolved" },
  );
  const items = found.items && isSlowest ? slowest(found.items.slice(0, SORTED_MAX)) : found.items;
  const isNarrow = show !== "" || Object.keys(query).some((name) => query[name as keyof typeof query] !== undefined);
  const longest = longestOf(items ?? []);
  return (
    <Page
      title="Turns"
      isFull
      about={
        isSlowest && found.items !== undefined && found.items.length >= SORTED_MAX
          ? `The slowest of the latest ${SORTED_MAX}.`
          : "What the agents did, step by step: open a turn for its timeline."
      }
    >
      <div class="tools">
        <div class="choices" role="group" aria-label="State or outcome">
          {Object.entries(KINDS).map(([each, { name }]) => (
            <button key={each} type="button" aria-pressed={each === show} onClick={() => setQuery({ show: each })}>
              {name}
            </button>
          ))}
        </div>
        <div class="choices" role="group" aria-label="Order">
          <button type="button" aria-pressed={!isSlowest} onClick={() => setQuery({ order: "" })}>
            Latest
          </button>
          <button type="button" aria-pressed={isSlowest} onClick={() => setQuery({ order: "slowest" })}>
            Slowest
          </button>
        </div>
        {(
          [
            ["model", model, model],
            ["session", session, session],
            ["since", since, dayOf(since)],
            ["until", until, dayOf(until)],
          ] as const
        ).map(
          ([name, value, text]) =>
            value !== undefined &&
            text !== undefined && (
              <Button key={name} icon="close" onClick={() => setQuery({ [name]: "" })}>
                {name}: <Text>{text}</Text>
              </Button>
            ),
        )}
      </div>
      {found.failure !== undefined && <Problem failure={found.failure} retry={found.reload} />}
      {items?.length === 0 ? (
        isNarrow ? (
          <Empty title="No turn fits.">Choose another state, or remove a filter.</Empty>
        ) : (
          <Empty title="There are no turns yet.">A turn begins when an app or a person sends a message.</Empty>
        )
      ) : (
        <VirtualList
          label="Turns"
          items={items}
          keyOf={({ id }) => id}
          height={60}
          onEnd={isSlowest ? undefined : found.more}
          row={(turn) => <Row turn={turn} longest={longest} />}
        />
      )}
    </Page>
  );
}

const SHORT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const dayOf = (at: string | undefined): string | undefined => (Number(at) > 0 ? SHORT.format(Number(at)) : undefined);

/** How long it took, or has taken so far. A process that died left no end. */
function timeOf({ state, startedAt, endedAt }: TurnRecord): number | undefined {
  if (startedAt === undefined || state === "interrupted") return undefined;
  return Math.max(0, (endedAt ?? Date.now()) - startedAt);
}

/** For the bars. A turn that waits for a person waits longer than any work takes. */
const longestOf = (turns: readonly TurnRecord[]): number =>
  turns.reduce((most, turn) => (turn.state === "waiting" ? most : Math.max(most, timeOf(turn) ?? 0)), 0);

const slowest = (turns: readonly TurnRecord[]): readonly TurnRecord[] =>
  turns.toSorted((a, b) => (timeOf(b) ?? -1) - (timeOf(a) ?? -1));

function Row({ turn, longest }: { readonly turn: TurnRecord; readonly longest: number }): JSX.Element {
  const { id, sessionId, state, outcome, code, acceptedAt, startedAt, model, rounds, usage, cost } = turn;
  const took = timeOf(turn);
  const at = startedAt ?? acceptedAt;
  return (
    <a class="row" data-row href={href("turn", id)}>
      <span class="row-main">
        <span class="row-title">
          <SessionName id={sessionId} />
        </span>
        <span class="row-about">
          {model !== undefined && (
            <span class="chip">
              <Text>{model}</Text>
            </span>
          )}
          {code !== undefined && <code class="row-code">{shown(code)}</code>}
          <span class="wide">
            <Id>{id}</Id>
          </span>
        </span>
      </span>
      <Badge state={state === "ended" ? (outcome ?? "ended") : state} />
      <span class="cell number wide">{rounds !== undefined && plural(rounds, "round")}</span>
      <span class="cell number wide">{usage !== undefined && `${tokenCount(usage)} tokens`}</span>
      <span class="cell number">{cost !== undefined && `cost ${money(cost)}`}</span>
      <span class="cell took">
        {took !== undefined && (
          <>
            {duration(took)}
            <i class="took-bar" data-state={state} aria-hidden="true">
              <i style={{ width: `${longest === 0 ? 0 : Math.min(100, (100 * took) / longest)}%` }} />
            </i>
          </>
        )}
      </span>
      <span class="cell when wide">{at !== undefined && <When at={at} />}</span>
    </a>
  );
}
