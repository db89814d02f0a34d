// A question to a person with all that is needed to answer it: the exact call, the reason, and the answers that fit.
//
// wait-1 What a person approves is shown whole and exactly: characters without a shape are spelt out.
// wait-2 A wait is answered once: a second press does nothing, and an answer that comes too late is not an error.
import type { ClientWait } from "bowline/client";
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { exactly } from "../format.ts";
import { useAction, useLoad } from "../load.ts";
import { client } from "../server.ts";
import type { Wait } from "../types.ts";
import { Button, Facts, Link, Problem, When } from "./basics.tsx";
import { useKeys } from "./keys.tsx";
import { SessionName } from "./session-name.tsx";
import { type AnswerBody, ValueForm } from "./value-form.tsx";

/** A wait from the list of all waits, or from the view of a session, which lacks some of it. */
type AnyWait = Wait | ClientWait;

interface WaitCardProps {
  readonly wait: AnyWait;
  /** Called when it waits no longer, with what became of it. */
  readonly onAnswered: (result: string) => void;
  /** `a` approves and `d` denies. */
  readonly hasKeys?: boolean;
  /** Links to its session. Default: true. */
  readonly hasSession?: boolean;
}

export const WAIT_KINDS: { readonly [kind: string]: string } = {
  approval: "Approval",
  interrupted: "Interrupted call",
  question: "Question",
  result: "Later result",
};
const ASKS: { readonly [kind: string]: string } = {
  approval: "May this call run?",
  interrupted: "A crash interrupted this call. It may have taken effect. May it run again?",
  question: "The tool asks for an answer.",
  result: "The result of this call comes from outside. You can give it here.",
};
/** Another person was faster, or the time has ended. */
const LATE: readonly string[] = ["wait.unknown", "wait.expired"];
const TOO_LATE = "This waits no longer: it was answered elsewhere, or its time has ended.";

export function WaitCard({ wait, onAnswered, hasKeys = false, hasSession = true }: WaitCardProps): JSX.Element {
  const whole = useLoad(`wait ${wait.id}`, async (signal): Promise<Wait> => {
    if ("tool" in wait) return wait;
    return client.request("getWait", { path: { id: wait.id }, signal });
  });
  const kind = "tool" in wait ? wait.kind : wait.wants;
  const tool = "tool" in wait ? wait.tool : wait.call.name;
  const input = "tool" in wait ? wait.arguments : wait.call.input;
  const { isBusy, failure, run } = useAction();
  const [isDone, setDone] = useState(false);
  const done = useRef(false); // A second press can come before the card is drawn again.

  const finish = (result: string): void => {
    done.current = true;
    setDone(true);
    onAnswered(result);
  };
  const send = (ask: () => Promise<{ readonly kind: string }>, result: string): void => {
    if (done.current) return;
    void run(async () => {
      try {
        finish((await ask()).kind === "accepted" ? result : TOO_LATE);
      } catch (error) {
        if (!LATE.includes((error as { readonly code?: string }).code ?? "")) throw error;
        finish(TOO_LATE);
      }
    });
  };
  const answer = (body: AnswerBody, result: string): void =>
    send(() => client.request("answerWait", { path: { id: wait.id }, body }), result);
  const revoke = (): void =>
    send(() => client.request("revokeWait", { path: { id: wait.id } }), "The question was taken back.");

  const isApproval = kind === "approval" || kind === "interrupted";
  const until = "tool" in wait ? wait.deadline : wait.until;
  const { askedAt, sessionId } = whole.data ?? {};
  return (
    <article class="wait-card" aria-label={`${WAIT_KINDS[kind]}: ${exactly(tool)}`}>
      <p class="wait-ask">{ASKS[kind]}</p>
      {wait.reason !== "" && <p class="wait-reason">{<bdi>{exactly(wait.reason)}</bdi>}</p>}
      <div class="wait-call">
        <strong>
          <bdi>{exactly(tool)}</bdi>
        </strong>
        <pre tabIndex={0} role="group" aria-label="Arguments">
          {exactly(JSON.stringify(input, null, 2) ?? "")}
        </pre>
      </div>
      <Facts
        rows={[
          ["Asked", askedAt !== undefined && <When at={askedAt} />],
          ["Ends", <When at={until} />],
          [
            "Session",
            hasSession && sessionId !== undefined && (
              <Link to="session" id={sessionId}>
                <SessionName id={sessionId} />
              </Link>
            ),
          ],
          wait.turnId === undefined
            ? [
                "Job",
                wait.jobId !== undefined && (
                  <Link to="job" id={wait.jobId}>
                    open the job
                  </Link>
                ),
              ]
            : [
                "Turn",
                <Link to="turn" id={wait.turnId}>
                  open the turn
                </Link>,
              ],
        ]}
      />
      {isApproval ? (
        <Approval
          wait={wait}
          input={input}
          isEditable={kind === "approval"}
          sessionId={sessionId}
          isBusy={isBusy || isDone}
          hasKeys={hasKeys && !isDone}
          onAnswer={answer}
        />
      ) : (
        // The form depends on the schema: what a person types before it is there would be lost.
        whole.data !== undefined && (
          <ValueForm id={`value-${wait.id}`} schema={whole.data.schema} isBusy={isBusy || isDone} onAnswer={answer} />
        )
      )}
      {whole.failure !== undefined && !LATE.includes(whole.failure.code) && (
        <Problem failure={whole.failure} retry={whole.reload} />
      )}
      {failure !== undefined && <Problem failure={failure} />}
      <Revoke isBusy={isBusy || isDone} onRevoke={revoke} isApproval={isApproval} />
    </article>
  );
}

// ── Approvals ───────────────────────────────────────────────────────────────────────────────────────────────────────

interface ApprovalProps {
  readonly wait: AnyWait;
  readonly input: unknown;
  readonly isEditable: boolean;
  readonly sessionId: string | undefined;
  readonly isBusy: boolean;
  readonly hasKeys: boolean;
  readonly onAnswer: (body: AnswerBody, result: string) => void;
}

function Approval(props: ApprovalProps): JSX.Element {
  const { input, isEditable, isBusy, onAnswer } = props;
  const [mode, setMode] = useState<"" | "deny" | "edit">("");
  const [reason, setReason] = useState("");
  const [edited, setEdited] = useState("");
  const [wrong, setWrong] = useState("");
  const [length, setLength] = useState(0);
  const field = useRef<HTMLTextAreaElement>(null);
  // Before the browser draws: the next key already belongs to the field.
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(0, 0); // The beginning of long arguments is in sight.
  }, [mode]);

  const remember = LENGTHS[length]![1];
  const remembered = remember === undefined ? {} : { remember };
  const approve = (): void => onAnswer({ approved: true, ...remembered }, "Approved.");
  const deny = (): void =>
    onAnswer({ approved: false, ...(reason.trim() === "" ? {} : { reason: reason.trim() }), ...remembered }, "Denied.");
  const edit = (): void => {
    try {
      onAnswer({ approved: true, args: JSON.parse(edited), ...remembered }, "Approved with other arguments.");
      setWrong("");
    } catch (error) {
      setWrong(`This is not JSON: ${(error as Error).message}`);
    }
  };
  const startEdit = (): void => {
    if (edited === "") setEdited(editable(input));
    setMode("edit");
  };
  useKeys(
    props.hasKeys
      ? [
          { keys: "a", name: "Approve", run: () => mode === "" && approve() },
          { keys: "d", name: "Deny with a reason", run: () => setMode("deny") },
          ...(isEditable ? [{ keys: "e", name: "Edit the arguments", run: startEdit }] : []),
        ]
      : [],
  );
  return (
    <div class="wait-answer">
      {mode === "" && (
        <div class="wait-buttons">
          <Button kind="main" icon="check" isDisabled={isBusy} onClick={approve}>
            {isEditable ? "Approve" : "Run again"}
          </Button>
          <Button kind="danger" isDisabled={isBusy} onClick={() => setMode("deny")}>
            {isEditable ? "Deny …" : "Do not repeat …"}
          </Button>
          {isEditable && (
            <Button isDisabled={isBusy} onClick={startEdit}>
              Edit arguments
            </Button>
          )}
        </div>
      )}
      {mode === "deny" && (
        <Form onSubmit={deny} onBack={() => setMode("")}>
          <label for={`reason-${props.wait.id}`}>Why? The model reads it.</label>
          <textarea
            id={`reason-${props.wait.id}`}
            ref={field}
            rows={2}
            placeholder="Optional"
            value={reason}
            onInput={({ currentTarget }) => setReason(currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              deny();
            }}
          />
          <Button kind="danger" type="submit" isDisabled={isBusy}>
            Deny
          </Button>
        </Form>
      )}
      {mode === "edit" && (
        <Form onSubmit={edit} onBack={() => setMode("")}>
          <label for={`args-${props.wait.id}`}>Arguments, as JSON</label>
          <textarea
            id={`args-${props.wait.id}`}
            ref={field}
            class="mono"
            rows={6}
            spellcheck={false}
            value={edited}
            onInput={({ currentTarget }) => setEdited(currentTarget.value)}
          />
          {wrong !== "" && (
            <p class="bad" role="alert">
              {wrong}
            </p>
          )}
          <Button kind="main" type="submit" isDisabled={isBusy}>
            Approve these arguments
          </Button>
        </Form>
      )}
      {isEditable && props.sessionId !== undefined && (
        <Remember session={props.sessionId} length={length} onChange={setLength} />
      )}
    </div>
  );
}

/** JSON in which characters without a shape are escapes, so that a person sees them and the value stays. */
const editable = (value: unknown): string =>
  (JSON.stringify(value, null, 2) ?? "").replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (each) =>
    Array.from({ length: each.length }, (_, n) => `\\u${each.charCodeAt(n).toString(16).padStart(4, "0")}`).join(""),
  );

function Form(props: {
  readonly onSubmit: () => void;
  readonly onBack: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <form
      class="wait-form"
      onSubmit={(event) => {
        event.preventDefault();
        props.onSubmit();
      }}
      onKeyDown={(event) => event.key === "Escape" && props.onBack()}
    >
      {props.children}
      <Button kind="quiet" onClick={props.onBack}>
        Back
      </Button>
    </form>
  );
}

function Revoke(props: {
  readonly isBusy: boolean;
  readonly isApproval: boolean;
  readonly onRevoke: () => void;
}): JSX.Element {
  const [isSure, setSure] = useState(false);
  if (!isSure)
    return (
      <div class="wait-revoke">
        <Button kind="quiet" isDisabled={props.isBusy} onClick={() => setSure(true)}>
          Withdraw the question …
        </Button>
      </div>
    );
  return (
    <div class="wait-revoke" role="group" aria-label="Withdraw the question">
      <p>
        {props.isApproval ? "The call then counts as denied." : "The result of the call is then unknown to the model."}
      </p>
      <Button kind="danger" isDisabled={props.isBusy} onClick={props.onRevoke}>
        Withdraw it
      </Button>
      <Button kind="quiet" onClick={() => setSure(false)}>
        Keep it
      </Button>
    </div>
  );
}

// ── Remembered answers ──────────────────────────────────────────────────────────────────────────────────────────────

/** The plugin that remembers answers. */
const REMEMBERS = "bowline/approvals";
const HOUR_MS = 3_600_000;
const LENGTHS: readonly (readonly [name: string, remember: number | true | undefined])[] = [
  ["for this call only", undefined],
  ["for an hour", HOUR_MS],
  ["for a day", 24 * HOUR_MS],
  ["as long as the session lives", true],
];

/** For how long the answer counts. The plugins are read when a person asks, because that opens the session. */
function Remember(props: {
  readonly session: string;
  readonly length: number;
  readonly onChange: (length: number) => void;
}): JSX.Element {
  const { isBusy, failure, run } = useAction();
  const [does, setDoes] = useState<boolean>();
  const look = (): void =>
    void run(async () => {
      const plugins = await client.request("sessionPlugins", { path: { id: props.session } });
      setDoes(plugins.some(({ id }) => id === REMEMBERS));
    });
  if (does === undefined)
    return (
      <>
        <Button kind="quiet" isDisabled={isBusy} onClick={look}>
          Remember the answer …
        </Button>
        {failure !== undefined && <Problem failure={failure} />}
      </>
    );
  if (!does) return <p class="dim">No plugin of this session remembers answers.</p>;
  return (
    <label class="wait-remember">
      The answer counts{" "}
      <select value={props.length} onChange={({ currentTarget }) => props.onChange(Number(currentTarget.value))}>
        {LENGTHS.map(([name], nth) => (
          <option key={name} value={nth}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
