// Where a person writes: a message opens a turn, or steers the one that runs.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { bytes, shown } from "../../format.ts";
import { useAction } from "../../load.ts";
import { Button, Problem } from "../../parts/basics.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useKeys } from "../../parts/keys.tsx";
import { client } from "../../server.ts";
import { draftOf, filesOf, setDraft, setFiles } from "./draft.ts";

export interface ComposerProps {
  /** Empty for a session that the first message makes. */
  readonly session: string;
  /** Makes the session, if there is none. Returns its id, also when it is called again. */
  readonly make: () => Promise<string>;
  readonly isBusy: boolean;
  readonly isDisabled: boolean;
  /** A message was accepted. */
  readonly onSent: (session: string) => void;
}

export function Composer({ session, make, isBusy, isDisabled, onSent }: ComposerProps): JSX.Element {
  const [text, setText] = useState(() => draftOf(session));
  const [files, keepFiles] = useState(() => filesOf(session));
  const [isOver, setOver] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const sending = useAction();
  const cancelling = useAction();
  // A message whose answer was lost is sent again with the same key, so it is accepted once.
  const unsent = useRef({ of: "", key: "" });
  useKeys([{ keys: "c", name: "Write a message", run: () => field.current?.focus() }]);

  const write = (words: string): void => {
    setText(words);
    setDraft(session, words);
  };
  const attach = (given: readonly File[]): void => {
    keepFiles(given);
    setFiles(session, given);
  };
  const isEmpty = text.trim() === "" && files.length === 0;

  const send = async (): Promise<void> => {
    if (isEmpty || isDisabled) return;
    const of = `${text} ${files.map(({ name, size, lastModified }) => `${name} ${size} ${lastModified}`)}`;
    if (unsent.current.of !== of) unsent.current = { of, key: crypto.getRandomValues(new Uint32Array(4)).join("-") };
    const { key } = unsent.current;
    let to = "";
    const isSent = await sending.run(async () => {
      to = await make();
      const parts = await Promise.all(files.map((file) => client.blobs.put(to, file, { name: file.name })));
      const words = text.trim() === "" ? [] : [{ kind: "text" as const, text }];
      await client.send(to, files.length === 0 ? text : [...parts, ...words], { key });
    });
    if (!isSent) return;
    unsent.current = { of: "", key: "" };
    // What was typed meanwhile stays.
    const rest = field.current?.value ?? "";
    write(rest === text ? "" : rest);
    attach([]);
    onSent(to);
  };

  const cancel = async (): Promise<void> => {
    // Messages that wait are withdrawn with the turn: their words come back to the field.
    const waiting = await client.request("listInputs", { path: { id: session } });
    await client.sessions.cancel(session, "A person cancelled it in the studio.");
    const words = waiting.filter(({ at }) => at !== "injected").map(({ text }) => text);
    const typed = field.current?.value ?? "";
    if (words.length > 0) write([...words, typed].filter((each) => each !== "").join("\n\n"));
  };

  return (
    <form
      class={isOver ? "composer over" : "composer"}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => {
        if (event.dataTransfer?.types.includes("Files") !== true) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        attach([...files, ...(event.dataTransfer?.files ?? [])]);
      }}
    >
      {sending.failure !== undefined && <Problem failure={sending.failure} />}
      {cancelling.failure !== undefined && <Problem failure={cancelling.failure} />}
      <div class="composer-box">
        {files.length > 0 && (
          <ul class="files">
            {files.map((file, n) => (
              <li key={`${file.name} ${file.size} ${file.lastModified}`} class="file">
                <Icon name="attachment" />
                <span class="file-name">
                  <bdi>{shown(file.name)}</bdi>
                </span>
                <span class="dim">{bytes(file.size)}</span>
                <Button
                  kind="quiet"
                  icon="close"
                  label={`Remove ${shown(file.name)}`}
                  onClick={() => attach(files.toSpliced(n, 1))}
                >
                  {""}
                </Button>
              </li>
            ))}
          </ul>
        )}
        <textarea
          ref={field}
          id="say"
          aria-label="Message"
          rows={1}
          placeholder={isBusy ? "Steer the running turn …" : "Write a message …"}
          disabled={isDisabled}
          value={text}
          onInput={({ currentTarget }) => write(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") field.current?.blur();
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            void send();
          }}
          onPaste={(event) => {
            const pasted = [...(event.clipboardData?.files ?? [])];
            if (pasted.length === 0) return;
            event.preventDefault();
            attach([...files, ...pasted]);
          }}
        />
        <div class="composer-row">
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            onChange={({ currentTarget }) => {
              attach([...files, ...(currentTarget.files ?? [])]);
              currentTarget.value = "";
            }}
          />
          <Button
            kind="quiet"
            icon="attachment"
            isDisabled={isDisabled}
            title="Or drop files here, or paste them"
            onClick={() => picker.current?.click()}
          >
            Attach
          </Button>
          <span class="composer-hint">
            <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> begins a line
          </span>
          {isBusy && (
            <Button
              kind="danger"
              icon="stop"
              isDisabled={cancelling.isBusy}
              title="Ends the running turn. Messages that wait are withdrawn, and their words come back here"
              onClick={() => void cancelling.run(cancel)}
            >
              Cancel
            </Button>
          )}
          <Button kind="main" type="submit" icon="send" isDisabled={isEmpty || isDisabled || sending.isBusy}>
            {sending.isBusy ? "Sending …" : isBusy ? "Steer" : "Send"}
          </Button>
        </div>
      </div>
    </form>
  );
}
