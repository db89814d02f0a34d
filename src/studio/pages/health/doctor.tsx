// Looks for damage in the store, as `bowline doctor` does.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { clock, duration, plural } from "../../format.ts";
import { useAction } from "../../load.ts";
import { Button, Problem, Text } from "../../parts/basics.tsx";
import { client } from "../../server.ts";

type Checked = Awaited<ReturnType<typeof check>> & { readonly at: number; readonly isDeep: boolean };

const check = (deep: boolean) => client.request("check", { body: { deep } });

export function Doctor(): JSX.Element {
  const { isBusy, failure, run } = useAction();
  const [done, setDone] = useState<Checked>();
  const begin = (isDeep: boolean): void =>
    void run(async () => {
      setDone(undefined);
      setDone({ ...(await check(isDeep)), at: Date.now(), isDeep });
    });
  return (
    <section class="card section">
      <div class="section-head">
        <h2>Doctor</h2>
        <div class="actions">
          <Button icon="health" isDisabled={isBusy} onClick={() => begin(false)}>
            Check now
          </Button>
          <Button
            isDisabled={isBusy}
            onClick={() => begin(true)}
            title="Reads the history of all sessions, which can take long"
          >
            Deep check
          </Button>
        </div>
      </div>
      {failure !== undefined && <Problem failure={failure} />}
      <div role="status">
        {isBusy ? (
          <p class="dim">Reads the store …</p>
        ) : done === undefined ? (
          failure === undefined && <p class="dim">Looks for damage in the store, and changes nothing.</p>
        ) : (
          <Findings done={done} />
        )}
      </div>
    </section>
  );
}

function Findings({ done: { findings, ms, at, isDeep } }: { readonly done: Checked }): JSX.Element {
  const how = `${isDeep ? "Deep check" : "Check"} at ${clock(at)}, ${duration(ms)}.`;
  if (findings.length === 0)
    return (
      <p>
        <span class="done">No damage found.</span> <span class="dim">{how}</span>
      </p>
    );
  return (
    <>
      <p>
        <strong class="lost">{plural(findings.length, "problem")} found.</strong> <span class="dim">{how}</span>
      </p>
      <div class="scroll" tabIndex={0} role="group" aria-label="Findings">
        <table>
          <thead>
            <tr>
              <th>Item</th>
              <th>Problem</th>
            </tr>
          </thead>
          <tbody>
            {findings.map(({ item, problem }) => (
              <tr key={`${item} ${problem}`}>
                <td>
                  <code>
                    <Text>{item}</Text>
                  </code>
                </td>
                <td>
                  <Text>{problem}</Text>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
