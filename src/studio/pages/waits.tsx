// Everything that waits for a person, in all sessions, the oldest first. Answers are given in place.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { exactly, firstWords } from "../format.ts";
import { useLoad, usePages } from "../load.ts";
import { Button, Empty, Link, Page, Problem, Shown, Text, When } from "../parts/basics.tsx";
import { useKeys } from "../parts/keys.tsx";
import { SessionName } from "../parts/session-name.tsx";
import { VirtualList } from "../parts/virtual.tsx";
import { WAIT_KINDS, WaitCard } from "../parts/wait-card.tsx";
import { route, setQuery } from "../router.ts";
import { client } from "../server.ts";
import type { Wait } from "../types.ts";

const PAGE = 200;
const ROW = 56;
const KINDS = ["", "approval", "question", "result", "interrupted"] as const;
const NAMES: { readonly [kind: string]: string } = {
  "": "All",
  approval: "Approvals",
  question: "Questions",
  result: "Results",
  interrupted: "Interrupted",
};
const isWide = (): boolean => matchMedia("(min-width: 761px)").matches;

type Listed = Wait & { readonly cursor: string };
type Row = { readonly key: string } & (
  | { readonly root: string; readonly count: number }
  | { readonly wait: Listed; readonly isBelow: boolean }
);

export function WaitsPage(): JSX.Element {
  const { at = "", kind: named } = route.value.query;
  const kind = KINDS.find((each) => each === named) ?? "";
  const found = usePages<Listed>(
    "waits",
    async ({ after, max }, signal) => {
      const waits = await client.request("listWaits", {
        query: { ...(after === undefined ? {} : { after }), max },
        signal,
      });
      return waits.map((wait) => ({ ...wait, cursor: wait.id }));
    },
    PAGE,
    { when: (fact) => fact.kind === "waiting" || fact.kind === "resolved" || fact.kind === "committed" },
  );
  /** What became of waits that were answered here. */
  const [results, setResults] = useState<ReadonlyMap<string, string>>(new Map());
  const wanted = found.items?.filter((wait) => (kind === "" || wait.kind === kind) && !results.has(wait.id));
  const rows = wanted === undefined ? undefined : rowsOf(wanted);
  const waits = rows?.flatMap((row) => ("wait" in row ? [row.wait] : [])) ?? [];
  const place = useRef(0);
  const now = waits.findIndex(({ id }) => id === at);
  if (now !== -1) place.current = now;
  const select = (wait: Wait | undefined): void => {
    if (wait === undefined) return;
    setQuery({ at: wait.id });
    requestAnimationFrame(() => document.getElementById(wait.id)?.focus());
  };
  // An answered wait leaves the list, and the next one takes its place.
  const move = (step: number): void =>
    select(
      waits[
        now === -1 ? Math.min(place.current, waits.length - 1) : Math.min(waits.length - 1, Math.max(0, now + step))
      ],
    );
  useKeys([
    { keys: "j", name: "Next question", run: () => move(1) },
    { keys: "k", name: "Previous question", run: () => move(-1) },
    { keys: "Escape", name: "Close the question", run: () => setQuery({ at: "" }) },
  ]);
  const isLoaded = rows !== undefined;
  useEffect(() => {
    if (isLoaded && at === "" && isWide() && waits[0] !== undefined) setQuery({ at: waits[0].id });
  }, [isLoaded]);

  return (
    <Page title="Waits" about="What turns and jobs ask people, the oldest first." isFull>
      <div class="choices" role="group" aria-label="Kind">
        {KINDS.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === kind}
            onClick={() => setQuery({ kind: each, at: "" })}
          >
            {NAMES[each]}
          </button>
        ))}
      </div>
      {found.failure !== undefined && <Problem failure={found.failure} retry={found.reload} />}
      {rows?.length === 0 && at === "" ? (
        <Empty title={kind === "" ? "Nothing waits for a person." : `No ${NAMES[kind]?.toLowerCase()} wait.`}>
          A question appears here when a turn needs an approval, an answer or a result.
        </Empty>
      ) : (
        <div class={at === "" ? "split waits" : "split waits open"}>
          {rows?.length === 0 ? (
            <Empty title="Nothing else waits." />
          ) : (
            <VirtualList
              label="Questions"
              items={rows}
              hasFailed={found.failure !== undefined}
              keyOf={({ key }) => key}
              height={ROW}
              isMeasured
              onEnd={found.more}
              row={(row) =>
                "wait" in row ? (
                  <WaitRow wait={row.wait} isBelow={row.isBelow} isSelected={row.wait.id === at} />
                ) : (
                  <h2 class="wait-group">
                    <SessionName id={row.root} />
                    {row.count > 1 && <span class="dim">{row.count}</span>}
                  </h2>
                )
              }
            />
          )}
          {at !== "" && (
            <Selected
              key={at}
              id={at}
              known={found.items?.find(({ id }) => id === at)}
              result={results.get(at)}
              hasNext={waits.length > 0}
              onNext={() => move(0)}
              onAnswered={(result) => {
                setResults(new Map([...results, [at, result]]));
                found.reload();
              }}
            />
          )}
        </div>
      )}
    </Page>
  );
}

/** Waits of one tree of sessions are together, where the oldest of them stands. */
function rowsOf(waits: readonly Listed[]): readonly Row[] {
  const groups = new Map<string, Listed[]>();
  for (const wait of waits) {
    const root = wait.path[0] ?? wait.sessionId;
    const own = groups.get(root);
    if (own === undefined) groups.set(root, [wait]);
    else own.push(wait);
  }
  return [...groups].flatMap(([root, own]): readonly Row[] => [
    { key: `root ${root}`, root, count: own.length },
    ...own.map((wait) => ({ key: wait.id, wait, isBelow: wait.sessionId !== root })),
  ]);
}

function WaitRow(props: { readonly wait: Wait; readonly isBelow: boolean; readonly isSelected: boolean }): JSX.Element {
  const { wait, isBelow, isSelected } = props;
  const { id, tool, reason, askedAt, deadline, kind } = wait;
  return (
    <button
      type="button"
      id={id}
      class={isSelected ? "wait-row selected" : "wait-row"}
      data-row
      aria-pressed={isSelected}
      onClick={() => setQuery({ at: id })}
    >
      <span class="row-main">
        <span class="row-title">
          <Text>{exactly(tool)}</Text>{" "}
          <code class="wait-args">{exactly(firstWords(JSON.stringify(wait.arguments), 100))}</code>
        </span>
        <span class="row-about dim">
          <span class="chip">{WAIT_KINDS[kind]}</span>
          {isBelow && <SessionName id={wait.sessionId} />}
          <span class="wait-why">
            <Text>{reason}</Text>
          </span>
        </span>
      </span>
      <span class="cell when">
        <When at={askedAt} />
        <span class={isSoon(deadline) ? "wait-ends soon" : "wait-ends"}>
          ends <When at={deadline} />
        </span>
      </span>
    </button>
  );
}

const SOON_MS = 3_600_000;
const isSoon = (deadline: number): boolean => deadline - Date.now() < SOON_MS;

const GONE = "This waits no longer: it was answered elsewhere, or its time has ended.";

interface SelectedProps {
  readonly id: string;
  /** From the list; a link can name another one. */
  readonly known: Wait | undefined;
  readonly result: string | undefined;
  readonly hasNext: boolean;
  readonly onNext: () => void;
  readonly onAnswered: (result: string) => void;
}

function Selected({ id, known, result, hasNext, onNext, onAnswered }: SelectedProps): JSX.Element {
  // A wait that leaves the list has ended, so the page does not read it again.
  const listed = useRef(known);
  listed.current = known ?? listed.current;
  const isGone = known === undefined && listed.current !== undefined;
  const wait = useLoad<Wait | null>(
    `selected ${id}`,
    async (signal) =>
      listed.current ??
      client.request("getWait", { path: { id }, signal }).catch((error: { readonly code?: string }) => {
        if (error.code === "wait.unknown") return null;
        throw error;
      }),
  );
  const over = result ?? (isGone ? GONE : undefined);
  return (
    <aside class="panel" aria-label="Question">
      <header>
        <div>
          <h2>{WAIT_KINDS[(listed.current ?? wait.data)?.kind ?? ""] ?? "Question"}</h2>
        </div>
        <Button kind="quiet" icon="close" label="Close the question" onClick={() => setQuery({ at: "" })}>
          {""}
        </Button>
      </header>
      <div class="panel-body">
        {over === undefined ? (
          <Shown of={wait}>
            {(data) =>
              data === null ? (
                <Over text={GONE} session={undefined} {...{ hasNext, onNext }} />
              ) : (
                <WaitCard wait={data} onAnswered={onAnswered} hasKeys />
              )
            }
          </Shown>
        ) : (
          <Over text={over} {...{ hasNext, onNext }} session={(listed.current ?? wait.data)?.sessionId} />
        )}
      </div>
    </aside>
  );
}

/** The next question is not opened by itself: a key pressed twice must not answer two of them. */
function Over(props: {
  readonly text: string;
  readonly session: string | undefined;
  readonly hasNext: boolean;
  readonly onNext: () => void;
}): JSX.Element {
  return (
    <div class="wait-over" role="status">
      <p>{props.text}</p>
      {props.session !== undefined && (
        <Link to="session" id={props.session}>
          Open the conversation
        </Link>
      )}
      {props.hasNext && (
        <Button onClick={props.onNext}>
          Next question <kbd>j</kbd>
        </Button>
      )}
    </div>
  );
}
