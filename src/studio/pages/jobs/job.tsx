// One job: what it is, what happened to it, what it waits for, and what a person can do about it.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { date, duration, plural, shown } from "../../format.ts";
import { type Loaded, useLoad } from "../../load.ts";
import { Button, Code, Empty, Facts, Id, Link, Page, Shown, Text, When } from "../../parts/basics.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { client } from "../../server.ts";
import type { Job, JobEvent, Wait } from "../../types.ts";
import { Events } from "./events.tsx";
import { Signals } from "./signals.tsx";
import { isLive, JobBadge } from "./state.tsx";

/** Not all events of jobs are facts. */
const LIVE_MS = 2_000;
const RELATED_MAX = 1_000;

interface Found {
  readonly job: Job;
  readonly events: readonly JobEvent[];
  readonly waits: readonly Wait[];
}

export function JobPage({ id }: { readonly id: string }): JSX.Element {
  const [isOver, setOver] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const found = useLoad<Found>(`job ${id}`, (signal) => load(id, signal), { everyMs: isOver ? undefined : LIVE_MS });
  const job = found.data?.job;
  useEffect(() => {
    if (job !== undefined) setOver(!isLive(job));
  }, [job]);
  const name = job === undefined ? "Job" : shown(job.label);
  return (
    <Page
      title={
        <span class="titled">
          {name} {job !== undefined && <JobBadge job={job} isWaiting={found.data?.waits.length !== 0} />}
        </span>
      }
      name={name}
      about={<Id>{id}</Id>}
      actions={
        job !== undefined &&
        isLive(job) && (
          <Button kind="danger" icon="stop" isDisabled={job.cancel !== undefined} onClick={() => setAsking(true)}>
            Cancel
          </Button>
        )
      }
    >
      {found.failure?.code === "job.unknown" ? (
        <Empty title="There is no such job.">
          It was removed, or its session was deleted. <Link to="jobs">All jobs</Link>
        </Empty>
      ) : (
        <Shown of={found}>{(data) => <Details of={found} {...data} />}</Shown>
      )}
      {isAsking && job !== undefined && (
        <Cancel job={job} onClose={() => setAsking(false)} onDone={() => found.reload()} />
      )}
    </Page>
  );
}

async function load(id: string, signal: AbortSignal): Promise<Found> {
  const [job, events] = await Promise.all([
    client.request("getJob", { path: { id }, signal }),
    client.request("jobEvents", { path: { id }, signal }),
  ]);
  if (!isLive(job)) return { job, events, waits: [] };
  const waits = await client.request("listWaits", { query: { session: job.sessionId, max: RELATED_MAX }, signal });
  return { job, events, waits: waits.filter(({ jobId }) => jobId === id) };
}

function Details({ job, events, waits, of }: Found & { readonly of: Loaded<Found> }): JSX.Element {
  const { error, result, input, about, delivers, signals = {} } = job;
  return (
    <>
      {error !== undefined && (
        <div class="problem">
          <p>
            <strong>{job.state === "failed" ? "The job failed." : `The job ended as ${job.state}.`}</strong>{" "}
            <Text>{error.message}</Text>
          </p>
          <code>
            <Text>{error.code}</Text>
          </code>
        </div>
      )}
      {waits.map((wait) => (
        <div class="waits-for" key={wait.id}>
          <p>
            <strong>Waits for {WAITED[wait.kind]}</strong> <Text>{wait.reason === "" ? wait.tool : wait.reason}</Text>
          </p>
          <Link to="waits" query={{ at: wait.id }} class="button">
            Answer
          </Link>
        </div>
      ))}
      {job.isElsewhere === true && isLive(job) && (
        <p class="note">
          No plugin of this process has <code>{shown(job.operation ?? "")}</code>. The job waits for a process that has
          it.
        </p>
      )}
      <Facts rows={factsOf(job)} />
      {isLive(job) && Object.keys(signals).length > 0 && (
        <Section title="Signals">
          <div class="signals">
            <Signals job={job} onSent={of.reload} />
          </div>
        </Section>
      )}
      <Section title="Events">
        <Events
          events={events}
          plugin={job.operation?.slice(0, job.operation.lastIndexOf(".")) ?? ""}
          until={job.endedAt ?? Math.max(Date.now(), events.at(-1)?.at ?? 0)}
        />
      </Section>
      <div class="boxes">
        {input !== undefined && (
          <Section title="Input">
            <Code value={input} label="Input" />
          </Section>
        )}
        {delivers !== undefined && (
          <Section title="Delivers">
            <Code value={delivers.message} label="Delivered input" />
          </Section>
        )}
        {result !== undefined && (
          <Section title="Result">
            <Code value={result} label="Result" />
          </Section>
        )}
        {about !== undefined && (
          <Section title="About">
            <Code value={about} label="About" />
          </Section>
        )}
      </div>
      <Children job={job} />
    </>
  );
}

const WAITED: { readonly [K in Wait["kind"]]: string } = {
  approval: "an approval:",
  result: "a result:",
  question: "an answer:",
  interrupted: "a decision about an interrupted call:",
};

const RECOVERIES: { readonly [R in Job["recovery"]]: string } = {
  rerunnable: "resumes in any process with its plugin",
  "owner-bound": "ends with its process",
  external: "runs outside of the runtime",
};
const WAKES: { readonly [W in Job["wake"]]: string } = {
  none: "nothing",
  notify: "a message for the next turn",
  wake: "a turn",
};

function factsOf(job: Job): [string, ComponentChildren][] {
  const { parent, childId, startedAt, endedAt, notBefore, cancel, delivers } = job;
  return [
    ["Kind", job.visibility === "hidden" ? `${job.kind}, hidden from models` : job.kind],
    [
      "Session",
      <Link to="session" id={job.sessionId}>
        <Text>{job.sessionId}</Text>
      </Link>,
    ],
    [
      "Started by",
      parent &&
        ("turnId" in parent ? (
          <Link to="turn" id={parent.turnId}>
            Turn <Id>{parent.turnId}</Id>
          </Link>
        ) : (
          <Link to="job" id={parent.jobId}>
            Job <Id>{parent.jobId}</Id>
          </Link>
        )),
    ],
    [
      "Session of the subagent",
      childId && (
        <Link to="session" id={childId}>
          <Text>{childId}</Text>
        </Link>
      ),
    ],
    [
      "Turn that it opens",
      delivers && endedAt !== undefined && (
        <Link to="turn" id={delivers.turnId}>
          <Id>{delivers.turnId}</Id>
        </Link>
      ),
    ],
    ["Task", job.operation && <Text>{job.operation}</Text>],
    ["Created", <When at={job.createdAt} />],
    ["Not before", notBefore !== undefined && date(notBefore)],
    ["Ended", endedAt !== undefined && <When at={endedAt} />],
    ["Time", startedAt !== undefined && duration((endedAt ?? Math.max(Date.now(), startedAt)) - startedAt)],
    ["Progress", `${plural(job.steps, "step")}, ${plural(job.starts, "start")}`],
    ["Messages to its session", job.wakes > 0 && String(job.wakes)],
    ["After a crash", RECOVERIES[job.recovery]],
    ["Its end starts", WAKES[job.wake]],
    ["When its parent ends", parent && (job.onParentEnd === "cancel" ? "it is cancelled" : "it continues")],
    [
      "Cancel requested",
      cancel && (
        <>
          <When at={cancel.at} />
          {cancel.reason !== "" && ": "}
          <Text>{cancel.reason}</Text>
        </>
      ),
    ],
  ];
}

const Section = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => (
  <section class="section">
    <h2>{title}</h2>
    {children}
  </section>
);

/** The jobs that this one started in its session. */
function Children({ job }: { readonly job: Job }): JSX.Element | null {
  const { data = [] } = useLoad(`children of ${job.id} ${job.state}`, async (signal) => {
    const query = { session: job.sessionId, max: RELATED_MAX };
    const jobs = await client.request("listJobs", { query, signal });
    return jobs.filter(({ parent }) => parent !== undefined && "jobId" in parent && parent.jobId === job.id);
  });
  if (data.length === 0) return null;
  return (
    <Section title="Jobs that it started">
      <ul class="lines">
        {data.map((child) => (
          <li key={child.id}>
            <Link to="job" id={child.id}>
              <Text>{child.label}</Text>
            </Link>
            <JobBadge job={child} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Cancel(props: { readonly job: Job; readonly onClose: () => void; readonly onDone: () => void }): JSX.Element {
  const { job, onClose, onDone } = props;
  const [reason, setReason] = useState("");
  return (
    <Confirm
      title="Cancel this job?"
      action="Cancel the job"
      onClose={onClose}
      run={async () => {
        await client.request("cancelJob", { path: { id: job.id }, body: reason === "" ? {} : { reason } });
        onDone();
      }}
    >
      <p>
        “<Text>{job.label}</Text>” ends as cancelled. Its recorded steps stay in its record.
      </p>
      <div class="entry">
        <label for="cancel-reason">
          Reason <span class="dim">optional</span>
        </label>
        <input id="cancel-reason" value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
      </div>
    </Confirm>
  );
}
