// One plugin of a session.
import type { Api } from "bowline/client";
import type { JSX } from "preact";
import { plural } from "../../format.ts";
import { Code, Text } from "../../parts/basics.tsx";
import type { Plugin } from "../../types.ts";
import { OperationForm } from "./operation.tsx";

type SavedState = Api["sessionStates"]["output"][string];

export interface CardProps {
  readonly plugin: Plugin;
  /** Undefined until the plugin first changes its state. */
  readonly state: SavedState | undefined;
  readonly session: string;
  readonly onChange: () => void;
}

export function PluginCard({ plugin, state, session, onChange }: CardProps): JSX.Element {
  const { id, version, hooks, tools, operations, events, monitors, hasState } = plugin;
  const isBare = [hooks, tools, operations, events, monitors].every(({ length }) => length === 0) && !hasState;
  return (
    <section class="card plugin" data-row tabIndex={-1} aria-label={id}>
      <h2>
        <Text>{id}</Text> {version !== undefined && <span class="chip">version {version}</span>}
      </h2>
      {isBare && <p class="dim">It adds nothing that is listed here.</p>}
      <dl class="adds">
        <Names name="Hooks" names={hooks} />
        <Names name="Tools" names={tools} />
        <Names name="Events" names={events} />
        <Names name="Monitors" names={monitors} />
      </dl>
      {state !== undefined ? (
        <details>
          <summary>
            State (version <Text>{state.version}</Text>, {plural(state.revision, "change")})
          </summary>
          <Code value={state.state} label={`State of ${id}`} />
        </details>
      ) : (
        hasState && <p class="dim">It has a state, which has not changed in this session.</p>
      )}
      {operations.length > 0 && (
        <div class="operations">
          <h3>Operations</h3>
          {operations.map((operation) => (
            <OperationForm key={operation.name} operation={operation} session={session} onChange={onChange} />
          ))}
        </div>
      )}
    </section>
  );
}

function Names({ name, names }: { readonly name: string; readonly names: readonly string[] }): JSX.Element | null {
  if (names.length === 0) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {names.map((each) => (
          <code class="chip" key={each}>
            <Text>{each}</Text>
          </code>
        ))}
      </dd>
    </div>
  );
}
