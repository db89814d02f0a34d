// Subscriptions of all sessions, what started them lately, and events that a person records by hand.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { plural } from "../format.ts";
import { useLoad } from "../load.ts";
import { Button, Empty, Page, Shown, Text } from "../parts/basics.tsx";
import { useListKeys } from "../parts/keys.tsx";
import { VirtualList } from "../parts/virtual.tsx";
import { route, setQuery } from "../router.ts";
import { client } from "../server.ts";
import { Emit } from "./schedules/emit.tsx";
import { Occurrences } from "./schedules/occurrences.tsx";
import { SubscriptionRow } from "./schedules/subscription.tsx";

/** Only commits are facts: times and events are not. */
const AGAIN_MS = 5_000;

export function SchedulesPage(): JSX.Element {
  const { show = "", session, event } = route.value.query;
  const [isEmitting, setEmitting] = useState(false);
  useListKeys();
  const found = useLoad(
    `triggers ${session ?? ""}`,
    (signal) => client.request("listTriggers", { query: session === undefined ? {} : { session }, signal }),
    { everyMs: AGAIN_MS },
  );
  const isHistory = show === "occurrences";
  return (
    <Page
      title="Schedules"
      about={found.data === undefined ? "Work that starts at a time or on an event." : aboutOf(found.data)}
      isFull
      actions={
        <Button icon="send" onClick={() => setEmitting(true)}>
          Record an event
        </Button>
      }
    >
      <div class="tools">
        <div class="choices" role="group" aria-label="What to show">
          <button type="button" aria-pressed={!isHistory} onClick={() => setQuery({ show: "" })}>
            Subscriptions
          </button>
          <button type="button" aria-pressed={isHistory} onClick={() => setQuery({ show: "occurrences" })}>
            Occurrences
          </button>
        </div>
        {[
          ["session", isHistory ? undefined : session],
          ["event", isHistory ? event : undefined],
        ].map(
          ([name, value]) =>
            value !== undefined && (
              <Button key={name} icon="close" onClick={() => setQuery({ [name as string]: "" })}>
                {name}: <Text>{value}</Text>
              </Button>
            ),
        )}
      </div>
      {isHistory ? (
        <Occurrences event={event} subscriptions={found.data ?? []} />
      ) : (
        <Shown of={found}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="There are no subscriptions.">
                A subscription appears here when an app, a tool or a plugin calls <code>triggers.subscribe</code>.
              </Empty>
            ) : (
              <VirtualList
                label="Subscriptions"
                items={all}
                keyOf={({ incarnation }) => incarnation}
                height={64}
                isMeasured
                row={(subscription) => <SubscriptionRow of={subscription} onChange={found.reload} />}
              />
            )
          }
        </Shown>
      )}
      {isEmitting && <Emit subscriptions={found.data ?? []} onClose={() => setEmitting(false)} onDone={found.reload} />}
    </Page>
  );
}

function aboutOf(all: readonly { readonly isEnabled: boolean }[]): string {
  const off = all.filter(({ isEnabled }) => !isEnabled).length;
  return `${plural(all.length, "subscription")}${off === 0 ? "" : `, ${off} disabled`}`;
}
