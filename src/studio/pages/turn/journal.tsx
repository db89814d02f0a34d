// The recorded events of a turn as they are, for those who look for a fault.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { clock, firstWords, shown } from "../../format.ts";
import { useLoad } from "../../load.ts";
import { Button, Code, Empty, Id, Shown, Text } from "../../parts/basics.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useKeys, useListKeys } from "../../parts/keys.tsx";
import { VirtualList } from "../../parts/virtual.tsx";
import { route, setQuery } from "../../router.ts";
import { client } from "../../server.ts";
import { Damaged } from "./damaged.tsx";

type Journaled = Awaited<ReturnType<typeof load>>[number];
const load = (id: string, signal: AbortSignal) => client.request("turnJournal", { path: { id }, signal });
const ROW = 36;
const AGAIN_MS = 5_000;
/** A row shows so much of an event. */
const SHOWN = 200;

interface Row {
  readonly nth: number;
  readonly event: Journaled;
  /** All of it, for the search. */
  readonly text: string;
}

export function Journal({ id, isOpen }: { readonly id: string; readonly isOpen: boolean }): JSX.Element {
  const journal = useLoad(`journal ${id}`, (signal) => load(id, signal), { everyMs: isOpen ? AGAIN_MS : undefined });
  if (journal.failure?.code === "store.corrupt" && journal.data === undefined) return <Damaged isOpen={isOpen} />;
  return <Shown of={journal}>{(events) => <Events events={events} />}</Shown>;
}

function Events({ events }: { readonly events: readonly Journaled[] }): JSX.Element {
  const [search, setSearch] = useState("");
  const [kind, setKind] = useState("");
  useListKeys();
  useKeys([
    { keys: "/", name: "Search events", run: () => document.getElementById("events")?.focus() },
    { keys: "Escape", name: "Close the event", run: () => setQuery({ at: "" }) },
  ]);
  const rows = useMemo(() => events.map((event, nth): Row => ({ nth, event, text: JSON.stringify(event) })), [events]);
  const kinds = useMemo(() => [...new Set(events.map((event) => event.kind))].sort(), [events]);
  const wanted = search.toLowerCase();
  const found = rows.filter(
    ({ event, text }) => (kind === "" || event.kind === kind) && (wanted === "" || text.toLowerCase().includes(wanted)),
  );
  const { at } = route.value.query;
  const one = rows.find(({ nth }) => String(nth) === at);
  return (
    <div class={one === undefined ? "split" : "split open"}>
      <section class="events" aria-label="Journal">
        <div class="tools" role="search">
          <label class="search">
            <Icon name="search" />
            <span class="unseen">Search events</span>
            <input
              id="events"
              type="search"
              placeholder="Search events"
              value={search}
              onInput={({ currentTarget }) => setSearch(currentTarget.value)}
            />
          </label>
          <select
            aria-label="Kind of event"
            value={kind}
            onChange={({ currentTarget }) => setKind(currentTarget.value)}
          >
            <option value="">All kinds</option>
            {kinds.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
          <span class="dim">
            {found.length} of {rows.length}
          </span>
        </div>
        {found.length === 0 ? (
          <Empty title="No event fits." />
        ) : (
          <VirtualList
            label="Events"
            items={found}
            keyOf={({ nth }) => String(nth)}
            height={ROW}
            row={({ nth, event, text }) => (
              <button
                type="button"
                class={`event-row ${String(nth) === at ? "selected" : ""}`}
                data-row
                aria-pressed={String(nth) === at}
                onClick={() => setQuery({ at: String(nth) === at ? "" : String(nth) })}
              >
                <span class="number dim">{nth}</span>
                <span class="dim wide">{clock(event.at)}</span>
                <strong>{event.kind}</strong>
                <code class="id">{"effect" in event ? shown(event.effect) : ""}</code>
                <code class="event-text wide">{shown(firstWords(text.slice(0, SHOWN * 2), SHOWN))}</code>
              </button>
            )}
          />
        )}
      </section>
      {one !== undefined && (
        <aside class="panel" aria-label="Event">
          <header>
            <div>
              <h2>
                <Text>{one.event.kind}</Text>
              </h2>
              {"effect" in one.event && <Id>{one.event.effect}</Id>}
            </div>
            <Button kind="quiet" icon="close" label="Close the event" onClick={() => setQuery({ at: "" })}>
              {""}
            </Button>
          </header>
          <div class="panel-body">
            <Code key={one.nth} value={one.event} label="Event" />
          </div>
        </aside>
      )}
    </div>
  );
}
