// What happened, the latest first, and the work that it started.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { firstWords, jsonOf } from "../../format.ts";
import { usePages } from "../../load.ts";
import { Button, Code, Empty, Id, Link, Problem, Text, When } from "../../parts/basics.tsx";
import { VirtualList } from "../../parts/virtual.tsx";
import { setQuery } from "../../router.ts";
import { client } from "../../server.ts";
import type { Occurrence, Subscription } from "../../types.ts";

const PAGE = 100;
const AGAIN_MS = 5_000;
type Listed = Occurrence & { readonly cursor: string };

export function Occurrences(props: {
  readonly event: string | undefined;
  readonly subscriptions: readonly Subscription[];
}): JSX.Element {
  const { event, subscriptions } = props;
  const found = usePages<Listed>(
    `occurrences ${event ?? ""}`,
    async ({ after, max }, signal) => {
      const query = { max, ...(event && { event }), ...(after && { before: after }) };
      const all = await client.request("listOccurrences", { query, signal });
      return all.map((each) => ({ ...each, cursor: each.id }));
    },
    PAGE,
    { everyMs: AGAIN_MS },
  );
  if (found.failure?.code === "server.forbidden")
    return <Empty title="Only administrators see occurrences.">Events belong to no session and to no owner.</Empty>;
  return (
    <>
      {found.failure !== undefined && <Problem failure={found.failure} retry={found.reload} />}
      {found.items?.length === 0 ? (
        <Empty title={event === undefined ? "Nothing has occurred yet." : "This event has not occurred."}>
          An occurrence is a time of a schedule, an event, or a commit that a subscription waits for.
        </Empty>
      ) : (
        <VirtualList
          label="Occurrences"
          items={found.items}
          hasFailed={found.failure !== undefined}
          keyOf={({ id }) => id}
          height={60}
          isMeasured
          onEnd={found.more}
          row={(occurrence) => <Row of={occurrence} subscriptions={subscriptions} />}
        />
      )}
    </>
  );
}

function Row({ of, subscriptions }: { readonly of: Occurrence; readonly subscriptions: readonly Subscription[] }) {
  const [isOpen, setOpen] = useState(false);
  const event = eventIn(of.source);
  return (
    <div class="row occurrence" data-row tabIndex={-1}>
      <div class="row-main">
        <span class="row-title">
          {event === undefined ? (
            <Text>{nameOf(of, subscriptions)}</Text>
          ) : (
            <button type="button" class="as-link" onClick={() => setQuery({ event })}>
              <Text>{event}</Text>
            </button>
          )}
        </span>
        <span class="row-about">
          <span class="chip">{kindOf(of)}</span>
          <code class="id">
            <Text>{firstWords(jsonOf(of.payload), 120)}</Text>
          </code>
        </span>
      </div>
      <div class="starts">
        <Deliveries of={of} />
      </div>
      <span class="cell when">
        <When at={of.at} />
      </span>
      <Button
        kind="quiet"
        label="Payload"
        onClick={() => setOpen(!isOpen)}
        title="Payload"
        icon={isOpen ? "close" : "down"}
      >
        {""}
      </Button>
      {isOpen && (
        <div class="row-note">
          <Code value={of.payload} label="Payload" />
        </div>
      )}
    </div>
  );
}

const eventIn = (source: string): string | undefined =>
  source.startsWith("event:") ? source.slice("event:".length) : undefined;

/** The payload of a time has the time, and that of a commit has the turn. */
const kindOf = ({ source, payload }: Occurrence): string =>
  eventIn(source) !== undefined ? "event" : Object.hasOwn(Object(payload), "turnId") ? "commit" : "time";

/** The label of its subscription, which may have been removed since. */
function nameOf({ source, deliveries }: Occurrence, subscriptions: readonly Subscription[]): string {
  const known = subscriptions.find(({ incarnation }) => source === `subscription:${incarnation}`);
  return known?.label || deliveries[0]?.subscription || "A removed subscription";
}

const SHOWN = 4;

/** Links to what an occurrence started. */
export function Deliveries({ of: { deliveries } }: { readonly of: Occurrence }): JSX.Element {
  if (deliveries.length === 0) return <span class="dim">nothing</span>;
  const more = deliveries.length - SHOWN;
  return (
    <span class="deliveries">
      {deliveries.slice(0, SHOWN).map(({ sessionId, subscription, jobId, turnId, lost }) => (
        <span key={`${sessionId} ${subscription}`}>
          {lost !== undefined ? (
            <span class="lost" title="The session had too many live jobs or waiting inputs.">
              lost: the session is full
            </span>
          ) : turnId !== undefined ? (
            <Link to="turn" id={turnId}>
              turn
            </Link>
          ) : (
            jobId !== undefined && (
              <Link to="job" id={jobId}>
                job
              </Link>
            )
          )}{" "}
          <span class="dim">
            in <Id>{sessionId}</Id>
          </span>
        </span>
      ))}
      {more > 0 && <span class="dim">and {more} more</span>}
    </span>
  );
}
