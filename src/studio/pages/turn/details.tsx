// The details of one effect: arguments, result, usage, verdicts, new states, errors.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { clock, date, duration, jsonOf, shown } from "../../format.ts";
import { Button, Code, Facts, Id, Link, Text } from "../../parts/basics.tsx";
import { Diff } from "../../parts/diff.tsx";
import type { TimelineItem } from "../../types.ts";
import { type Keyed, nameOf, type Of, processIn, whyResumed } from "./rows.ts";

interface DetailsProps {
  readonly one: Keyed;
  readonly all: readonly Keyed[];
  readonly onClose: () => void;
}

export function Details({ one, all, onClose }: DetailsProps): JSX.Element {
  const { item } = one;
  const { startedAt, endedAt, effect, error, changes, jobs = [] } = item;
  return (
    <aside class="panel" aria-label="Details">
      <header>
        <div>
          <h2>
            <Text>{nameOf(item)}</Text>
          </h2>
          {effect !== "" && <Id>{effect}</Id>}
        </div>
        <Button kind="quiet" icon="close" label="Close the details" onClick={onClose}>
          {""}
        </Button>
      </header>
      <div class="panel-body">
        {error !== undefined && (
          <div class="problem">
            <p>
              <strong>
                <Text>{error.message}</Text>
              </strong>
              {error.plugin !== undefined && (
                <>
                  {" "}
                  in <Text>{error.plugin}</Text>
                </>
              )}
            </p>
            <Id>{error.code}</Id>
          </div>
        )}
        <Facts
          rows={[
            ["Start", <span title={date(startedAt)}>{clock(startedAt)}</span>],
            ["Duration", endedAt === undefined ? "not ended" : duration(endedAt - startedAt)],
            ["Round", item.round],
            ...factsOf(item),
          ]}
        />
        <Body item={item} all={all} />
        {jobs.length > 0 && (
          <Section title="Started jobs">
            {jobs.map((job) => (
              <p key={job}>
                <Link to="job" id={job}>
                  <Id>{job}</Id>
                </Link>
              </p>
            ))}
          </Section>
        )}
        {Object.entries(changes ?? {}).map(([plugin, state]) => (
          <StateChange key={plugin} plugin={plugin} state={state} before={stateBefore(one, all, plugin)} />
        ))}
      </div>
    </aside>
  );
}

function Section({ title, children }: { readonly title: ComponentChildren; readonly children: ComponentChildren }) {
  return (
    <section class="panel-part">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

type FactRows = readonly (readonly [string, ComponentChildren])[];

function factsOf(item: TimelineItem): FactRows {
  switch (item.kind) {
    case "model": {
      const { attempt, firstMs, finish, usage, waitedMs, model } = item;
      return [
        ["Model", <Text>{model}</Text>],
        ["Attempt", attempt > 1 ? attempt : undefined],
        ["To the first token", firstMs === undefined ? undefined : duration(firstMs)],
        ["Ended by", finish],
        ["Wait before the next attempt", waitedMs === undefined ? undefined : duration(waitedMs)],
        ...(usage === undefined
          ? []
          : ([
              ["Input tokens", usage.input],
              ["From the cache", usage.cacheRead || undefined],
              ["Into the cache", usage.cacheWrite || undefined],
              ["Output tokens", usage.output],
              ["Reasoning tokens", usage.reasoning || undefined],
            ] as const)),
      ];
    }
    case "tool":
      return [
        ["Attempt", item.attempt > 1 ? item.attempt : undefined],
        ["Call", <Id>{item.call.id}</Id>],
      ];
    case "wait":
      return [
        ["Answer", item.how ?? "none yet"],
        ["By", item.by === undefined ? undefined : <Text>{item.by}</Text>],
        ["Until", date(item.until)],
      ];
    case "sleep":
      return [["Until", date(item.until)]];
    case "cell":
      return [["State", item.state]];
    case "resumed":
      return [["By", item.by === undefined ? undefined : <Text>{processIn(item.by)}</Text>]];
    case "hooks":
      return [["Inputs taken", item.inputs || undefined]];
    default:
      return [];
  }
}

const RESUMED = {
  crash:
    "A process died or closed in the middle of its work. This one continues from the journal: what was recorded does not run again.",
  fault: "The process before had left the turn because its store failed.",
  wait: "The turn was parked while it waited. A process continues it from its journal.",
} as const;

function Body({ item, all }: { readonly item: TimelineItem; readonly all: readonly Keyed[] }): JSX.Element | null {
  switch (item.kind) {
    case "model":
      return <ModelBody item={item} />;
    case "tool":
      return <ToolBody item={item} />;
    case "hooks":
      return <HooksBody item={item} />;
    case "cell":
      return (
        <Section title="Code">
          <Code value={item.code} label="Code" />
        </Section>
      );
    case "wait":
      return (
        <>
          {item.endedAt === undefined && item.wants !== "turns" && (
            <p>
              <Link to="waits" query={{ at: item.id }} class="button main">
                Answer it
              </Link>
            </p>
          )}
          {item.reason !== "" && (
            <Section title="Reason">
              <p>
                <Text>{item.reason}</Text>
              </p>
            </Section>
          )}
          {item.call !== undefined && (
            <Section title="Arguments">
              <Code value={item.call.input} label="Arguments" />
            </Section>
          )}
        </>
      );
    case "resumed":
      return <p class="dim">{RESUMED[whyResumed(item, all)]}</p>;
    case "cancelled":
      return (
        <Section title="Reason">
          <p>
            <Text>{item.reason}</Text>
          </p>
        </Section>
      );
    default:
      return null;
  }
}

function ModelBody({ item }: { readonly item: Of<"model"> }): JSX.Element {
  return (
    <>
      {item.failure !== undefined && (
        <Section title="Failure">
          <p class="bad">
            <Text>{item.failure}</Text>
          </p>
        </Section>
      )}
      {(item.parts ?? []).map((part, nth) => {
        if (part.kind === "text" || part.kind === "reasoning")
          return (
            <Section key={nth} title={part.kind === "text" ? "Text" : "Reasoning"}>
              <Code value={part.text} label={part.kind} />
            </Section>
          );
        if (part.kind === "toolCall")
          return (
            <Section
              key={nth}
              title={
                <>
                  Calls <Text>{part.name}</Text>
                </>
              }
            >
              <Code value={part.malformed ?? part.input} label="Arguments" />
            </Section>
          );
        return (
          <Section key={nth} title={part.kind}>
            <Code value={part} />
          </Section>
        );
      })}
    </>
  );
}

function ToolBody({ item }: { readonly item: Of<"tool"> }): JSX.Element {
  const { call, output } = item;
  return (
    <>
      <Section title="Arguments">
        <Code value={call.malformed ?? call.input} label="Arguments" />
      </Section>
      {output?.kind === "value" && (
        <Section title="Result">
          <Code value={output.value} label="Result" />
          {(output.attachments ?? []).map(({ hash, name, mediaType }) => (
            <p key={hash} class="dim">
              <Text>{`${name ?? "Attachment"} · ${mediaType}`}</Text>
            </p>
          ))}
        </Section>
      )}
      {output?.kind === "failure" && (
        <Section title="Failure">
          <p class="bad">
            <Text>{output.failure.message}</Text>
          </p>
          <p class="dim">
            {output.failure.class} · <Id>{output.failure.code}</Id>
            {output.failure.isRetryable && " · safe to retry"}
          </p>
        </Section>
      )}
      {(output?.kind === "cancelled" || output?.kind === "unknown") && (
        <Section title={output.kind === "cancelled" ? "Cancelled" : "Result unknown"}>
          <p>
            <Text>{output.reason}</Text>
          </p>
        </Section>
      )}
      {item.isDeferred && <p class="dim">The tool has returned, and its result comes later: see the wait below it.</p>}
      {item.isInterrupted && <p class="bad">A crash interrupted the call, and its tool must not be repeated.</p>}
    </>
  );
}

function HooksBody({ item }: { readonly item: Of<"hooks"> }): JSX.Element {
  const { verdicts = [], abort, isFrame } = item;
  return (
    <>
      {abort !== undefined && (
        <div class="problem">
          <p>
            <strong>
              <Text>{abort.plugin}</Text> ended the turn.
            </strong>{" "}
            <Text>{abort.message}</Text>
          </p>
          <Id>{abort.code}</Id>
        </div>
      )}
      {isFrame && <p>A new frame began here.</p>}
      {verdicts.length > 0 && (
        <Section title="Verdicts">
          <table>
            <thead>
              <tr>
                <th>Call</th>
                <th>Verdict</th>
                <th>Why</th>
              </tr>
            </thead>
            <tbody>
              {verdicts.map(({ name, verdict, reason, plugin }, nth) => (
                <tr key={nth}>
                  <td>
                    <Text>{name}</Text>
                  </td>
                  <td>{verdict}</td>
                  <td>
                    {reason !== undefined && <Text>{reason}</Text>}
                    {plugin !== undefined && (
                      <div class="dim">
                        <Text>{plugin}</Text>
                      </div>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
      )}
    </>
  );
}

// ── States of plugins ───────────────────────────────────────────────────────────────────────────────────────────────

/** The state that the plugin had after its change before this one, if that was in the same turn. */
function stateBefore(one: Keyed, all: readonly Keyed[], plugin: string): unknown {
  const earlier = all.slice(0, all.indexOf(one));
  return earlier.findLast(({ item }) => item.changes !== undefined && Object.hasOwn(item.changes, plugin))?.item
    .changes?.[plugin];
}

function StateChange(props: {
  readonly plugin: string;
  readonly state: unknown;
  readonly before: unknown;
}): JSX.Element {
  const { plugin, state, before } = props;
  const [isDiff, setDiff] = useState(before !== undefined);
  return (
    <section class="panel-part">
      <div class="panel-line">
        <h3>
          New state of <Text>{plugin}</Text>
        </h3>
        {before !== undefined && (
          <div class="choices" role="group" aria-label="Show">
            <button type="button" aria-pressed={isDiff} onClick={() => setDiff(true)}>
              Changes
            </button>
            <button type="button" aria-pressed={!isDiff} onClick={() => setDiff(false)}>
              Whole
            </button>
          </div>
        )}
      </div>
      {isDiff ? (
        <Diff before={jsonOf(before)} after={jsonOf(state)} />
      ) : (
        <Code value={state} label={`State of ${shown(plugin)}`} />
      )}
      {before === undefined && <p class="dim">The first change in this turn.</p>}
    </section>
  );
}
