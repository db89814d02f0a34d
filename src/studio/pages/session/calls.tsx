// Tool calls and code cells: folded to one line, with all that is known of them below.
import type { ComponentChildren, JSX } from "preact";
import { duration, firstWords, jsonOf, shortJson, shown } from "../../format.ts";
import { Badge, Code, Text } from "../../parts/basics.tsx";
import { Icon } from "../../parts/icons.tsx";
import { type Around, Attachments } from "./around.tsx";
import type { Attachment, CallItem, CellItem, Item, Result } from "./items.ts";
import { Copy } from "./markdown.tsx";

/** One line that unfolds. What is inside is drawn only while it is open. */
export function Fold(props: {
  readonly item: Item;
  readonly around: Around;
  readonly head: ComponentChildren;
  readonly children: ComponentChildren;
  readonly isOpen?: boolean;
}): JSX.Element {
  const { item, around, head, children } = props;
  const isOpen = around.isOpen(item.key) ?? props.isOpen ?? false;
  return (
    <div class={isOpen ? "fold open" : "fold"}>
      <button type="button" class="fold-head" aria-expanded={isOpen} onClick={() => around.setOpen(item.key, !isOpen)}>
        <span class="fold-mark">
          <Icon name="down" />
        </span>
        {head}
      </button>
      {isOpen && <div class="fold-body">{children}</div>}
    </div>
  );
}

/** How long calls took that ran while the page was open: their messages do not have it. */
const took = new Map<string, number>();
const TOOK_MAX = 500;

const WORDS: { readonly [status: string]: string } = { ok: "done", unknown: "unknown result" };
const STATES: { readonly [status: string]: string } = { ok: "ok", returned: "running", unknown: "failed" };

function stateOf({ result, live, isWaiting }: CallItem): string {
  if (isWaiting === true) return "waiting";
  if (result !== undefined) return result.status;
  if (live === undefined) return "running";
  return live.state === "ended" ? (live.status ?? "ok") : live.state;
}

export function Call({ item, around }: { readonly item: CallItem & Item; readonly around: Around }): JSX.Element {
  const { name, input, result, live, key } = item;
  const state = stateOf(item);
  if (live?.ms !== undefined) {
    if (took.size >= TOOK_MAX) took.clear();
    took.set(key, live.ms);
  }
  const ms = live?.ms ?? took.get(key);
  const words = input === undefined ? "" : firstWords(shortJson(input), 120);
  return (
    <Fold
      item={item}
      around={around}
      head={
        <>
          <span class={item.isPart === true ? "fold-name part" : "fold-name"}>
            <Text>{name}</Text>
          </span>
          <span class="fold-about mono">
            <Text>{words}</Text>
          </span>
          {ms !== undefined && <span class="fold-time number">{duration(ms)}</span>}
          <Badge state={STATES[state] ?? state}>{WORDS[state] ?? state}</Badge>
        </>
      }
    >
      {input !== undefined && (
        <Section title="Arguments" text={jsonOf(input)}>
          <Code value={input} label={`Arguments of ${name}`} />
        </Section>
      )}
      {live !== undefined && live.progress !== undefined && live.state === "running" && (
        <Section title="Progress">
          <Progress value={live.progress} />
        </Section>
      )}
      {live !== undefined && live.printed !== "" && (
        <Section title="Printed">
          <Printed text={live.printed} />
        </Section>
      )}
      {result !== undefined ? (
        <ResultOf result={result} around={around} name={name} />
      ) : (
        live?.output !== undefined && (
          <Section title="Result" text={outputText(live.output)}>
            <Code value={outputText(live.output)} label={`Result of ${name}`} />
          </Section>
        )
      )}
    </Fold>
  );
}

export function Cell({ item, around }: { readonly item: CellItem & Item; readonly around: Around }): JSX.Element {
  const { code, result } = item;
  const state = result?.status ?? "running";
  return (
    <Fold
      item={item}
      around={around}
      isOpen
      head={
        <>
          <span class="fold-name">Code</span>
          <span class="fold-about mono">
            <Text>{firstWords(code.slice(0, 300), 120)}</Text>
          </span>
          <Badge state={state === "done" ? "ok" : state === "running" ? "running" : "failed"}>{state}</Badge>
        </>
      }
    >
      {code !== "" && (
        <Section title="Code" text={code}>
          <Code value={code} label="Code" />
        </Section>
      )}
      {result !== undefined && <ResultOf result={result} around={around} name="the code" title="Output" />}
    </Fold>
  );
}

function Section(props: { readonly title: string; readonly text?: string; readonly children: ComponentChildren }) {
  return (
    <section class="part">
      <header class="part-head">
        <span>{props.title}</span>
        {props.text !== undefined && <Copy text={props.text} label="Copy" />}
      </header>
      {props.children}
    </section>
  );
}

function ResultOf(props: { readonly result: Result; around: Around; name: string; title?: string }): JSX.Element {
  const { result, around, name, title = "Result" } = props;
  const text = result.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
  const files = result.parts.filter((part): part is Attachment => part.kind === "attachment");
  return (
    <>
      {(text !== "" || files.length === 0) && (
        <Section title={title} text={text}>
          {text === "" ? <p class="dim">Nothing.</p> : <Code value={indented(text)} label={`${title} of ${name}`} />}
        </Section>
      )}
      <Attachments of={files} session={around.session} />
      {result.trail?.map(({ callId, name: tool, input, asked = [] }) => (
        <section class="part" key={callId}>
          {input !== undefined && (
            <>
              <header class="part-head">
                <span>
                  <Text>{tool}</Text> ran with other arguments
                </span>
              </header>
              <Code value={input} label={`Arguments that ${tool} ran with`} />
            </>
          )}
          {asked.map(({ at, reason, answer }) => (
            <p class="asked" key={at}>
              <Icon name="waits" />
              <span>
                Asked: <Text>{reason}</Text>{" "}
                {answer === undefined
                  ? "Nobody answered."
                  : answer.how !== "answered"
                    ? `Ended by ${answer.how === "timeout" ? "the deadline" : "a withdrawal"}.`
                    : answer.approved === undefined
                      ? "Answered"
                      : answer.approved
                        ? "Approved"
                        : "Denied"}
                {answer?.isEdited === true && " with other arguments"}
                {answer?.by !== undefined && (
                  <>
                    {" by "}
                    <Text>{answer.by}</Text>
                  </>
                )}
                {answer?.reason !== undefined && (
                  <>
                    {": "}
                    <Text>{answer.reason}</Text>
                  </>
                )}
              </span>
            </p>
          ))}
        </section>
      ))}
    </>
  );
}

/** The end of what a tool prints: it grows while one looks. */
const PRINTED_MAX = 8_000;

const Printed = ({ text }: { readonly text: string }): JSX.Element => (
  <div class="code" tabIndex={0} role="group" aria-label="Printed">
    <pre>
      {text.length > PRINTED_MAX ? "…" : ""}
      {shown(text.slice(-PRINTED_MAX))}
    </pre>
  </div>
);

/** `{ done, of }` and shares of 1 are drawn as a bar. */
function Progress({ value }: { readonly value: unknown }): JSX.Element {
  const { done, of, total = of, current = done } = Object(value) as { readonly [name: string]: unknown };
  const share = typeof value === "number" ? value : Number(current) / Number(total);
  if (!(share >= 0 && share <= 1)) return <Code value={value} label="Progress" />;
  return (
    <p class="progress">
      <progress value={share} max={1} aria-label="Progress" />
      <span class="dim">
        {typeof value === "number" ? `${Math.round(share * 100)} %` : `${Number(current)} of ${Number(total)}`}
      </span>
    </p>
  );
}

/** A result that is JSON reads better with line breaks. One that is too long is shown as it came. */
const INDENTED_MAX = 50_000;
function indented(text: string): string {
  if (text.length > INDENTED_MAX || !/^[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function outputText(output: NonNullable<NonNullable<CallItem["live"]>["output"]>): string {
  switch (output.kind) {
    case "value":
      return jsonOf(output.value);
    case "failure":
      return `Error (${output.failure.code}): ${output.failure.message}`;
    default:
      return output.reason;
  }
}
