// What happened to a job, from its start to its end, with a bar for the time that each step took.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { clock, date, duration, plural } from "../../format.ts";
import { Button, Code, Link, Text } from "../../parts/basics.tsx";
import type { JobEvent } from "../../types.ts";

/** A task can record thousands of steps: the latest are shown, and more on request. */
const SHOWN = 100;

export function Events(props: {
  readonly events: readonly JobEvent[];
  /** The plugin of its task, if it has one. */
  readonly plugin: string;
  readonly until: number;
}): JSX.Element {
  const { events, plugin, until } = props;
  const [most, setMost] = useState(SHOWN);
  const left = Math.max(0, events.length - most);
  const begun = events[0]?.at ?? until;
  const whole = Math.max(1, until - begun);
  return (
    <>
      {left > 0 && (
        <Button kind="quiet" onClick={() => setMost(most + SHOWN * 10)}>
          Show {plural(Math.min(left, SHOWN * 10), "earlier event")}
        </Button>
      )}
      <ol class="events">
        {events.slice(left).map((event, nth) => {
          const before = events[left + nth - 1]?.at ?? event.at;
          const took = event.at - before;
          const from = (100 * (before - begun)) / whole;
          const size = (100 * took) / whole;
          return (
            <li key={left + nth} class={`event ${event.kind}`}>
              <time class="event-at number" dateTime={new Date(event.at).toISOString()} title={date(event.at)}>
                {clock(event.at)}
              </time>
              <span class="event-mark" aria-hidden="true" />
              <div class="job-event-text">
                {dataOf(event) === undefined ? (
                  <p>{titleOf(event, plugin)}</p>
                ) : (
                  <details>
                    <summary>{titleOf(event, plugin)}</summary>
                    <Code value={dataOf(event)} />
                  </details>
                )}
              </div>
              <span class="event-took number dim">{took > 0 && `+${duration(took)}`}</span>
              <span class="event-track wide" aria-hidden="true">
                <span style={{ left: `${from}%`, width: `${size}%` }} />
              </span>
            </li>
          );
        })}
      </ol>
    </>
  );
}

/** The name of a step without the plugin of its job. */
const stepOf = (name: string, plugin: string): string =>
  name.startsWith(`once/${plugin}/`) ? name.slice(`once/${plugin}/`.length) : name;

function titleOf(event: JobEvent, plugin: string): JSX.Element | string {
  switch (event.kind) {
    case "spawned":
      return "Created";
    case "started":
      return event.generation <= 1 ? "A process started it" : `A process resumed it (start ${event.generation})`;
    case "stepped":
      return (
        <>
          Step{" "}
          <strong>
            <Text>{stepOf(event.name, plugin)}</Text>
          </strong>
        </>
      );
    case "parked":
      return event.due === undefined ? "Parked until the next event" : `Parked until ${date(event.due)}`;
    case "transitioned":
      return event.state === "idle" ? "Idle: it has no work now" : "Works again";
    case "signalled":
      return (
        <>
          Signal{" "}
          <strong>
            <Text>{event.name}</Text>
          </strong>
        </>
      );
    case "resolved":
      return event.answer.kind === "value"
        ? "A wait was answered"
        : event.answer.kind === "timeout"
          ? "A wait timed out"
          : "A wait was revoked";
    case "woke":
      return event.lost === undefined ? "Sent its session a message" : "A message was lost: the job had sent too many";
    case "cancelling":
      return (
        <>
          Cancel requested{event.reason !== "" && ": "}
          <Text>{event.reason}</Text>
        </>
      );
    case "transferred":
      return (
        <>
          Moved to the session{" "}
          <Link to="session" id={event.to}>
            <Text>{event.to}</Text>
          </Link>
        </>
      );
    case "ended":
      return `Ended: ${event.state}`;
  }
}

function dataOf(event: JobEvent): unknown {
  switch (event.kind) {
    case "stepped":
      return event.value;
    case "signalled":
      return event.payload;
    case "resolved":
      return event.answer.kind === "value" ? event.answer.value : undefined;
    default:
      return undefined; // The page shows the input and the result in its own boxes.
  }
}
