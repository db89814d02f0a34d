// A new session: the first message creates it.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { Empty, Page } from "../../parts/basics.tsx";
import { go, href } from "../../router.ts";
import { client } from "../../server.ts";
import { Composer } from "./composer.tsx";

const FIELDS = {
  id: ["Id", "Generated, if it is left empty"],
  label: ["Label", "A name for people"],
  tags: ["Tags", "With commas between them"],
  instructions: ["Instructions", "Default: the instructions of the runtime"],
} as const;
type Field = keyof typeof FIELDS;
const NAMES = Object.keys(FIELDS) as readonly Field[];

export function NewSession(): JSX.Element {
  const [given, setGiven] = useState<{ readonly [F in Field]?: string }>({});
  // A session that was made while its first message failed is used again.
  const made = useRef<string>(undefined);
  const make = async (): Promise<string> => {
    const { id = "", label = "", tags = "", instructions = "" } = given;
    const all = tags.split(",").flatMap((tag) => tag.trim() || []);
    const config = { ...(label === "" ? {} : { label }), ...(instructions === "" ? {} : { instructions }) };
    made.current ??= (
      await client.sessions.create({
        ...(id === "" ? {} : { id }),
        ...(all.length === 0 ? {} : { tags: all }),
        ...(Object.keys(config).length === 0 ? {} : { config }),
      })
    ).id;
    return made.current;
  };
  return (
    <Page title="New session" isFull>
      <div class="session-page">
        <div class="session-main">
          <div class="new">
            <Empty title="Begin with a message.">The session is created when the first message is sent.</Empty>
            <details class="new-options">
              <summary>Options</summary>
              <div class="new-fields">
                {NAMES.map((name) => (
                  <p key={name}>
                    <label for={`new-${name}`}>{FIELDS[name][0]}</label>
                    {name === "instructions" ? (
                      <textarea
                        id="new-instructions"
                        rows={3}
                        placeholder={FIELDS[name][1]}
                        value={given[name] ?? ""}
                        onInput={({ currentTarget }) => setGiven({ ...given, [name]: currentTarget.value })}
                      />
                    ) : (
                      <input
                        id={`new-${name}`}
                        type="text"
                        placeholder={FIELDS[name][1]}
                        value={given[name] ?? ""}
                        onInput={({ currentTarget }) => setGiven({ ...given, [name]: currentTarget.value.trimStart() })}
                      />
                    )}
                  </p>
                ))}
              </div>
            </details>
          </div>
          <Composer session="" make={make} isBusy={false} isDisabled={false} onSent={(id) => go(href("session", id))} />
        </div>
      </div>
    </Page>
  );
}
