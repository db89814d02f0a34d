// How each item of a conversation looks.
import type { ClientWait } from "bowline/client";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { date, duration, firstWords, moment, money, shown, tokenCount } from "../../format.ts";
import { useAction, useLoad } from "../../load.ts";
import { Button, Link, Problem, Text } from "../../parts/basics.tsx";
import { Icon } from "../../parts/icons.tsx";
import { memo } from "../../parts/memo.ts";
import { SessionName } from "../../parts/session-name.tsx";
import { WaitCard } from "../../parts/wait-card.tsx";
import { go, href } from "../../router.ts";
import { client } from "../../server.ts";
import type { TurnRecord } from "../../types.ts";
import { type Around, Attachments } from "./around.tsx";
import { Call, Cell, Fold } from "./calls.tsx";
import { setDraft } from "./draft.ts";
import type { EndItem, Item, Words } from "./items.ts";
import { Copy, Markdown } from "./markdown.tsx";

export const Row = memo(function Row({ item, around }: { readonly item: Item; readonly around: Around }): JSX.Element {
  return <div class={`item item-${item.kind}`}>{content(item, around)}</div>;
});

function content(item: Item, around: Around): ComponentChildren {
  switch (item.kind) {
    case "user":
    case "assistant":
    case "note":
      return <Said item={item} around={around} />;
    case "reasoning":
      return (
        <Fold item={item} around={around} head={<Thoughts text={item.text} isLive={item.isLive === true} />}>
          <Markdown text={item.text} isLive={item.isLive === true} />
        </Fold>
      );
    case "call":
      return <Call item={item} around={around} />;
    case "cell":
      return <Cell item={item} around={around} />;
    case "frame":
      return (
        <p class="divider">
          <span>
            New frame: <Text>{item.reason}</Text>
            {item.task !== undefined && (
              <>
                {" · "}
                <Text>{firstWords(item.task)}</Text>
              </>
            )}
          </span>
        </p>
      );
    case "wait":
      return <Wait wait={item.wait} />;
    case "retrying":
      return <Retrying of={item.of} />;
    case "child":
      return <Child id={item.id} view={item.view} />;
    case "working":
      return <p class="working" role="img" aria-label="A turn runs" />;
    case "end":
      return <End item={item} around={around} />;
  }
}

const Thoughts = ({ text, isLive }: { readonly text: string; readonly isLive: boolean }): JSX.Element => (
  <>
    <span class="fold-name">{isLive ? "Thinking …" : "Thoughts"}</span>
    <span class="fold-about">
      <Text>{firstWords(isLive ? text.slice(-160) : text.slice(0, 300), 140)}</Text>
    </span>
  </>
);

// ── Words ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A text of a person longer than this is folded. */
const SAID_MAX = 4_000;

function Said({ item, around }: { readonly item: Words & Item; readonly around: Around }): JSX.Element {
  const { kind, text, attachments, node, by, isLive, waiting } = item;
  const isOpen = text.length <= SAID_MAX || around.isOpen(item.key) === true;
  return (
    <>
      {by !== undefined && (
        <p class="by">
          From <Text>{by}</Text>
        </p>
      )}
      <Attachments of={attachments} session={around.session} />
      {text !== "" && kind === "assistant" && <Markdown text={text} isLive={isLive === true} />}
      {text !== "" && kind !== "assistant" && (
        <div class="said">
          <bdi>{shown(isOpen ? text.slice(0, 100_000) : text.slice(0, SAID_MAX))}</bdi>
          {!isOpen && (
            <Button kind="quiet" onClick={() => around.setOpen(item.key, true)}>
              Show more ({(text.length - SAID_MAX).toLocaleString()} characters)
            </Button>
          )}
        </div>
      )}
      {waiting !== undefined && <Waiting session={around.session} of={waiting} text={text} />}
      {isLive !== true && !item.key.startsWith("input/") && text !== "" && (
        <Actions session={around.session} node={node} text={text} isSaid={kind === "user"} />
      )}
    </>
  );
}

/** What a message can be used for. */
function Actions(props: {
  readonly session: string;
  readonly node: string | undefined;
  readonly text: string;
  readonly isSaid: boolean;
}): JSX.Element {
  const { session, node, text, isSaid } = props;
  const { run, failure, isBusy } = useAction();
  return (
    <>
      <div class="item-actions">
        <Copy text={text} />
        {node !== undefined && (
          <Button
            kind="quiet"
            icon="fork"
            isDisabled={isBusy}
            title="A new session with the history up to here"
            onClick={() => void run(() => fork(session, { at: node }))}
          >
            Fork here
          </Button>
        )}
        {node !== undefined && isSaid && (
          <Button
            kind="quiet"
            icon="retry"
            isDisabled={isBusy}
            title="A new session with the history before this message, and the message to change"
            onClick={() => void run(() => fork(session, { before: node }, text))}
          >
            Edit in a fork
          </Button>
        )}
      </div>
      {failure !== undefined && <Problem failure={failure} />}
    </>
  );
}

/** Makes a fork and opens it, with a text to send. */
async function fork(session: string, at: { at: string } | { before: string }, draft?: string): Promise<void> {
  const { id } = await client.sessions.fork(session, at);
  if (draft !== undefined) setDraft(id, draft);
  go(href("session", id));
}

function Waiting(props: {
  readonly session: string;
  readonly of: NonNullable<Words["waiting"]>;
  readonly text: string;
}): JSX.Element {
  const { session, of, text } = props;
  const { run, failure, isBusy } = useAction();
  return (
    <>
      <p class="waits-here">
        <span>{of.isSteering ? "Waits for the running turn to take it" : "Waits for a process that runs it"}</span>
        <Button
          kind="quiet"
          icon="close"
          isDisabled={isBusy}
          label={`Withdraw: ${firstWords(text, 40)}`}
          onClick={() => void run(() => client.request("withdrawInput", { path: { id: session, input: of.input } }))}
        >
          Withdraw
        </Button>
      </p>
      {failure !== undefined && <Problem failure={failure} />}
    </>
  );
}

/** The card goes away with the fact that the wait is answered. Until then it shows what became of it. */
function Wait({ wait }: { readonly wait: ClientWait }): JSX.Element {
  const [result, setResult] = useState<string>();
  if (result === undefined)
    return (
      <div class="session-wait">
        <WaitCard wait={wait} onAnswered={setResult} hasSession={false} />
      </div>
    );
  return (
    <p class="session-wait dim" role="status">
      {result}
    </p>
  );
}

// ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const WHY: { readonly [failure: string]: string } = {
  "rate-limit": "The model is busy",
  overloaded: "The model is overloaded",
  timeout: "The model took too long",
  network: "The model cannot be reached",
  server: "The provider has a problem",
};

const Retrying = ({ of }: { readonly of: Extract<Item, { kind: "retrying" }>["of"] }): JSX.Element => (
  <p class="retrying" role="status">
    <Icon name="retry" />
    {WHY[of.class] ?? `The model failed (${of.class})`}. Attempt {of.attempt + 1} follows in {duration(of.waitMs)}.
  </p>
);

function Child({ id, view }: { readonly id: string; readonly view: Extract<Item, { kind: "child" }>["view"] }) {
  const running = view.turns.find((turn) => turn.kind === "running");
  const last = running?.parts.at(-1);
  const about =
    running === undefined
      ? ""
      : running.waits.length > 0
        ? "waits for an answer"
        : last?.kind === "call"
          ? `calls ${last.name}`
          : firstWords((last?.text ?? "").slice(-200), 100);
  return (
    <Link to="session" id={id} class="child">
      <Icon name="agents" />
      <span class="fold-name">Subagent</span>
      <span class="fold-about">{about === "" ? <SessionName id={id} /> : <Text>{about}</Text>}</span>
    </Link>
  );
}

/** A turn whose record is not known is looked for after it was in sight for so long. */
const LOOKED_MS = 200;

/** Where a turn ended: how it went, and what can be done from here. */
function End({ item, around }: { readonly item: EndItem; readonly around: Around }): JSX.Element {
  const { turnId, node } = item;
  const turn = around.turn(turnId);
  const { run, failure, isBusy } = useAction();
  useEffect(() => {
    if (turn !== undefined) return;
    const timer = setTimeout(() => around.wantTurn(turnId), LOOKED_MS);
    return () => clearTimeout(timer);
  }, [turnId, turn === undefined]);
  const { startedAt, endedAt, usage, cost } = turn ?? {};
  const isBad = turn?.outcome === "failed" || turn?.outcome === "stopped";
  return (
    <>
      {isBad && <Failed item={item} turn={turn} around={around} />}
      {turn !== undefined &&
        around.childrenOf(turn).map((id) => (
          <Link key={id} to="session" id={id} class="child">
            <Icon name="agents" />
            <span class="fold-name">Subagent</span>
            <span class="fold-about">
              <SessionName id={id} />
            </span>
          </Link>
        ))}
      <div class="turn-end">
        <Link to="turn" id={turnId} class="turn-link" title={turnId}>
          <Icon name="turn" />
          Turn
        </Link>
        {endedAt !== undefined && (
          <span class="number" title={date(endedAt)}>
            {moment(endedAt)}
          </span>
        )}
        {endedAt !== undefined && startedAt !== undefined && (
          <span class="number">{duration(endedAt - startedAt)}</span>
        )}
        {usage !== undefined && <span class="number wide">{tokenCount(usage)} tokens</span>}
        {cost !== undefined && cost > 0 && <span class="number wide">cost {money(cost)}</span>}
        <span class="turn-fork">
          <Button
            kind="quiet"
            icon="fork"
            isDisabled={isBusy}
            label="Fork after this turn"
            title="A new session with the history up to here"
            onClick={() => void run(() => fork(around.session, { at: node }))}
          >
            Fork
          </Button>
        </span>
      </div>
      {failure !== undefined && <Problem failure={failure} />}
    </>
  );
}

/** A turn that failed or was stopped: why, and how to try again. */
function Failed(props: { readonly item: EndItem; readonly turn: TurnRecord; readonly around: Around }): JSX.Element {
  const { item, turn, around } = props;
  const { said, turnId } = item;
  const { run, failure, isBusy } = useAction();
  const details = useLoad(`turn ${turnId}`, (signal) => client.request("getTurn", { path: { id: turnId }, signal }));
  const { outcome } = details.data ?? {};
  const reason = outcome !== undefined && "reason" in outcome ? outcome.reason : undefined;
  const isCancelled = turn.code === "turn.cancelled";
  const words = isCancelled ? "Cancelled" : turn.outcome === "failed" ? "The turn failed" : "The turn was stopped";
  return (
    <div class={isCancelled ? "ended quiet" : "ended"}>
      <p>
        <strong>{words}.</strong> {reason !== undefined && <Text>{reason}</Text>}
      </p>
      {turn.code !== undefined && !isCancelled && <code class="ended-code">{shown(turn.code)}</code>}
      {said !== undefined && item.isLast === true && (
        <div class="ended-actions">
          <Button
            icon="retry"
            isDisabled={isBusy}
            title="Sends the same message to this session. The failed turn stays in its history."
            onClick={() => void run(() => client.send(around.session, said.parts as never, { key: `again-${turnId}` }))}
          >
            Send again
          </Button>
          <Button
            icon="fork"
            isDisabled={isBusy}
            title="Sends the same message to a fork that begins before this turn"
            onClick={() =>
              void run(async () => {
                const { id } = await client.sessions.fork(around.session, { before: said.node });
                await client.send(id, said.parts as never);
                go(href("session", id));
              })
            }
          >
            Retry in a fork
          </Button>
        </div>
      )}
      {failure !== undefined && <Problem failure={failure} />}
    </div>
  );
}
