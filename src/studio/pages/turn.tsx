// One turn: what it was asked, each step with its times, what the model was shown, its journal and its answer.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { date, duration, firstWords, money, shown, tokenCount } from "../format.ts";
import { type Loaded, useAction, useLoad } from "../load.ts";
import { Badge, Button, Code, Empty, Facts, Id, Link, Page, Problem, Shown, Text, When } from "../parts/basics.tsx";
import { useKeys } from "../parts/keys.tsx";
import { SessionName } from "../parts/session-name.tsx";
import { go, href, route, setQuery } from "../router.ts";
import { client } from "../server.ts";
import type { TurnDetails, TurnTimeline } from "../types.ts";
import { Damaged } from "./turn/damaged.tsx";
import { Journal } from "./turn/journal.tsx";
import { Prompts } from "./turn/prompt.tsx";
import { Timeline } from "./turn/timeline.tsx";

const TABS = ["timeline", "prompt", "journal", "answer"] as const;
type Tab = (typeof TABS)[number];
const NAMES: { readonly [T in Tab]: string } = {
  timeline: "Timeline",
  prompt: "Prompt",
  journal: "Journal",
  answer: "Answer",
};

/** How often an open turn is read again: a timeline has all prompts, so a long one is read less often. */
const AGAIN_MS = { short: 1_000, long: 5_000 };
const LONG = 300;

export function TurnPage({ id }: { readonly id: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const turn = useLoad<TurnDetails>(
    `turn ${id}`,
    async (signal) => {
      const found = await client.request("getTurn", { path: { id }, signal });
      setOpen(found.state !== "ended");
      return found;
    },
    { when: (fact) => "turnId" in fact && fact.turnId === id, everyMs: isOpen ? AGAIN_MS.long : undefined },
  );
  const words = turn.data?.input?.map((part) => (part.kind === "text" ? part.text : "")).join(" ");
  return (
    <Page
      title={<Text>{words === undefined || words.trim() === "" ? "Turn" : firstWords(words, 90)}</Text>}
      name={words === undefined ? "Turn" : firstWords(shown(words), 40)}
      isFull
      about={turn.data !== undefined && <About turn={turn.data} />}
      actions={turn.data !== undefined && <Actions turn={turn.data} onCancel={turn.reload} />}
    >
      <Shown of={turn}>{(data) => <Body turn={data} />}</Shown>
    </Page>
  );
}

const About = ({ turn }: { readonly turn: TurnDetails }): JSX.Element => (
  <span class="turn-about">
    <Badge state={turn.outcome?.kind ?? turn.state} />
    <Link to="session" id={turn.sessionId}>
      <SessionName id={turn.sessionId} />
    </Link>
    <Id>{turn.id}</Id>
  </span>
);

// ── Actions ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** So many later turns of the session are looked through for the next one. */
const LATER_MAX = 1_000;

function Actions({ turn, onCancel }: { readonly turn: TurnDetails; readonly onCancel: () => void }): JSX.Element {
  const { id, sessionId, cursor, startedAt } = turn;
  const beside = useLoad(`beside ${id}`, async (signal) => {
    const [older, newer] = await Promise.all([
      client.request("listTurns", { query: { session: sessionId, after: cursor, max: 1 }, signal }),
      client.request("listTurns", { query: { session: sessionId, since: startedAt, max: LATER_MAX }, signal }),
    ]);
    const at = newer.findIndex((each) => each.id === id);
    return { before: older[0]?.id, after: at > 0 ? newer[at - 1]?.id : undefined };
  });
  const { before, after } = beside.data ?? {};
  const to = (turnId: string | undefined): void => {
    const { tab } = route.value.query;
    if (turnId !== undefined) go(href("turn", turnId, { tab }));
  };
  useKeys([
    { keys: "[", name: "Turn before", run: () => to(before) },
    { keys: "]", name: "Turn after", run: () => to(after) },
  ]);
  return (
    <>
      <Button label="Turn before" title="Turn before ([)" isDisabled={before === undefined} onClick={() => to(before)}>
        ←
      </Button>
      <Button label="Turn after" title="Turn after (])" isDisabled={after === undefined} onClick={() => to(after)}>
        →
      </Button>
      {turn.state !== "ended" && <Cancel id={id} onCancel={onCancel} />}
    </>
  );
}

function Cancel({ id, onCancel }: { readonly id: string; readonly onCancel: () => void }): JSX.Element {
  const { isBusy, failure, run } = useAction();
  const [isAsked, setAsked] = useState(false);
  const cancel = async (): Promise<void> => {
    if (await run(() => client.turns.cancel(id, "A person cancelled it in the studio."))) setAsked(true);
    onCancel();
  };
  return (
    <>
      <Button kind="danger" icon="stop" isDisabled={isBusy || isAsked} onClick={() => void cancel()}>
        {isAsked ? "Cancelling …" : "Cancel"}
      </Button>
      {failure !== undefined && <Problem failure={failure} />}
    </>
  );
}

// ── The head and the tabs ───────────────────────────────────────────────────────────────────────────────────────────

function Body({ turn }: { readonly turn: TurnDetails }): JSX.Element {
  const { tab = "timeline" } = route.value.query;
  const [size, setSize] = useState(0);
  const isOpen = turn.state !== "ended";
  const isRunning = turn.state === "running" || turn.state === "waiting";
  const timeline = useLoad<TurnTimeline | undefined>(
    // The page reads the timeline again when the turn begins and when it ends.
    `timeline ${turn.id} ${turn.hasJournal} ${turn.endedAt ?? ""}`,
    async (signal) => {
      if (!turn.hasJournal) return undefined;
      try {
        const found = await client.request("turnTimeline", { path: { id: turn.id }, signal });
        setSize(found.items.length);
        return found;
      } catch (error) {
        setSize(Number.POSITIVE_INFINITY);
        throw error;
      }
    },
    {
      when: (fact) => "turnId" in fact && fact.turnId === turn.id,
      everyMs: !isOpen || turn.state === "queued" ? undefined : size > LONG ? AGAIN_MS.long : AGAIN_MS.short,
    },
  );
  const { outcome } = turn;
  return (
    <div class="turn">
      <Head turn={turn} />
      {(outcome?.kind === "failed" || outcome?.kind === "stopped") && (
        <div class={outcome.kind === "failed" ? "problem" : "notice"}>
          <p>
            <strong>
              {outcome.kind === "failed"
                ? "The turn failed."
                : outcome.code === "turn.cancelled"
                  ? "Cancelled."
                  : `Stopped by ${outcome.by}.`}
            </strong>{" "}
            <Text>{outcome.reason}</Text>
          </p>
          <Id>{outcome.code}</Id>
          {turn.input !== undefined && turn.sentBy === undefined && <Again turn={turn} input={turn.input} />}
        </div>
      )}
      <div class="choices" role="group" aria-label="View">
        {TABS.map((each) => (
          <button key={each} type="button" aria-pressed={each === tab} onClick={() => setQuery({ tab: each, at: "" })}>
            {NAMES[each]}
          </button>
        ))}
      </div>
      {tab === "answer" ? (
        <Answer turn={turn} />
      ) : tab === "journal" ? (
        <WithJournal turn={turn}>
          <Journal id={turn.id} isOpen={isOpen} />
        </WithJournal>
      ) : (
        <WithJournal turn={turn}>
          <Recorded timeline={timeline} turn={turn} isRunning={isRunning} isPrompt={tab === "prompt"} />
        </WithJournal>
      )}
    </div>
  );
}

/** The same key as that of the conversation, so that a message is sent again only once. */
function Again(props: { readonly turn: TurnDetails; readonly input: NonNullable<TurnDetails["input"]> }): JSX.Element {
  const { turn, input } = props;
  const { isBusy, failure, run } = useAction();
  return (
    <>
      <Button
        icon="retry"
        isDisabled={isBusy}
        title="Sends the same message to its session, and opens it. This turn stays in the history."
        onClick={() =>
          void run(async () => {
            await client.send(turn.sessionId, input as never, { key: `again-${turn.id}` });
            go(href("session", turn.sessionId));
          })
        }
      >
        Send again
      </Button>
      {failure !== undefined && <Problem failure={failure} />}
    </>
  );
}

function Head({ turn }: { readonly turn: TurnDetails }): JSX.Element {
  const { startedAt, endedAt, acceptedAt, model, rounds, usage, cost, resumes, sentBy, parentId, children } = turn;
  const end = endedAt ?? (turn.state === "interrupted" ? undefined : Date.now());
  return (
    <Facts
      rows={[
        ["Started", startedAt !== undefined && <When at={startedAt} />],
        [
          "Duration",
          startedAt !== undefined && end !== undefined && (
            <>
              {duration(end - startedAt)}
              {endedAt === undefined && " so far"}
            </>
          ),
        ],
        ["Waited in the queue", acceptedAt !== undefined && duration((startedAt ?? Date.now()) - acceptedAt)],
        ["Model", model !== undefined && <Text>{model}</Text>],
        ["Rounds", rounds],
        [
          "Tokens",
          usage !== undefined && (
            <span
              title={`${usage.input + usage.cacheRead + usage.cacheWrite} in, ${usage.output + usage.reasoning} out`}
            >
              {tokenCount(usage)}
            </span>
          ),
        ],
        ["Cost", cost !== undefined && money(cost)],
        ["Resumes", resumes],
        [
          "Parent",
          parentId !== undefined && (
            <Link to="session" id={parentId}>
              <SessionName id={parentId} />
            </Link>
          ),
        ],
        ["Sent by", sentBy !== undefined && <Sender sentBy={sentBy} />],
        [
          children.length === 1 ? "Child" : "Children",
          children.length > 0 && <Children ids={children} root={turn.sessionId} />,
        ],
        ...Object.entries(turn.metadata ?? {}).map(
          ([name, value]) =>
            [shown(name), <Text>{typeof value === "string" ? value : JSON.stringify(value)}</Text>] as const,
        ),
      ]}
    />
  );
}

const Sender = ({ sentBy }: { readonly sentBy: NonNullable<TurnDetails["sentBy"]> }): JSX.Element =>
  "turnId" in sentBy ? (
    <Link to="turn" id={sentBy.turnId}>
      another turn
    </Link>
  ) : (
    <Link to="job" id={sentBy.jobId}>
      a job
    </Link>
  );

const CHILDREN_SHOWN = 3;
const Children = ({ ids, root }: { readonly ids: readonly string[]; readonly root: string }): JSX.Element => (
  <>
    {ids.slice(0, CHILDREN_SHOWN).map((id, nth) => (
      <span key={id}>
        {nth > 0 && ", "}
        <Link to="session" id={id}>
          <SessionName id={id} />
        </Link>
      </span>
    ))}
    {ids.length > CHILDREN_SHOWN && (
      <>
        {" "}
        and{" "}
        <Link to="agents" id={root}>
          {ids.length - CHILDREN_SHOWN} more
        </Link>
      </>
    )}
  </>
);

// ── What needs the journal ──────────────────────────────────────────────────────────────────────────────────────────

function WithJournal({ turn, children }: { readonly turn: TurnDetails; readonly children: JSX.Element }): JSX.Element {
  if (turn.hasJournal) return children;
  return turn.state === "queued" ? (
    <Empty title="The turn has not started.">
      It runs when the turn before it has ended, in a process that runs turns.
    </Empty>
  ) : (
    <Empty title="The journal of this turn is not kept.">
      Its outcome, times and cost stay. How long journals are kept is an option of the runtime: `keepJournals`.
    </Empty>
  );
}

function Recorded(props: {
  readonly timeline: Loaded<TurnTimeline | undefined>;
  readonly turn: TurnDetails;
  readonly isRunning: boolean;
  readonly isPrompt: boolean;
}): JSX.Element {
  const { timeline, isRunning, isPrompt } = props;
  if (timeline.failure?.code === "store.corrupt" && timeline.data === undefined)
    return <Damaged isOpen={props.turn.state !== "ended"} />;
  return (
    <Shown of={timeline}>
      {(data) =>
        data === undefined ? null : isPrompt ? (
          <Prompts timeline={data} />
        ) : (
          <>
            {!data.isExact && (
              <p class="notice">
                The turn ran with another protocol, other plugins or another version than this server has. Items are
                shown as they were recorded: each begins where the one before it ended.
              </p>
            )}
            <Timeline timeline={data} isRunning={isRunning} />
          </>
        )
      }
    </Shown>
  );
}

// ── The answer ──────────────────────────────────────────────────────────────────────────────────────────────────────

function Answer({ turn }: { readonly turn: TurnDetails }): JSX.Element {
  const { input, outcome, waits } = turn;
  return (
    <div class="scrolls">
      <h2>Input</h2>
      {input === undefined ? (
        <p class="dim">The input is no longer known.</p>
      ) : (
        input.map((part, nth) =>
          part.kind === "text" ? <Code key={nth} value={part.text} label="Input" /> : <Code key={nth} value={part} />,
        )
      )}
      <h2>Answer</h2>
      {outcome === undefined ? (
        <p class="dim">{turn.state === "ended" ? "The answer is no longer known." : "There is no answer yet."}</p>
      ) : outcome.kind === "finished" ? (
        <Code value={outcome.value} label="Value" />
      ) : outcome.text === "" ? (
        <p class="dim">No text.</p>
      ) : (
        <Code value={outcome.text} label="Answer" />
      )}
      {waits.length > 0 && (
        <>
          <h2>Questions</h2>
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th>Call</th>
                  <th>Reason</th>
                  <th>Asked</th>
                  <th>Answer</th>
                </tr>
              </thead>
              <tbody>
                {waits.map(({ id, call, reason, askedAt, answeredAt, how, by }) => (
                  <tr key={id}>
                    <td>
                      <Text>{call.name}</Text>
                    </td>
                    <td>
                      <Text>{reason}</Text>
                    </td>
                    <td>{date(askedAt)}</td>
                    <td>
                      {how === undefined ? (
                        <Link to="waits" query={{ at: id }}>
                          open
                        </Link>
                      ) : (
                        <>
                          {how}
                          {answeredAt !== undefined && ` after ${duration(answeredAt - askedAt)}`}
                          {by !== undefined && (
                            <>
                              {" "}
                              by <Text>{by}</Text>
                            </>
                          )}
                        </>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </div>
  );
}
