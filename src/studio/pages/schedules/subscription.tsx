// One subscription: when it starts what, and its switch.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { date, firstWords, shown } from "../../format.ts";
import { useAction } from "../../load.ts";
import { Button, Id, Link, Problem, Text, When } from "../../parts/basics.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { client } from "../../server.ts";
import type { Occurrence, Subscription } from "../../types.ts";
import { Deliveries } from "./occurrences.tsx";
import { whenOf } from "./words.ts";

export function SubscriptionRow({ of, onChange }: { readonly of: Subscription; readonly onChange: () => void }) {
  const { id, sessionId, label, on, starts, isEnabled, next } = of;
  const { isBusy, failure, run } = useAction();
  const [isAsking, setAsking] = useState(false);
  const [latest, setLatest] = useState<Occurrence>();
  const path = { id: sessionId, trigger: id };
  const isSchedule = on.kind === "cron" || on.kind === "interval";
  const toggle = async (): Promise<void> => {
    if (await run(() => client.request("setTrigger", { path, body: { isEnabled: !isEnabled } }))) onChange();
  };
  const runNow = async (): Promise<void> => {
    if (await run(async () => setLatest(await client.request("runTrigger", { path })))) onChange();
  };
  return (
    <div class="row subscription" data-row tabIndex={-1}>
      <Switch name={shown(label)} isOn={isEnabled} isDisabled={isBusy} onClick={toggle} />
      <div class="row-main">
        <span class="row-title">
          <Text>{label}</Text>
        </span>
        <span class="row-about wraps">
          <span>
            <Text>{whenOf(of)}</Text>
          </span>
          <span class="dim">
            in{" "}
            <Link to="session" id={sessionId}>
              <Text>{sessionId}</Text>
            </Link>
          </span>
        </span>
      </div>
      <div class="starts">
        {starts.kind === "turn" ? (
          <>
            <span class="dim">Turn</span> <Text>{firstWords(starts.text, 100)}</Text>
          </>
        ) : (
          <>
            <span class="dim">Job</span> <Id>{starts.operation}</Id>
          </>
        )}
      </div>
      <div class="next">
        {next !== undefined && isEnabled ? (
          <>
            <strong>
              <When at={next} />
            </strong>
            <span class="dim wide">{date(next)}</span>
          </>
        ) : (
          <span class="dim">{isEnabled ? (isSchedule ? "no next time" : "on its event") : "disabled"}</span>
        )}
      </div>
      <div class="row-actions">
        {isSchedule && (
          <Button
            icon="play"
            isDisabled={isBusy || !isEnabled}
            label={`Run now: ${shown(label)}`}
            title={isEnabled ? "Its planned times stay" : "Enable it first"}
            onClick={runNow}
          >
            Run now
          </Button>
        )}
        <Button
          kind="quiet"
          icon="close"
          label={`Remove ${shown(label)}`}
          title="Remove"
          onClick={() => setAsking(true)}
        >
          {""}
        </Button>
      </div>
      {latest !== undefined && (
        <p class="row-note" role="status">
          Started: <Deliveries of={latest} />
        </p>
      )}
      {failure !== undefined && (
        <div class="row-note">
          <Problem failure={failure} />
        </div>
      )}
      {isAsking && (
        <Confirm
          title="Remove this subscription?"
          action="Remove"
          onClose={() => setAsking(false)}
          run={async () => {
            await client.request("removeTrigger", { path });
            onChange();
          }}
        >
          <p>
            “<Text>{label}</Text>” starts nothing more. Work that it started continues. To stop it for a while, disable
            it.
          </p>
        </Confirm>
      )}
    </div>
  );
}

function Switch(props: {
  readonly name: string;
  readonly isOn: boolean;
  readonly isDisabled: boolean;
  readonly onClick: () => void;
}): JSX.Element {
  const { name, isOn, isDisabled, onClick } = props;
  return (
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked={isOn}
      aria-label={`${name} is enabled`}
      title={isOn ? "Disable" : "Enable"}
      disabled={isDisabled}
      onClick={onClick}
    >
      <span />
    </button>
  );
}
