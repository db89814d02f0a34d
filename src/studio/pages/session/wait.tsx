// A question of a turn or a job, and the form that answers it.
import type { ClientWait } from "bowline/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ago, exactly, jsonOf } from "../../format.ts";
import { useAction, useLoad } from "../../load.ts";
import { Button, Problem, When } from "../../parts/basics.tsx";
import { Icon } from "../../parts/icons.tsx";
import { client } from "../../server.ts";
import type { Wait } from "../../types.ts";

type Answer = Parameters<typeof client.waits.answer>[1];
type Schema = NonNullable<Wait["schema"]>;

export function WaitCard({ wait }: { readonly wait: ClientWait }): JSX.Element {
  const { id, wants, reason, call, until } = wait;
  const [isOver, setOver] = useState(false);
  const { run, failure, isBusy } = useAction();
  // The schema is not part of a view. A wait that is answered meanwhile is not found: then it goes away in a moment.
  const details = useLoad(`wait ${id}`, (signal) => client.request("getWait", { path: { id }, signal }));
  const answer = (body: Answer): void =>
    void run(async () => {
      const { kind } = await client.waits.answer(id, body).catch((error: { readonly code?: string }) => {
        if (error.code === "wait.unknown") return { kind: "already-resolved" as const };
        throw error;
      });
      setOver(true);
      return kind;
    });
  const isApproval = wants === "approval" || wants === "interrupted";
  return (
    <section class="wait" aria-label={`Waiting for an answer: ${exactly(call.name)}`}>
      <header class="wait-head">
        <Icon name="waits" />
        <p class="wait-reason">
          <strong>{TITLES[wants]}</strong> <bdi>{exactly(reason)}</bdi>
        </p>
        <span class="dim" title={`Until ${new Date(until).toLocaleString()}`}>
          {details.data === undefined ? `ends ${ago(until)}` : <When at={details.data.askedAt} />}
        </span>
      </header>
      <pre class="wait-call" tabIndex={0} role="group" aria-label="The call">
        <b>{exactly(call.name)}</b> {exactly(jsonOf(call.input))}
      </pre>
      {isOver ? (
        <p class="dim" role="status">
          It is answered.
        </p>
      ) : isApproval ? (
        <Approval wait={wait} schema={details.data?.schema} isBusy={isBusy} answer={answer} />
      ) : (
        <Value key={String(details.data !== undefined)} schema={details.data?.schema} isBusy={isBusy} answer={answer} />
      )}
      {failure !== undefined && <Problem failure={failure} />}
    </section>
  );
}

const TITLES: { readonly [W in ClientWait["wants"]]: string } = {
  approval: "Approval needed.",
  interrupted: "A crash interrupted this call. Run it again?",
  question: "A question.",
  result: "A result is expected.",
};

interface FormProps {
  readonly schema: Schema | undefined;
  readonly isBusy: boolean;
  readonly answer: (body: Answer) => void;
}

const HOUR_MS = 3_600_000;
const REMEMBERED: { readonly [choice: string]: number | true | undefined } = {
  "": undefined,
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  always: true,
};

function Approval({ wait, isBusy, answer }: FormProps & { readonly wait: ClientWait }): JSX.Element {
  const { id, wants, call } = wait;
  const [reason, setReason] = useState("");
  const [edited, setEdited] = useState<string>();
  const [remember, setRemember] = useState("");
  const args = edited === undefined ? { value: undefined } : parsed(edited);
  const decide = (approved: boolean): void => {
    const why = reason.trim() === "" ? {} : { reason: reason.trim() };
    const kept = REMEMBERED[remember] === undefined ? {} : { remember: REMEMBERED[remember] };
    const changed = approved && edited !== undefined && "value" in args ? { args: args.value as never } : {};
    answer({ approved, ...why, ...(wants === "approval" ? { ...kept, ...changed } : {}) });
  };
  return (
    <form
      class="wait-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!("problem" in args)) decide(true);
      }}
    >
      {edited !== undefined && (
        <Json
          id={`${id}-args`}
          label="Arguments to run it with"
          value={edited}
          onInput={setEdited}
          problem={"problem" in args ? args.problem : undefined}
        />
      )}
      <div class="wait-row">
        <input
          type="text"
          class="wait-why"
          aria-label="Reason (optional)"
          placeholder="Reason (optional)"
          value={reason}
          onInput={({ currentTarget }) => setReason(currentTarget.value)}
        />
        {wants === "approval" && (
          <select
            aria-label="Remember the answer"
            value={remember}
            onChange={({ currentTarget }) => setRemember(currentTarget.value)}
          >
            <option value="">Only this call</option>
            <option value="hour">Remember for 1 hour</option>
            <option value="day">Remember for 1 day</option>
            <option value="always">Remember in this session</option>
          </select>
        )}
      </div>
      <div class="wait-row">
        <Button kind="main" type="submit" icon="check" isDisabled={isBusy || "problem" in args}>
          {edited === undefined ? "Approve" : "Approve with these arguments"}
        </Button>
        <Button kind="danger" icon="close" isDisabled={isBusy} onClick={() => decide(false)}>
          Deny
        </Button>
        {wants === "approval" && (
          <Button
            kind="quiet"
            onClick={() => setEdited(edited === undefined ? JSON.stringify(call.input, null, 2) : undefined)}
          >
            {edited === undefined ? "Edit the arguments" : "Keep the arguments"}
          </Button>
        )}
      </div>
    </form>
  );
}

/** A value that fits the schema of the wait, or the reason why there is none. */
function Value({ schema, isBusy, answer }: FormProps): JSX.Element {
  const isText = schema?.type === "string";
  const [isJson, setJson] = useState(schema !== undefined && !isText);
  const [typed, setTyped] = useState(schema !== undefined && !isText ? templateOf(schema) : "");
  const choices = Array.isArray(schema?.enum) ? schema.enum.filter((each) => typeof each === "string") : [];
  const value = isJson ? parsed(typed) : { value: typed };
  return (
    <form
      class="wait-form"
      onSubmit={(event) => {
        event.preventDefault();
        if ("value" in value) answer({ value: value.value as never });
      }}
    >
      {choices.length > 0 ? (
        <div class="wait-row">
          {choices.map((each) => (
            <Button key={each} isDisabled={isBusy} onClick={() => answer({ value: each })}>
              {exactly(each)}
            </Button>
          ))}
        </div>
      ) : (
        <Json
          id={`answer-${isJson}`}
          label={isJson ? "Your answer, as JSON" : "Your answer"}
          isText={!isJson}
          value={typed}
          onInput={setTyped}
          problem={"problem" in value && typed !== "" ? value.problem : undefined}
        />
      )}
      <div class="wait-row">
        {choices.length === 0 && (
          <Button kind="main" type="submit" icon="send" isDisabled={isBusy || "problem" in value}>
            Answer
          </Button>
        )}
        <Button
          kind="danger"
          isDisabled={isBusy}
          title="The call fails, and the model reads the text as the reason."
          onClick={() => answer({ error: (isJson ? "" : typed.trim()) || "A person gave no answer." })}
        >
          Answer with an error
        </Button>
        {schema === undefined && (
          <Button kind="quiet" onClick={() => setJson(!isJson)}>
            {isJson ? "Answer with a text" : "Answer with JSON"}
          </Button>
        )}
      </div>
    </form>
  );
}

function Json(props: {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly isText?: boolean;
  readonly problem: string | undefined;
  readonly onInput: (value: string) => void;
}): JSX.Element {
  const { id, label, value, problem } = props;
  return (
    <div class="wait-field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class={props.isText === true ? undefined : "mono"}
        spellcheck={props.isText === true}
        rows={props.isText === true ? 2 : 4}
        value={value}
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : `${id}-problem`}
        onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
      />
      {problem !== undefined && (
        <p class="wait-problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </div>
  );
}

function parsed(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: `This is not JSON: ${(error as Error).message}` };
  }
}

const EMPTY: { readonly [type: string]: unknown } = { string: "", number: 0, integer: 0, boolean: false, array: [] };

/** A value to begin with: the fields of an object, with empty values. */
function templateOf({ type, properties }: Schema): string {
  if (type !== "object" || typeof properties !== "object" || properties === null) return "";
  const fields = Object.entries(properties as { readonly [name: string]: { readonly type?: string } });
  return JSON.stringify(Object.fromEntries(fields.map(([name, of]) => [name, EMPTY[of.type ?? ""] ?? null])), null, 2);
}
