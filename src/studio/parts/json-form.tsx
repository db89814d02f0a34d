// A form for a value: fields for a simple object, and JSON for everything else.
import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { jsonOf, shown } from "../format.ts";
import { Button, Code, Text } from "./basics.tsx";
import type { IconName } from "./icons.tsx";
import { type Field, fieldsOf, type Json, objectOf, sampleOf } from "./schema.ts";

export function JsonForm(props: {
  /** The JSON Schema of the value. Undefined: there is none to enter. */
  readonly schema: unknown;
  /** The name of the value, for example "Payload". */
  readonly name: string;
  readonly action: string;
  readonly icon?: IconName;
  readonly isBusy: boolean;
  /** An empty text gives `undefined`. */
  readonly onSubmit: (value: Json | undefined) => void;
  /** Beside the button. */
  readonly children?: ComponentChildren;
}): JSX.Element {
  const { schema, name, isBusy, onSubmit } = props;
  const fields = fieldsOf(schema);
  const [texts, setTexts] = useState<{ readonly [name: string]: string }>({});
  const [raw, setRaw] = useState<string | undefined>(() =>
    schema === undefined || fields !== undefined ? undefined : JSON.stringify(sampleOf(schema), null, 2),
  );
  const [problem, setProblem] = useState("");
  const id = useId();
  const submit = (): void => {
    try {
      const value =
        raw === undefined
          ? fields && objectOf(fields, texts)
          : raw.trim() === ""
            ? undefined
            : (JSON.parse(raw) as Json);
      setProblem("");
      onSubmit(value);
    } catch (error) {
      setProblem(String((error as Error).message));
    }
  };
  const swap = (): void => {
    if (raw !== undefined || fields === undefined) return setRaw(undefined);
    setRaw(JSON.stringify(objectOf(fields, texts), null, 2));
  };
  return (
    <form
      class="json-form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {raw === undefined
        ? fields?.map((field) => (
            <Entry
              key={field.name}
              field={field}
              id={`${id}-${field.name}`}
              value={texts[field.name] ?? field.first}
              onValue={(value) => setTexts({ ...texts, [field.name]: value })}
            />
          ))
        : schema !== undefined && (
            <div class="entry">
              <label for={id}>{name} (JSON)</label>
              <textarea
                id={id}
                class="mono"
                rows={3}
                spellcheck={false}
                value={raw}
                aria-invalid={problem !== ""}
                aria-describedby={problem === "" ? undefined : `${id}-problem`}
                onInput={({ currentTarget }) => setRaw(currentTarget.value)}
              />
            </div>
          )}
      {problem !== "" && (
        <p class="entry-problem" id={`${id}-problem`} role="alert">
          This is not JSON: <Text>{problem}</Text>
        </p>
      )}
      {raw !== undefined && hasRules(schema) && (
        <details>
          <summary>Schema</summary>
          <Code value={schema} label={`Schema of ${name}`} />
        </details>
      )}
      <div class="form-end">
        <Button kind="main" type="submit" icon={props.icon ?? "play"} isDisabled={isBusy}>
          {props.action}
        </Button>
        {fields !== undefined && fields.length > 0 && (
          <Button kind="quiet" onClick={swap}>
            {raw === undefined ? "As JSON" : "As a form"}
          </Button>
        )}
        {props.children}
      </div>
    </form>
  );
}

const hasRules = (schema: unknown): boolean => Object.keys(Object(schema)).some((key) => key !== "$schema");

function Entry(props: {
  readonly field: Field;
  readonly id: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
}): JSX.Element {
  const { field, id, value, onValue } = props;
  const { name, type, isRequired, about } = field;
  const common = { id, value, required: isRequired, "aria-describedby": about === "" ? undefined : `${id}-about` };
  const choices = type === "boolean" ? ["true", "false"] : field.choices;
  return (
    <div class="entry">
      <label for={id}>
        <Text>{name}</Text>
        {!isRequired && <span class="dim"> optional</span>}
      </label>
      {type === "boolean" || type === "choice" ? (
        <select {...common} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
          <option value="">–</option>
          {choices.map((each) => (
            <option key={each} value={each}>
              {type === "boolean" ? (each === "true" ? "Yes" : "No") : shown(jsonOf(JSON.parse(each)))}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...common}
          list={undefined}
          // An empty text is a value of a text.
          required={isRequired && type !== "text"}
          type={type === "text" ? "text" : "number"}
          step={type === "integer" ? 1 : "any"}
          autocomplete="off"
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
      {about !== "" && (
        <p class="entry-about" id={`${id}-about`}>
          <Text>{about}</Text>
        </p>
      )}
    </div>
  );
}
