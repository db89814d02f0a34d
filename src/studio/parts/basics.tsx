// The small parts that every page uses.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ago, date, jsonOf, shown } from "../format.ts";
import type { Loaded } from "../load.ts";
import { href, type PageName } from "../router.ts";
import type { Failure } from "../server.ts";
import { Icon, type IconName } from "./icons.tsx";

/** The head of a page with its content. `actions` stand at the right of the title. */
export function Page(props: {
  readonly title: ComponentChildren;
  /** For the title of the window. Default: the title, if it is a text. */
  readonly name?: string;
  readonly about?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  /** The content fills the height and scrolls by itself. */
  readonly isFull?: boolean;
}): JSX.Element {
  const name = props.name ?? (typeof props.title === "string" ? props.title : "");
  useEffect(() => {
    document.title = name === "" ? "Bowline Studio" : `${name} · Bowline Studio`;
  }, [name]);
  return (
    <main class={props.isFull ? "page full" : "page"} id="main" tabIndex={-1}>
      <header class="head">
        <div class="head-text">
          <h1>{props.title}</h1>
          {props.about !== undefined && <p class="about">{props.about}</p>}
        </div>
        {props.actions !== undefined && <div class="actions">{props.actions}</div>}
      </header>
      {props.children}
    </main>
  );
}

type State = "ok" | "busy" | "asks" | "bad" | "off";
/** The colour of each state of sessions, turns, jobs and calls. */
const STATES: { readonly [state: string]: State } = {
  ...{ idle: "off", queued: "off", ended: "off", cancelled: "off", abandoned: "bad", skipped: "off", disabled: "off" },
  ...{ running: "busy", waiting: "asks", interrupted: "bad", failed: "bad", stopped: "bad", error: "bad" },
  ...{ answered: "ok", finished: "ok", completed: "ok", ok: "ok", denied: "asks", enabled: "ok" },
};

/** A state in a word, with a mark whose shape also shows it to those who cannot see its colour. */
export function Badge({ state, children }: { readonly state: string; readonly children?: ComponentChildren }) {
  return <span class={`badge ${STATES[state] ?? "off"}`}>{children ?? state}</span>;
}

export function Button(props: {
  readonly onClick?: () => void;
  readonly children: ComponentChildren;
  readonly kind?: "main" | "plain" | "danger" | "quiet";
  readonly icon?: IconName;
  readonly isDisabled?: boolean;
  readonly type?: "submit" | "button";
  /** The name for a screen reader, if the text is not enough. */
  readonly label?: string;
  readonly title?: string;
}): JSX.Element {
  return (
    <button
      type={props.type ?? "button"}
      class={props.kind ?? "plain"}
      disabled={props.isDisabled}
      onClick={props.onClick}
      aria-label={props.label}
      title={props.title}
    >
      {props.icon !== undefined && <Icon name={props.icon} />}
      {props.children}
    </button>
  );
}

export function Link(props: {
  readonly to: PageName;
  readonly id?: string;
  readonly query?: { readonly [name: string]: string | undefined };
  readonly class?: string;
  readonly title?: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <a href={href(props.to, props.id, props.query)} class={props.class} title={props.title}>
      {props.children}
    </a>
  );
}

/** A time, as "3 min ago" with the date on hover. It stays right while the page is open. */
export function When({ at }: { readonly at: number }): JSX.Element {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 20_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <time dateTime={new Date(at).toISOString()} title={date(at)}>
      {ago(at)}
    </time>
  );
}

/** Text from outside, as it is. */
export const Text = ({ children }: { readonly children: string }): JSX.Element => <bdi>{shown(children)}</bdi>;
export const Id = ({ children }: { readonly children: string }): JSX.Element => (
  <code class="id" title={shown(children)}>
    {shown(children)}
  </code>
);

// ── States of a page ────────────────────────────────────────────────────────────────────────────────────────────────

export function Problem({ failure, retry }: { readonly failure: Failure; readonly retry?: () => void }): JSX.Element {
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{shown(failure.title)}</strong> {shown(failure.hint)}
      </p>
      <code>{failure.code}</code>
      {retry !== undefined && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

/** Shows what was loaded: a placeholder at first, the data when it is there, and a failure above it. */
export function Shown<T>({
  of,
  children,
}: {
  readonly of: Loaded<T>;
  readonly children: (data: T) => ComponentChildren;
}): JSX.Element {
  return (
    <>
      {of.failure !== undefined && <Problem failure={of.failure} retry={of.reload} />}
      {of.data !== undefined ? children(of.data) : of.failure === undefined && <Placeholder />}
    </>
  );
}

const Placeholder = (): JSX.Element => (
  <div class="placeholder" role="status" aria-label="Loading">
    <span />
    <span />
    <span />
  </div>
);

// ── Data ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The longest text that is shown at once: a browser lays out more only slowly. */
const SHOWN_MAX = 20_000;

/** A value or a long text in a box, cut where it is too long for a page. */
export function Code({ value, label }: { readonly value: unknown; readonly label?: string }): JSX.Element {
  const [most, setMost] = useState(SHOWN_MAX);
  const text = jsonOf(value);
  return (
    <div class="code" tabIndex={0} role="group" aria-label={label ?? "Data"}>
      <pre>{shown(text.slice(0, most))}</pre>
      {text.length > most && (
        <Button kind="quiet" onClick={() => setMost(most * 10)}>
          Show more ({text.length - most} characters)
        </Button>
      )}
    </div>
  );
}

/** Names with values, in two columns. Rows without a value are left out. */
export function Facts({ rows }: { readonly rows: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  return (
    <dl class="facts">
      {rows.map(
        ([name, value]) =>
          value !== undefined &&
          value !== null &&
          value !== false && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** A number with its name, for the top of a page. `to`: the address of what it counts. */
export function Figure(props: {
  readonly value: ComponentChildren;
  readonly name: string;
  readonly state?: State;
  readonly to?: string;
}): JSX.Element {
  const { value, name, state, to } = props;
  const content = (
    <>
      <span class="figure-value">{value}</span>
      <span class="figure-name">{name}</span>
    </>
  );
  const look = `figure ${state ?? ""}`;
  return to === undefined ? (
    <div class={look}>{content}</div>
  ) : (
    <a class={look} href={to}>
      {content}
    </a>
  );
}
