// The shell: navigation, the page that the address names, the login, and what the keyboard does everywhere.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { useLoad } from "./load.ts";
import { AgentsPage } from "./pages/agents.tsx";
import { HealthPage } from "./pages/health.tsx";
import { JobPage, JobsPage } from "./pages/jobs.tsx";
import { PluginsPage } from "./pages/plugins.tsx";
import { SchedulesPage } from "./pages/schedules.tsx";
import { SessionPage } from "./pages/session.tsx";
import { SessionsPage } from "./pages/sessions.tsx";
import { TurnPage } from "./pages/turn.tsx";
import { TurnsPage } from "./pages/turns.tsx";
import { UsagePage } from "./pages/usage.tsx";
import { WaitsPage } from "./pages/waits.tsx";
import { Button, Link, Page, Problem } from "./parts/basics.tsx";
import { Icon, type IconName, Logo } from "./parts/icons.tsx";
import { Keys, useKeys } from "./parts/keys.tsx";
import { type PageName, route } from "./router.ts";
import { client, failureOf, isAway, isLoggedOut } from "./server.ts";
import { switchTheme } from "./theme.ts";

const PAGES: { readonly [P in PageName]: (props: { readonly id: string }) => JSX.Element } = {
  sessions: SessionsPage,
  session: SessionPage,
  turns: TurnsPage,
  turn: TurnPage,
  waits: WaitsPage,
  jobs: JobsPage,
  job: JobPage,
  schedules: SchedulesPage,
  agents: AgentsPage,
  usage: UsagePage,
  plugins: PluginsPage,
  health: HealthPage,
};

interface Place {
  readonly page: PageName;
  readonly name: string;
  readonly icon: IconName;
  /** `g` and this key go there. */
  readonly key: string;
  /** Pages that belong to it. */
  readonly also?: readonly PageName[];
}
const NAVIGATION: readonly Place[] = [
  { page: "sessions", name: "Sessions", icon: "sessions", key: "s", also: ["session"] },
  { page: "turns", name: "Turns", icon: "turn", key: "t", also: ["turn"] },
  { page: "waits", name: "Waits", icon: "waits", key: "w" },
  { page: "jobs", name: "Jobs", icon: "jobs", key: "j", also: ["job"] },
  { page: "schedules", name: "Schedules", icon: "schedules", key: "c" },
  { page: "agents", name: "Agents", icon: "agents", key: "a" },
  { page: "usage", name: "Usage", icon: "usage", key: "u" },
  { page: "plugins", name: "Plugins", icon: "plugins", key: "p" },
  { page: "health", name: "Health", icon: "health", key: "h" },
];

const WAITS_MAX = 100;

export function App(): JSX.Element {
  const { page, id } = route.value;
  const [isMenuOpen, setMenu] = useState(false);
  useEffect(() => setMenu(false), [route.value]);
  useKeys(NAVIGATION.map(({ page: to, key, name }) => ({ keys: `g ${key}`, name: `Go to ${name}`, to })));
  if (isLoggedOut.value) return <Login />;
  const Current = PAGES[page];
  return (
    <div class={isMenuOpen ? "app menu-open" : "app"}>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <Button kind="quiet" icon="menu" label="Menu" onClick={() => setMenu(!isMenuOpen)}>
          {""}
        </Button>
        <Brand />
      </header>
      <nav class="side" aria-label="Pages">
        <Brand />
        <ul>
          {NAVIGATION.map((place) => (
            <li key={place.page}>
              <NavLink place={place} isCurrent={place.page === page || place.also?.includes(page) === true} />
            </li>
          ))}
        </ul>
        <div class="side-end">
          <Button kind="quiet" icon="theme" onClick={switchTheme}>
            Theme
          </Button>
          <Keys />
        </div>
      </nav>
      <div class="content">
        {isAway.value && (
          <p class="away" role="status">
            Not connected. Trying again …
          </p>
        )}
        <Guarded key={`${page} ${id}`}>
          <Current id={id} />
        </Guarded>
      </div>
    </div>
  );
}

/** A page that cannot be drawn shows why, and the pages beside it still work. */
function Guarded({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [error, again] = useErrorBoundary((thrown) => reportError(thrown));
  useEffect(again, [route.value]);
  if (error === undefined) return <>{children}</>;
  return (
    <Page title="This page failed">
      <Problem failure={failureOf(error)} retry={again} />
    </Page>
  );
}

const Brand = (): JSX.Element => (
  <Link to="sessions" class="brand">
    <Logo />
    <span>
      Bowline <em>Studio</em>
    </span>
  </Link>
);

function NavLink({ place, isCurrent }: { readonly place: Place; readonly isCurrent: boolean }): JSX.Element {
  return (
    <a href={`#/${place.page}`} aria-current={isCurrent ? "page" : undefined}>
      <Icon name={place.icon} />
      <span>{place.name}</span>
      {place.page === "waits" && <WaitCount />}
    </a>
  );
}

/** How many questions wait for a person. */
function WaitCount(): JSX.Element | null {
  const { data } = useLoad(
    "wait count",
    (signal) => client.request("listWaits", { query: { max: WAITS_MAX }, signal }),
    { when: ({ kind }) => kind === "waiting" || kind === "resolved" || kind === "committed" },
  );
  if (data === undefined || data.length === 0) return null;
  const text = data.length === WAITS_MAX ? `${WAITS_MAX}+` : String(data.length);
  return (
    <span class="count" role="status" aria-label={`${text} waiting`}>
      {text}
    </span>
  );
}

function Login(): JSX.Element {
  const [token, setToken] = useState("");
  return (
    <main class="login">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const to = `/studio/${location.hash}`;
          location.assign(`/login?${new URLSearchParams({ t: token, to })}`);
        }}
      >
        <Logo />
        <h1>Log in</h1>
        <p>Open the address that the server printed, or enter its token.</p>
        <label for="token">Token of the server</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          required
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <Button kind="main" type="submit">
          Log in
        </Button>
      </form>
    </main>
  );
}
