// Sends a signal that a job declares.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../../load.ts";
import { Problem, Text } from "../../parts/basics.tsx";
import { JsonForm } from "../../parts/json-form.tsx";
import { client } from "../../server.ts";
import type { Job } from "../../types.ts";

export function Signals({ job, onSent }: { readonly job: Job; readonly onSent: () => void }): JSX.Element {
  return (
    <>
      {Object.entries(job.signals ?? {}).map(([name, schema]) => (
        <Signal key={name} id={job.id} name={name} schema={schema} onSent={onSent} />
      ))}
    </>
  );
}

function Signal(props: {
  readonly id: string;
  readonly name: string;
  readonly schema: unknown;
  readonly onSent: () => void;
}): JSX.Element {
  const { id, name, schema, onSent } = props;
  const { isBusy, failure, run } = useAction();
  const [sent, setSent] = useState(0);
  return (
    <div class="card signal">
      <h3>
        <Text>{name}</Text>
      </h3>
      <JsonForm
        schema={schema}
        name="Payload"
        action="Send"
        icon="send"
        isBusy={isBusy}
        onSubmit={async (payload) => {
          const isSent = await run(() =>
            client.request("signalJob", { path: { id, name }, body: payload === undefined ? {} : { payload } }),
          );
          if (!isSent) return;
          setSent(sent + 1);
          onSent();
        }}
      >
        {sent > 0 && (
          <span role="status" class="done">
            Sent{sent > 1 && ` (${sent})`}
          </span>
        )}
      </JsonForm>
      {failure !== undefined && <Problem failure={failure} />}
    </div>
  );
}
