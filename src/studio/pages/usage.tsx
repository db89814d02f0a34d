// What turns have spent: in a time, by model, session and tool.
import type { JSX } from "preact";
import { count, duration, money, plural, tokenCount } from "../format.ts";
import { useLoad } from "../load.ts";
import { Empty, Figure, Link, Page, Shown, Text } from "../parts/basics.tsx";
import { href, route, setQuery } from "../router.ts";
import { client } from "../server.ts";
import type { UsageReport } from "../types.ts";
import { Chart } from "./usage/chart.tsx";
import { MEASURES, type Measure, stacked, totalOf } from "./usage/data.ts";
import { Legend, StepTable } from "./usage/tables.tsx";

const HOUR_MS = 3_600_000;
const HOURS = { "24h": 24, "7d": 7 * 24, "30d": 30 * 24 } as const;
const NAMES: { readonly [range: string]: string } = {
  today: "Today",
  yesterday: "Yesterday",
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
  own: "Custom",
};
const MEASURE_NAMES: { readonly [M in Measure]: string } = { cost: "Cost", tokens: "Tokens", turns: "Turns" };
/** A report reads many turns. */
const AGAIN_MS = 30_000;

export function UsagePage(): JSX.Element {
  const { range = "7d", since, until, by } = route.value.query;
  const found = useLoad(
    `usage ${range} ${since ?? ""} ${until ?? ""}`,
    (signal) => client.request("usage", { query: timeOf(range, since, until), signal }),
    { everyMs: AGAIN_MS },
  );
  return (
    <Page title="Usage" about={found.data && aboutOf(found.data)}>
      <div class="tools">
        <div class="choices" role="group" aria-label="Time">
          {Object.entries(NAMES).map(([each, name]) => (
            <button key={each} type="button" aria-pressed={each === range} onClick={() => choose(each)}>
              {name}
            </button>
          ))}
        </div>
        {range === "own" && (
          <>
            <TimeInput name="since" label="From" value={since} />
            <TimeInput name="until" label="To" value={until} />
          </>
        )}
      </div>
      <Shown of={found}>
        {(report) =>
          report.rows.length === 0 ? (
            <Empty title="No turn ended in this time.">Choose a longer time, or start a turn.</Empty>
          ) : (
            <Report report={report} measure={MEASURES.find((each) => each === by) ?? firstMeasure(report)} />
          )
        }
      </Shown>
    </Page>
  );
}

function timeOf(range: string, since: string | undefined, until: string | undefined) {
  if (Object.hasOwn(HOURS, range)) return { since: Date.now() - HOURS[range as keyof typeof HOURS] * HOUR_MS };
  if (range === "today") return { since: midnight(0) };
  if (range === "yesterday") return { since: midnight(-1), until: midnight(0) };
  return { ...timeIn("since", since), ...timeIn("until", until) };
}

/** The end of the year 9999, which a field for a time can show. */
const TIME_MAX = 253_402_300_799_999;
/** A time of the address, if a person can have chosen it. */
function timeIn(name: "since" | "until", value: string | undefined): { readonly [name: string]: number } {
  const at = Math.floor(Number(value));
  return at > 0 && at <= TIME_MAX ? { [name]: at } : {};
}

/** When a day of this browser began: today, or so many days from it. */
const midnight = (days: number): number =>
  new Date(new Date().setDate(new Date().getDate() + days)).setHours(0, 0, 0, 0);

/** A custom time begins with the last day. */
function choose(range: string): void {
  const now = Date.now();
  const own = { since: String(now - 24 * HOUR_MS), until: String(now) };
  setQuery({ range, ...(range === "own" ? own : { since: "", until: "" }) });
}

/** Costs need prices, which some apps do not have. */
const firstMeasure = ({ rows }: UsageReport): Measure =>
  rows.some(({ cost }) => cost !== undefined && cost > 0) ? "cost" : "tokens";

const SHORT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const aboutOf = ({ since, until }: UsageReport): string => `${SHORT.format(since)} – ${SHORT.format(until)}`;

function TimeInput(props: {
  readonly name: "since" | "until";
  readonly label: string;
  readonly value: string | undefined;
}): JSX.Element {
  const { name, label, value } = props;
  const { [name]: at } = timeIn(name, value);
  const local = at && new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  return (
    <label class="time-input">
      {label}
      <input
        type="datetime-local"
        value={local ?? ""}
        onChange={({ currentTarget }) => {
          const time = new Date(currentTarget.value).getTime();
          if (Number.isFinite(time)) setQuery({ [name]: String(time) });
        }}
      />
    </label>
  );
}

function Report({ report, measure }: { readonly report: UsageReport; readonly measure: Measure }): JSX.Element {
  const { turns, failed, tokens, cost } = totalOf(report.rows);
  const data = stacked(report, measure);
  return (
    <>
      {report.isPartial && (
        <p class="note" role="status">
          There are more turns than one report reads. Older turns are left out: choose a shorter time.
        </p>
      )}
      <div class="figures">
        <Figure value={count(turns)} name="Turns" to={turnsOf(report)} />
        <Figure value={count(tokens)} name="Tokens" />
        <Figure value={money(cost)} name={cost === undefined ? "Cost: a price is missing" : "Cost"} />
        <Figure
          value={count(failed)}
          name={failed === 0 ? "Failed or stopped" : `Failed or stopped (${percent(failed / turns)})`}
          {...(failed > 0 && { state: "bad", to: turnsOf(report, { show: "failed" }) })}
        />
      </div>
      <section class="card section">
        <div class="section-head">
          <h2>{MEASURE_NAMES[measure]} by model</h2>
          <div class="choices" role="group" aria-label="What the chart shows">
            {MEASURES.map((each) => (
              <button key={each} type="button" aria-pressed={each === measure} onClick={() => setQuery({ by: each })}>
                {MEASURE_NAMES[each]}
              </button>
            ))}
          </div>
        </div>
        <Chart data={data} measure={measure} name={`${MEASURE_NAMES[measure]} by model`} stepMs={report.stepMs} />
        <Legend series={data.series} turnsOf={(model) => turnsOf(report, { model })} />
        <StepTable data={data} measure={measure} stepMs={report.stepMs} />
      </section>
      <div class="boxes">
        <Sessions sessions={report.sessions} />
        <Tools report={report} />
      </div>
    </>
  );
}

/** The turns of a report. It counts a turn when it ends, and the list when it starts. */
const turnsOf = (
  { since, until }: UsageReport,
  query: { readonly show?: string; readonly model?: string } = {},
): string => href("turns", "", { ...query, since: String(since), until: String(until) });

const percent = (part: number): string => `${(100 * part).toFixed(part < 0.1 ? 1 : 0)}\u00a0%`;

function Sessions({ sessions }: Pick<UsageReport, "sessions">): JSX.Element {
  return (
    <section class="card section">
      <h2>Top sessions</h2>
      <div class="scroll" tabIndex={0} role="group" aria-label="Top sessions">
        <table>
          <thead>
            <tr>
              <th>Session</th>
              <th class="number">Turns</th>
              <th class="number">Tokens</th>
              <th class="number">Cost</th>
            </tr>
          </thead>
          <tbody>
            {sessions.map(({ id, label, turns, usage, cost }) => (
              <tr key={id}>
                <td class="grows">
                  <Link to="session" id={id} title={id}>
                    <Text>{label || id}</Text>
                  </Link>
                </td>
                <td class="number">{count(turns)}</td>
                <td class="number">{tokenCount(usage)}</td>
                <td class="number">{money(cost)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Tools({ report: { tools, toolTurns } }: { readonly report: UsageReport }): JSX.Element {
  return (
    <section class="card section">
      <div class="section-head">
        <h2>Tools</h2>
        <span class="dim">of the latest {plural(toolTurns, "turn")} with a journal</span>
      </div>
      {tools.length === 0 ? (
        <p class="dim">No tool was called, or no journal of this time is kept.</p>
      ) : (
        <div class="scroll" tabIndex={0} role="group" aria-label="Tools">
          <table>
            <thead>
              <tr>
                <th>Tool</th>
                <th class="number">Calls</th>
                <th class="number">Failed</th>
                <th class="number">Mean time</th>
              </tr>
            </thead>
            <tbody>
              {tools.map(({ name, calls, failed, ms }) => (
                <tr key={name}>
                  <td class="grows">
                    <code>
                      <Text>{name}</Text>
                    </code>
                  </td>
                  <td class="number">{count(calls)}</td>
                  <td class={failed > 0 ? "number lost" : "number"}>{count(failed)}</td>
                  <td class="number">{calls === 0 ? "–" : duration(ms / calls)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
