// What is known of a session besides its conversation.
import type { ClientView } from "bowline/client";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { date, duration, moment, money, plainWords, plural, tokenCount } from "../../format.ts";
import { useAction, useLoad, usePages } from "../../load.ts";
import { Badge, Button, Code, Facts, Id, Link, Problem, Shown, Text, When } from "../../parts/basics.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Dialog } from "../../parts/keys.tsx";
import { VirtualList } from "../../parts/virtual.tsx";
import { go, href, route, setQuery } from "../../router.ts";
import { client, type Fact } from "../../server.ts";
import type { SessionSummary, TurnRecord } from "../../types.ts";
import { Branches } from "./branches.tsx";

const TABS = { about: "About", turns: "Turns", branches: "Branches", tools: "Tools", state: "State" } as const;
type Tab = keyof typeof TABS;
const NAMES = Object.keys(TABS) as readonly Tab[];

export interface SideProps {
  readonly id: string;
  readonly view: ClientView;
  readonly children: readonly SessionSummary[];
  readonly isGone: boolean;
  readonly onClose: () => void;
}

export function Side(props: SideProps): JSX.Element {
  const { id, view, onClose } = props;
  const tab = NAMES.find((each) => each === route.value.query.tab) ?? "about";
  const choose = (step: number): void => {
    const next = NAMES[(NAMES.indexOf(tab) + step + NAMES.length) % NAMES.length] as Tab;
    setQuery({ tab: next });
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <aside class="details" aria-label="Details of the session">
      <div class="details-head">
        <div class="choices" role="tablist" aria-label="Details">
          {NAMES.map((each) => (
            <button
              key={each}
              id={`tab-${each}`}
              type="button"
              role="tab"
              aria-selected={each === tab}
              aria-controls="details-panel"
              tabIndex={each === tab ? 0 : -1}
              onClick={() => setQuery({ tab: each })}
              onKeyDown={({ key }) => {
                if (key === "ArrowRight") choose(1);
                if (key === "ArrowLeft") choose(-1);
              }}
            >
              {TABS[each]}
            </button>
          ))}
        </div>
        <span class="details-close">
          <Button kind="quiet" icon="close" label="Close the details" onClick={onClose}>
            {""}
          </Button>
        </span>
      </div>
      <div class={`details-panel of-${tab}`} id="details-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {tab === "about" && <About {...props} />}
        {tab === "turns" && <TurnList id={id} />}
        {tab === "branches" && view.read !== undefined && <Branches id={id} origin={view.read.origin?.sessionId} />}
        {tab === "tools" && <Tools id={id} />}
        {tab === "state" && <States id={id} />}
      </div>
    </aside>
  );
}

const isOf =
  (id: string) =>
  (fact: Fact): boolean =>
    fact.sessionId === id && fact.kind === "committed";

// ── About ───────────────────────────────────────────────────────────────────────────────────────────────────────────

function About({ id, view, children, isGone }: SideProps): JSX.Element {
  const { read } = view;
  const spent = useLoad(`usage ${id}`, (signal) => client.request("sessionUsage", { path: { id }, signal }), {
    when: isOf(id),
  });
  if (read === undefined) return <p class="dim">…</p>;
  const { owner, tags = [], createdAt, config, parentId, origin, turns, modelMismatch } = read;
  const sessions = new Set(spent.data?.ledger.map(({ sessionId }) => sessionId)).size;
  return (
    <>
      {!isGone && <Label id={id} label={config.label} />}
      {modelMismatch !== undefined && (
        <p class="session-note">
          Earlier turns ran on <code>{modelMismatch.expected}</code>. The next one runs on{" "}
          <code>{modelMismatch.actual}</code>.
        </p>
      )}
      <Facts
        rows={[
          ["Id", <Id key="id">{id}</Id>],
          [
            "Owner",
            owner !== undefined && (
              <Link to="sessions" query={{ owner }}>
                <Text>{owner}</Text>
              </Link>
            ),
          ],
          [
            "Tags",
            tags.length > 0 && (
              <span class="chips">
                {tags.map((tag) => (
                  <Link key={tag} to="sessions" query={{ tag }} class="chip">
                    <Text>{tag}</Text>
                  </Link>
                ))}
              </span>
            ),
          ],
          ["Created", <When key="created" at={createdAt} />],
          ["Model", <code key="model">{config.model}</code>],
          ["Turns", String(turns)],
          ["Tokens", spent.data !== undefined && tokenCount(spent.data.usage)],
          ["Cost", spent.data !== undefined && (spent.data.cost === undefined ? "unknown" : money(spent.data.cost))],
          ["Sessions in these sums", sessions > 1 && String(sessions)],
          [
            "Parent",
            parentId !== undefined && (
              <Link to="session" id={parentId}>
                <Text>{parentId}</Text>
              </Link>
            ),
          ],
          [
            "Forked from",
            origin !== undefined && (
              <Link to="session" id={origin.sessionId} query={{ node: origin.at }}>
                <Text>{origin.sessionId}</Text>
              </Link>
            ),
          ],
        ]}
      />
      {spent.failure !== undefined && <Problem failure={spent.failure} retry={spent.reload} />}
      {children.length > 0 && (
        <section class="details-part">
          <h2>Subagents</h2>
          <ul class="links">
            {children.map(({ id: child, label, state, lastWords }) => (
              <li key={child}>
                <Link to="session" id={child}>
                  <Text>{label || plainWords(lastWords ?? "", 60) || child}</Text>
                </Link>
                <Badge state={state} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {config.instructions !== undefined && (
        <section class="details-part">
          <h2>Instructions</h2>
          <Code value={config.instructions} label="Instructions" />
        </section>
      )}
      <section class="details-part">
        <h2>Settings</h2>
        <Code value={settingsOf(config)} label="Settings" />
      </section>
      <section class="details-part actions-part">
        <Link to="plugins" query={{ session: id }} class="button">
          <Icon name="plugins" />
          Plugins and operations
        </Link>
        {!isGone && <Delete id={id} />}
      </section>
    </>
  );
}

type Config = NonNullable<ClientView["read"]>["config"];
const settingsOf = ({ instructions: _, label: __, ...rest }: Config): object => rest;

function Label({ id, label = "" }: { readonly id: string; readonly label?: string | undefined }): JSX.Element {
  const [typed, setTyped] = useState(label);
  const { run, failure, isBusy } = useAction();
  useEffect(() => setTyped(label), [label]);
  const isSame = typed.trim() === label;
  return (
    <form
      class="label-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isSame)
          void run(() => client.request("configureSession", { path: { id }, body: { label: typed.trim() } }));
      }}
    >
      <label for="label">Label</label>
      <div class="label-row">
        <input
          id="label"
          type="text"
          placeholder="No label"
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
        {!isSame && (
          <Button type="submit" isDisabled={isBusy}>
            Save
          </Button>
        )}
      </div>
      {failure !== undefined && <Problem failure={failure} />}
    </form>
  );
}

function Delete({ id }: { readonly id: string }): JSX.Element {
  const [isAsked, setAsked] = useState(false);
  const { run, failure, isBusy } = useAction();
  return (
    <>
      <Button kind="danger" onClick={() => setAsked(true)}>
        Delete session
      </Button>
      {isAsked && (
        <Dialog title="Delete this session?" onClose={() => setAsked(false)}>
          <p class="dialog-text">
            Its history, its attachments and its jobs are deleted for good. Its forks stay. The id <Id>{id}</Id> cannot
            be used again.
          </p>
          <div class="dialog-end">
            {failure !== undefined ? <Problem failure={failure} /> : <span />}
            <Button
              kind="danger"
              isDisabled={isBusy}
              onClick={() =>
                void run(async () => {
                  await client.sessions.delete(id);
                  go(href("sessions"));
                })
              }
            >
              Delete for good
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

// ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const PAGE = 100;

function TurnList({ id }: { readonly id: string }): JSX.Element {
  const turns = usePages<TurnRecord>(
    `turns ${id}`,
    ({ after, max }, signal) => client.request("listTurns", { query: { session: id, after, max }, signal }),
    PAGE,
    { when: ({ sessionId }) => sessionId === id },
  );
  if (turns.failure !== undefined) return <Problem failure={turns.failure} retry={turns.reload} />;
  if (turns.items?.length === 0) return <p class="dim">No turn has run here.</p>;
  return (
    <VirtualList
      label="Turns"
      items={turns.items}
      keyOf={(turn) => turn.id}
      height={56}
      onEnd={turns.more}
      row={(turn) => <TurnRow turn={turn} />}
    />
  );
}

function TurnRow({ turn }: { readonly turn: TurnRecord }): JSX.Element {
  const { id, state, outcome, startedAt, endedAt, usage, cost, rounds } = turn;
  const about = [
    startedAt !== undefined && endedAt !== undefined && duration(endedAt - startedAt),
    rounds !== undefined && plural(rounds, "round"),
    usage !== undefined && `${tokenCount(usage)} tokens`,
    cost !== undefined && money(cost),
  ].filter((each) => each !== false);
  return (
    <a class="row" href={href("turn", id)}>
      <span class="row-main">
        <span class="row-title" title={startedAt === undefined ? undefined : date(startedAt)}>
          {startedAt === undefined ? id : moment(startedAt)}
        </span>
        <span class="row-about dim number">{about.join(" · ")}</span>
      </span>
      <Badge state={state === "ended" ? (outcome ?? "ended") : state} />
    </a>
  );
}

// ── Tools and states ────────────────────────────────────────────────────────────────────────────────────────────────

function Tools({ id }: { readonly id: string }): JSX.Element {
  const tools = useLoad(`tools ${id}`, (signal) => client.request("sessionTools", { path: { id }, signal }), {
    when: isOf(id),
  });
  return (
    <Shown of={tools}>
      {(data) =>
        data.length === 0 ? (
          <p class="dim">The model gets no tools.</p>
        ) : (
          <ul class="tool-list">
            {data.map(({ name, description, availability, source, inputSchema, isOrphan }) => (
              <li key={name}>
                <details>
                  <summary>
                    <span class="fold-name">
                      <Text>{name}</Text>
                    </span>
                    {(availability !== "callable" || isOrphan === true) && (
                      <span class="chip">{isOrphan === true ? "source is missing" : availability}</span>
                    )}
                    <span class="tool-about">
                      <Text>{description}</Text>
                    </span>
                  </summary>
                  <p class="dim">
                    From <Text>{source}</Text>
                  </p>
                  {inputSchema !== undefined && <Code value={inputSchema} label={`Arguments of ${name}`} />}
                </details>
              </li>
            ))}
          </ul>
        )
      }
    </Shown>
  );
}

function States({ id }: { readonly id: string }): JSX.Element {
  const states = useLoad(`states ${id}`, (signal) => client.request("sessionStates", { path: { id }, signal }), {
    when: isOf(id),
  });
  return (
    <Shown of={states}>
      {(data) => {
        const all = Object.entries(data);
        if (all.length === 0) return <p class="dim">No plugin has a state here.</p>;
        return (
          <>
            {all.map(([plugin, state]) => (
              <section class="details-part" key={plugin}>
                <h2>
                  <Text>{plugin}</Text>
                </h2>
                <Code value={state} label={`State of ${plugin}`} />
              </section>
            ))}
          </>
        );
      }}
    </Shown>
  );
}
