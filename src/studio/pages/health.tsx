// How the store and the workers are, and a search for damage.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { date, duration } from "../format.ts";
import { useLoad } from "../load.ts";
import { Empty, Facts, Figure, Link, Page, Shown, Text } from "../parts/basics.tsx";
import { href } from "../router.ts";
import { client } from "../server.ts";
import type { Status } from "../types.ts";
import { Doctor } from "./health/doctor.tsx";

const AGAIN_MS = 5_000;
/** Numbers of the server stop here. */
const COUNT_MAX = 1_000;
/** A difference of the clocks that a person can notice in times. */
const CLOCK_MS = 2_000;
/** A queued input that is older waits for a worker, and not only for its turn to begin. */
const LAG_MS = 10_000;

interface Measured {
  readonly status: Status;
  /** The clock of the server minus that of this browser. */
  readonly clockMs: number;
}

export function HealthPage(): JSX.Element {
  const [isForbidden, setForbidden] = useState(false);
  return (
    <Page title="Health" about="How the store and the workers are.">
      {isForbidden ? (
        <Empty title="Only for administrators.">
          This page shows the work of all owners. You are logged in as one owner.
        </Empty>
      ) : (
        <Overview onForbidden={() => setForbidden(true)} />
      )}
    </Page>
  );
}

async function measure(signal: AbortSignal): Promise<Measured> {
  const sent = Date.now();
  const status = await client.request("status", { signal });
  return { status, clockMs: status.now - (sent + Date.now()) / 2 };
}

const count = (value: number): string => (value >= COUNT_MAX ? `${COUNT_MAX}+` : String(value));

function Overview({ onForbidden }: { readonly onForbidden: () => void }): JSX.Element {
  const of = useLoad<Measured>("status", measure, { everyMs: AGAIN_MS });
  const isForbidden = of.failure?.code === "server.forbidden";
  useEffect(() => {
    if (isForbidden) onForbidden();
  }, [isForbidden]);
  return (
    <>
      <Shown of={of}>
        {({ status, clockMs }) => {
          const { turns, waits, jobs, oldestQueuedAt, now } = status;
          const lag = oldestQueuedAt === undefined ? 0 : Math.max(0, now - oldestQueuedAt);
          return (
            <>
              <div class="figures even">
                <Figure value={count(turns.running)} name="Running turns" to={href("turns", "", { show: "running" })} />
                <Figure value={count(turns.queued)} name="Queued turns" to={href("turns", "", { show: "queued" })} />
                <Figure value={count(turns.waiting)} name="Waiting turns" to={href("turns", "", { show: "waiting" })} />
                <Figure
                  value={count(turns.interrupted)}
                  name="Interrupted turns"
                  to={href("turns", "", { show: "interrupted" })}
                  {...(turns.interrupted > 0 && { state: "bad" })}
                />
                <Figure
                  value={count(waits)}
                  name="Open waits"
                  to={href("waits")}
                  {...(waits > 0 && { state: "asks" })}
                />
                <Figure value={count(jobs)} name="Live jobs" to={href("jobs")} />
                <Figure
                  value={lag === 0 ? "none" : duration(lag)}
                  name="Oldest queued input"
                  {...(lag > LAG_MS && { state: "bad" })}
                />
              </div>
              <section class="card section">
                <h2>Server</h2>
                <Facts rows={factsOf(status, clockMs)} />
              </section>
              <Workers status={status} />
            </>
          );
        }}
      </Shown>
      <Doctor />
    </>
  );
}

const factsOf = ({ version, store, since, now }: Status, clockMs: number): [string, JSX.Element | string][] => [
  ["Version", `Bowline ${version}`],
  ["Store", <Text key="store">{store}</Text>],
  [
    "Serves for",
    <span key="since" title={`since ${date(since)}`}>
      {duration(now - since)}
    </span>,
  ],
  [
    "Clock of the server",
    Math.abs(clockMs) < CLOCK_MS
      ? "as that of this browser"
      : `${duration(Math.abs(clockMs))} ${clockMs > 0 ? "ahead of" : "behind"} this browser`,
  ],
];

function Workers({ status: { workers, now } }: { readonly status: Status }): JSX.Element {
  return (
    <section class="card section">
      <h2>Workers</h2>
      {workers.length === 0 ? (
        <p class="dim">No process runs a turn or a job now.</p>
      ) : (
        <div class="scroll" tabIndex={0} role="group" aria-label="Workers">
          <table>
            <thead>
              <tr>
                <th>Process</th>
                <th class="number">Turns</th>
                <th class="number">Jobs</th>
                <th class="number">Lease</th>
              </tr>
            </thead>
            <tbody>
              {workers.map(({ name, turns, jobs, until }) => (
                <tr key={name}>
                  <td class="grows">
                    <code title={name}>
                      <Text>{name}</Text>
                    </code>
                  </td>
                  <td class="number">
                    <Link to="turns" query={{ show: "running" }} title="Show the running turns of all processes">
                      {count(turns)}
                    </Link>
                  </td>
                  <td class="number">{count(jobs)}</td>
                  <td class={until !== undefined && until < now ? "number lost" : "number"}>{leaseOf(until, now)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** A process renews its lease as long as it lives. */
function leaseOf(until: number | undefined, now: number): string {
  if (until === undefined) return "–";
  return until < now ? `expired ${duration(now - until)} ago` : `${duration(until - now)} left`;
}
