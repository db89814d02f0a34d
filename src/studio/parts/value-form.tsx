// A value that a tool waits for: a text, a choice, or JSON that fits its schema. Or the reason why there is none.
import type { Api } from "bowline/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, Code } from "./basics.tsx";

export type AnswerBody = Api["answerWait"]["body"];
type Schema = { readonly [key: string]: unknown } | undefined;

interface ValueFormProps {
  /** Of the field, unique on the page. */
  readonly id: string;
  readonly schema: Schema;
  readonly isBusy: boolean;
  readonly onAnswer: (body: AnswerBody, result: string) => void;
}

export function ValueForm({ id, schema, isBusy, onAnswer }: ValueFormProps): JSX.Element {
  const choices = choicesIn(schema);
  const isText = schema?.type === "string";
  const [isNone, setNone] = useState(false);
  const [typed, setTyped] = useState(isText || choices !== undefined ? "" : skeleton(schema));
  const [wrong, setWrong] = useState("");
  const [reason, setReason] = useState("");
  const answer = (): void => {
    if (isNone) return onAnswer({ error: reason.trim() || "There is no answer." }, "Answered: there is no value.");
    try {
      const value = isText && choices === undefined ? typed : JSON.parse(typed);
      setWrong("");
      onAnswer({ value }, "Answered.");
    } catch (error) {
      setWrong(choices === undefined ? `This is not JSON: ${(error as Error).message}` : "Choose a value.");
    }
  };
  return (
    <form
      class="wait-form"
      onSubmit={(event) => {
        event.preventDefault();
        answer();
      }}
    >
      <label for={id}>
        {isNone ? "Why is there no value? The model reads it." : nameOf(schema, choices !== undefined)}
      </label>
      {isNone ? (
        <textarea id={id} rows={2} value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
      ) : choices !== undefined ? (
        <select id={id} value={typed} onChange={({ currentTarget }) => setTyped(currentTarget.value)}>
          <option value="">–</option>
          {choices.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      ) : (
        <textarea
          id={id}
          class={isText ? "" : "mono"}
          rows={isText ? 3 : 5}
          spellcheck={isText}
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      )}
      {wrong !== "" && (
        <p class="bad" role="alert">
          {wrong}
        </p>
      )}
      <Button kind="main" type="submit" isDisabled={isBusy}>
        {isNone ? "Send the reason" : "Answer"}
      </Button>
      <Button kind="quiet" onClick={() => setNone(!isNone)}>
        {isNone ? "Back" : "There is no value …"}
      </Button>
      {schema !== undefined && !isText && choices === undefined && (
        <details class="wait-schema">
          <summary>Schema of the value</summary>
          <Code value={schema} label="Schema" />
        </details>
      )}
    </form>
  );
}

function nameOf(schema: Schema, isChoice: boolean): string {
  const described = typeof schema?.description === "string" ? `: ${schema.description}` : "";
  return `${isChoice ? "Value" : schema?.type === "string" ? "Text" : "Value, as JSON"}${described}`;
}

/** The values of a schema that has only a few, as JSON. */
function choicesIn(schema: Schema): readonly string[] | undefined {
  if (schema?.type === "boolean") return ["true", "false"];
  return Array.isArray(schema?.enum) ? schema.enum.map((each) => JSON.stringify(each)) : undefined;
}

const EMPTY: { readonly [type: string]: unknown } = { string: "", number: 0, integer: 0, boolean: false, array: [] };

/** The fields of an object, for a person to fill in. */
function skeleton(schema: Schema): string {
  if (schema === undefined || typeof schema.properties !== "object" || schema.properties === null) return "";
  const fields = Object.entries(schema.properties as { readonly [name: string]: { readonly type?: unknown } });
  return JSON.stringify(
    Object.fromEntries(fields.map(([name, { type }]) => [name, EMPTY[String(type)] ?? null])),
    null,
    2,
  );
}
