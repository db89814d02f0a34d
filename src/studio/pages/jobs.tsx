// All jobs: those that work now, or all of them.
import type { JSX } from "preact";
import { ago, plural } from "../format.ts";
import { useLoad, usePages } from "../load.ts";
import { Button, Empty, Id, Page, Problem, Text, When } from "../parts/basics.tsx";
import { useListKeys } from "../parts/keys.tsx";
import { SessionName } from "../parts/session-name.tsx";
import { VirtualList } from "../parts/virtual.tsx";
import { href, route, setQuery } from "../router.ts";
import { client } from "../server.ts";
import type { Job } from "../types.ts";
import { JobBadge } from "./jobs/state.tsx";

export { JobPage } from "./jobs/job.tsx";

const PAGE = 1_000;
/** Jobs have no facts. All jobs are a long answer, so they are asked for less often. */
const LIVE_MS = 2_000;
const ALL_MS = 10_000;

type Listed = Job & { readonly cursor: string };

export function JobsPage(): JSX.Element {
  const { show = "live", session } = route.value.query;
  const isLive = show !== "all";
  useListKeys();
  const found = usePages<Listed>(
    `jobs ${isLive} ${session ?? ""}`,
    async ({ after, max }, signal) => {
      const query = { max, ...(session && { session }), ...(isLive && { isLive }), ...(after && { after }) };
      const jobs = await client.request("listJobs", { query, signal });
      return jobs.map((job) => ({ ...job, cursor: job.id }));
    },
    PAGE,
    { everyMs: isLive ? LIVE_MS : ALL_MS },
  );
  const waits = useLoad("job waits", (signal) => client.request("listWaits", { query: { max: PAGE }, signal }), {
    when: ({ kind }) => kind === "waiting" || kind === "resolved",
  });
  const waiting = new Set<string | undefined>(waits.data?.map(({ jobId }) => jobId));
  const isWhole = found.items !== undefined && found.items.length % PAGE !== 0;
  return (
    <Page
      title="Jobs"
      about={found.items === undefined ? "Work beside turns." : aboutOf(found.items.length, isLive, isWhole)}
      isFull
    >
      <div class="tools">
        <div class="choices" role="group" aria-label="Jobs to show">
          <button type="button" aria-pressed={isLive} onClick={() => setQuery({ show: "" })}>
            Live
          </button>
          <button type="button" aria-pressed={!isLive} onClick={() => setQuery({ show: "all" })}>
            All
          </button>
        </div>
        {session !== undefined && (
          <Button icon="close" onClick={() => setQuery({ session: "" })}>
            session: <Text>{session}</Text>
          </Button>
        )}
      </div>
      {found.failure !== undefined && <Problem failure={found.failure} retry={found.reload} />}
      {found.items?.length === 0 ? (
        <Empty title={isLive ? "No job is live." : "There are no jobs yet."}>
          {isLive ? (
            <Button onClick={() => setQuery({ show: "all" })}>Show all jobs</Button>
          ) : (
            "A job appears here when an app, a tool or a schedule starts work beside turns."
          )}
        </Empty>
      ) : (
        <VirtualList
          label="Jobs"
          items={found.items && (isWhole ? ordered(found.items) : found.items)}
          hasFailed={found.failure !== undefined}
          keyOf={({ id }) => id}
          height={60}
          onEnd={found.more}
          row={(job) => <Row job={job} isWaiting={waiting.has(job.id)} />}
        />
      )}
    </Page>
  );
}

/** The server lists jobs in the order of their start. */
function aboutOf(count: number, isLive: boolean, isWhole: boolean): string {
  const jobs = isLive ? `${plural(count, "live job")}` : plural(count, "job");
  return isWhole || count === 0 ? jobs : `More than ${count - 1} jobs, the oldest first`;
}

/** Live jobs first, and the latest first among both. */
function ordered(jobs: readonly Listed[]): readonly Listed[] {
  const isOver = ({ endedAt }: Job): number => Number(endedAt !== undefined);
  return jobs.toReversed().sort((a, b) => isOver(a) - isOver(b));
}

function Row({ job, isWaiting }: { readonly job: Listed; readonly isWaiting: boolean }): JSX.Element {
  const { id, label, kind, sessionId, parent, steps, starts, createdAt, notBefore = 0 } = job;
  return (
    <a class="row" data-row href={href("job", id)}>
      <span class="row-main">
        <span class="row-title">
          <Text>{label}</Text>
        </span>
        <span class="row-about">
          <span class="chip">{kind}</span>
          <span class="row-of">
            in <SessionName id={sessionId} />
          </span>
          {parent !== undefined && <span class="row-of wide">from a {"turnId" in parent ? "turn" : "job"}</span>}
          <span class="wide">
            <Id>{id}</Id>
          </span>
        </span>
      </span>
      <JobBadge job={job} isWaiting={isWaiting} />
      <span class="cell number wide">{steps > 0 && plural(steps, "step")}</span>
      <span class="cell number wide">{starts > 1 && plural(starts, "start")}</span>
      <span class="cell when">
        {job.endedAt === undefined && notBefore > Date.now() ? ago(notBefore) : <When at={createdAt} />}
      </span>
    </a>
  );
}
