// The plugins of a session: what each adds, its state, and its operations.
import type { JSX } from "preact";
import { shown } from "../format.ts";
import { useLoad } from "../load.ts";
import { Empty, Link, Page, Shown } from "../parts/basics.tsx";
import { useListKeys } from "../parts/keys.tsx";
import { route, setQuery } from "../router.ts";
import { client } from "../server.ts";
import type { SessionSummary } from "../types.ts";
import { PluginCard } from "./plugins/card.tsx";

const CHOICES = 100;

export function PluginsPage(): JSX.Element {
  const { session } = route.value.query;
  useListKeys();
  const sessions = useLoad("latest sessions", (signal) =>
    client.request("listSessions", { query: { order: "activity", max: CHOICES }, signal }),
  );
  const id = session ?? sessions.data?.[0]?.id;
  return (
    <Page title="Plugins" about="What each plugin adds to a session, its state, and its operations.">
      {sessions.data?.length === 0 && session === undefined ? (
        <Empty title="There are no sessions yet.">Plugins are installed when a session opens.</Empty>
      ) : (
        <>
          {id !== undefined && <Choice id={id} sessions={sessions.data ?? []} />}
          {id === undefined ? <Shown of={sessions}>{() => null}</Shown> : <Plugins key={id} id={id} />}
        </>
      )}
    </Page>
  );
}

function Choice({ id, sessions }: { readonly id: string; readonly sessions: readonly SessionSummary[] }): JSX.Element {
  const isListed = sessions.some((each) => each.id === id);
  return (
    <div class="tools">
      <label for="session">Session</label>
      <select id="session" value={id} onChange={({ currentTarget }) => setQuery({ session: currentTarget.value })}>
        {!isListed && <option value={id}>{shown(id)}</option>}
        {sessions.map(({ id: each, label }) => (
          <option key={each} value={each}>
            {!label ? shown(each) : `${shown(label)} (${shown(each)})`}
          </option>
        ))}
      </select>
      <Link to="session" id={id} class="button">
        Open
      </Link>
    </div>
  );
}

function Plugins({ id }: { readonly id: string }): JSX.Element {
  const found = useLoad(
    `plugins ${id}`,
    async (signal) => {
      const [plugins, states] = await Promise.all([
        client.request("sessionPlugins", { path: { id }, signal }),
        client.request("sessionStates", { path: { id }, signal }),
      ]);
      return { plugins, states };
    },
    { when: ({ kind, sessionId }) => kind === "committed" && sessionId === id },
  );
  return (
    <Shown of={found}>
      {({ plugins, states }) =>
        plugins.length === 0 ? (
          <Empty title="This session has no plugins.">
            An app installs plugins with <code>createRuntime({"{ plugins }"})</code>.
          </Empty>
        ) : (
          <ul class="plugins">
            {plugins.map((plugin) => (
              <li key={plugin.id}>
                <PluginCard plugin={plugin} state={states[plugin.id]} session={id} onChange={found.reload} />
              </li>
            ))}
          </ul>
        )
      }
    </Shown>
  );
}
