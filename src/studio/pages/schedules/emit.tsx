// Records an event by hand, as an app does with `triggers.emit`.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction, useLoad } from "../../load.ts";
import { Problem } from "../../parts/basics.tsx";
import { JsonForm } from "../../parts/json-form.tsx";
import { Dialog } from "../../parts/keys.tsx";
import { client } from "../../server.ts";
import type { Occurrence, Subscription } from "../../types.ts";
import { Deliveries } from "./occurrences.tsx";

export function Emit(props: {
  readonly subscriptions: readonly Subscription[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}): JSX.Element {
  const { subscriptions, onClose, onDone } = props;
  const [event, setEvent] = useState("");
  const [source, setSource] = useState("");
  const [recorded, setRecorded] = useState<Occurrence>();
  const { isBusy, failure, run } = useAction();
  const { data: declared = [] } = useLoad("declared events", declaredEvents);
  const names = new Set([...declared, ...subscriptions.flatMap(({ on }) => (on.kind === "event" ? [on.event] : []))]);
  return (
    <Dialog title="Record an event" onClose={onClose}>
      <div class="confirm">
        <p class="dim">All enabled subscriptions to the event start their work.</p>
        <div class="entry">
          <label for="event">Event</label>
          <input
            id="event"
            list="events"
            autocomplete="off"
            placeholder="mail.received"
            value={event}
            onInput={({ currentTarget }) => setEvent(currentTarget.value.trim())}
          />
          <datalist id="events">
            {[...names].sort().map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </div>
        <div class="entry">
          <label for="source">
            Source <span class="dim">optional</span>
          </label>
          <input id="source" value={source} onInput={({ currentTarget }) => setSource(currentTarget.value)} />
        </div>
        <JsonForm
          schema={{}}
          name="Payload"
          action="Record"
          icon="send"
          isBusy={isBusy || event === ""}
          onSubmit={async (payload) => {
            const body = { ...(payload === undefined ? {} : { payload }), ...(source === "" ? {} : { source }) };
            setRecorded(undefined);
            if (await run(async () => setRecorded(await client.request("emitEvent", { path: { event }, body }))))
              onDone();
          }}
        />
        {failure !== undefined && <Problem failure={failure} />}
        {recorded !== undefined && (
          <p role="status">
            <strong>Recorded.</strong> Started: <Deliveries of={recorded} />
          </p>
        )}
      </div>
    </Dialog>
  );
}

/** Of the plugins of the latest session: events are declared by plugins, and most apps install them everywhere. */
async function declaredEvents(signal: AbortSignal): Promise<readonly string[]> {
  const [latest] = await client.request("listSessions", { query: { order: "activity", max: 1 }, signal });
  if (latest === undefined) return [];
  const plugins = await client.request("sessionPlugins", { path: { id: latest.id }, signal });
  return plugins.flatMap(({ events }) => events);
}
