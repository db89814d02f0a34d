// An operation of a plugin: its input as a form, and what it returns. A person confirms what can change something.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { exactly, jsonOf } from "../../format.ts";
import { useAction } from "../../load.ts";
import { Code, Id, Link, Problem, Text } from "../../parts/basics.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { JsonForm } from "../../parts/json-form.tsx";
import type { Json } from "../../parts/schema.ts";
import { client } from "../../server.ts";
import type { Plugin } from "../../types.ts";

type Operation = Plugin["operations"][number];
type Receipt = Awaited<ReturnType<typeof invoke>>;

const invoke = ({ name, kind }: Operation, session: string, input: Json | undefined) => {
  const body = { kind, ...(input === undefined ? {} : { input }) };
  return client.request("invokeOperation", { path: { id: session, name }, body: body as never });
};

export function OperationForm(props: {
  readonly operation: Operation;
  readonly session: string;
  readonly onChange: () => void;
}): JSX.Element {
  const { operation, session, onChange } = props;
  const { name, plugin, kind, description, input } = operation;
  const [asked, setAsked] = useState<{ readonly input: Json | undefined }>();
  const [receipt, setReceipt] = useState<Receipt>();
  const { isBusy, failure, run } = useAction();
  const work = async (given: Json | undefined): Promise<void> => {
    setReceipt(undefined);
    setReceipt(await invoke(operation, session, given));
    if (kind !== "query") onChange();
  };
  return (
    <details class="operation">
      <summary>
        <code>
          <Text>{name.slice(plugin.length + 1)}</Text>
        </code>
        <span class="chip">{kind}</span>
        <span class="dim">
          <Text>{description}</Text>
        </span>
      </summary>
      <div class="operation-body">
        <JsonForm
          schema={input}
          name="Input"
          action="Run"
          isBusy={isBusy}
          onSubmit={(given) => (kind === "query" ? run(() => work(given)) : setAsked({ input: given }))}
        />
        {failure !== undefined && <Problem failure={failure} />}
        {receipt !== undefined && <Result receipt={receipt} />}
      </div>
      {asked !== undefined && (
        <Confirm
          title={kind === "task" ? "Run this task?" : "Run this command?"}
          action="Run"
          kind="main"
          run={() => work(asked.input)}
          onClose={() => setAsked(undefined)}
        >
          <p>
            <code>
              <Text>{name}</Text>
            </code>{" "}
            can change the session <Id>{session}</Id>.
          </p>
          {asked.input !== undefined && (
            <div class="code" tabIndex={0} role="group" aria-label="Input">
              <pre>{exactly(jsonOf(asked.input))}</pre>
            </div>
          )}
        </Confirm>
      )}
    </details>
  );
}

function Result({ receipt: { output, events = [], queued = [] } }: { readonly receipt: Receipt }): JSX.Element {
  return (
    <div class="result" role="status">
      <p class="done">Done</p>
      {output === undefined || output === null ? (
        <p class="dim">It returned nothing.</p>
      ) : (
        <Code value={output} label="Result" />
      )}
      {events.length > 0 && (
        <details>
          <summary>Events ({events.length})</summary>
          <Code value={events} label="Events" />
        </details>
      )}
      {queued.map((id) => (
        <p key={id}>
          It queued the turn{" "}
          <Link to="turn" id={id}>
            <Id>{id}</Id>
          </Link>
        </p>
      ))}
    </div>
  );
}
