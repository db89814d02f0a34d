// All sessions: searched, filtered, the latest first, and kept fresh by the feed.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { money, plainWords, plural, tokenCount } from "../format.ts";
import { usePages } from "../load.ts";
import { Badge, Button, Empty, Id, Page, Problem, Text, When } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { useKeys, useListKeys } from "../parts/keys.tsx";
import { VirtualList } from "../parts/virtual.tsx";
import { go, href, route, setQuery } from "../router.ts";
import { client } from "../server.ts";
import type { SessionSummary } from "../types.ts";

const PAGE = 100;
const STATES = ["", "idle", "running", "waiting", "interrupted"] as const;
const NAMES: { readonly [state: string]: string } = {
  "": "All",
  idle: "Idle",
  running: "Running",
  waiting: "Waiting",
  interrupted: "Interrupted",
};

export function SessionsPage(): JSX.Element {
  const { search = "", state = "", tag, owner, parent, origin } = route.value.query;
  useListKeys();
  useKeys([
    { keys: "/", name: "Search", run: () => document.getElementById("search")?.focus() },
    { keys: "n", name: "New session", run: () => go(href("session")) },
  ]);
  const filter = {
    search: search || undefined,
    state: (state || undefined) as SessionSummary["state"] | undefined,
    tag,
    owner,
    parent,
    origin,
  };
  const isNarrow = Object.values(filter).some((value) => value !== undefined);
  const found = usePages<SessionSummary>(
    JSON.stringify(filter),
    ({ after: before, max }, signal) =>
      client.request("listSessions", {
        // Without a filter only roots are listed: the sessions of subagents are below theirs.
        query: { ...filter, isRoot: isNarrow ? undefined : true, order: "activity", before, max },
        signal,
      }),
    PAGE,
    { when: ({ kind }) => kind === "accepted" || kind === "committed" || kind === "waiting" || kind === "resolved" },
  );
  return (
    <Page
      title="Sessions"
      isFull
      actions={
        <a class="button main" href={href("session")}>
          <Icon name="plus" />
          New session
        </a>
      }
    >
      <div class="tools" role="search">
        <Search value={search} />
        <div class="choices" role="group" aria-label="State">
          {STATES.map((each) => (
            <button key={each} type="button" aria-pressed={each === state} onClick={() => setQuery({ state: each })}>
              {NAMES[each]}
            </button>
          ))}
        </div>
        {[
          ["tag", tag],
          ["owner", owner],
          ["parent", parent],
          ["origin", origin],
        ].map(
          ([name, value]) =>
            value !== undefined && (
              <Button key={name} icon="close" onClick={() => setQuery({ [name as string]: "" })}>
                {name}: <Text>{value}</Text>
              </Button>
            ),
        )}
      </div>
      {found.failure !== undefined && <Problem failure={found.failure} retry={found.reload} />}
      {found.items?.length === 0 ? (
        isNarrow ? (
          <Empty title="No session fits.">
            Search for the beginning of an id, or for words of its label or its last answer.
          </Empty>
        ) : (
          <Empty title="There are no sessions yet.">
            A session appears here when an app or a person sends its first message.
          </Empty>
        )
      ) : (
        <VirtualList
          label="Sessions"
          items={found.items}
          hasFailed={found.failure !== undefined}
          keyOf={({ id }) => id}
          height={60}
          onEnd={found.more}
          row={(session) => <Row session={session} />}
        />
      )}
    </Page>
  );
}

/** What is typed is searched for after a pause. */
const TYPED_MS = 200;

function Search({ value }: { readonly value: string }): JSX.Element {
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  // A link can change what is searched for.
  useEffect(() => {
    if (value !== sent.current) setTyped(value);
    sent.current = value;
  }, [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => {
      sent.current = typed;
      setQuery({ search: typed });
    }, TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <label class="search">
      <Icon name="search" />
      <span class="unseen">Search sessions</span>
      <input
        id="search"
        type="search"
        placeholder="Search by id, label, tag, owner or words"
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </label>
  );
}

function Row({ session }: { readonly session: SessionSummary }): JSX.Element {
  const { id, label, lastWords, state, activeAt, turns, usage, cost, tags = [], owner } = session;
  const title = label || plainWords(lastWords ?? "", 120) || id;
  return (
    <a class="row" data-row href={href("session", id)}>
      <span class="row-main">
        <span class="row-title">
          <Text>{title}</Text>
        </span>
        <span class="row-about">
          <Id>{id}</Id>
          {owner !== undefined && (
            <span class="chip">
              <Text>{owner}</Text>
            </span>
          )}
          {tags.map((each) => (
            <span class="chip" key={each}>
              <Text>{each}</Text>
            </span>
          ))}
        </span>
      </span>
      <Badge state={state} />
      <span class="cell number wide">{turns > 0 && plural(turns, "turn")}</span>
      <span class="cell number wide">{turns > 0 && `${tokenCount(usage)} tokens`}</span>
      <span class="cell number">{turns > 0 && cost !== undefined && `cost ${money(cost)}`}</span>
      <span class="cell when">
        <When at={activeAt} />
      </span>
    </a>
  );
}
