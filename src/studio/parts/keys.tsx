// The keyboard: pages register what their keys do, `?` lists them, `j` and `k` move in lists.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { go, href, type PageName } from "../router.ts";
import { Button } from "./basics.tsx";

export interface KeyAction {
  /** One key, or two with a space between: `g s`. */
  readonly keys: string;
  /** What it does, for the list. */
  readonly name: string;
  /** Where it goes, or what it runs. */
  readonly to?: PageName;
  run?(): void;
}

const actions = signal<readonly KeyAction[]>([]);
const isListed = signal(false);

/** Registers keys while a component is on the page. The latest registration of a key counts. */
export function useKeys(given: readonly KeyAction[]): void {
  const latest = useRef(given);
  latest.current = given;
  useEffect(() => {
    // Run through the ref: a page draws again with other data.
    const mine = given.map(
      (action, index): KeyAction => ({ ...action, run: () => perform(latest.current[index] as KeyAction) }),
    );
    actions.value = [...actions.value, ...mine];
    return () => {
      actions.value = actions.value.filter((each) => !mine.includes(each));
    };
  }, [given.map(({ keys }) => keys).join()]);
}

function perform(action: KeyAction): void {
  if (action.to !== undefined) go(href(action.to));
  action.run?.();
}

/** A second key counts for so long. */
const SEQUENCE_MS = 1_000;
let first = "";
let firstAt = 0;

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const target = event.target as HTMLElement;
  if (target.closest("input, textarea, select, [contenteditable], dialog") !== null) return;
  const sequence = first !== "" && event.timeStamp - firstAt < SEQUENCE_MS ? `${first} ${event.key}` : event.key;
  const found =
    actions.value.findLast(({ keys }) => keys === sequence) ?? actions.value.findLast(({ keys }) => keys === event.key);
  first = found === undefined && actions.value.some(({ keys }) => keys.startsWith(`${event.key} `)) ? event.key : "";
  firstAt = event.timeStamp;
  if (event.key === "?") isListed.value = true;
  if (found === undefined) return;
  event.preventDefault();
  found.run?.();
});

// ── Lists ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `j` and `k` move the focus over the rows of a list: elements with the attribute `data-row`. */
export function useListKeys(): void {
  const move = (step: number): void => {
    const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
    const now = rows.findIndex((row) => row.contains(document.activeElement));
    const next =
      rows[now === -1 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, now + step))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  useKeys([
    { keys: "j", name: "Next row", run: () => move(1) },
    { keys: "k", name: "Previous row", run: () => move(-1) },
  ]);
}

// ── The list of keys ────────────────────────────────────────────────────────────────────────────────────────────────

export function Keys(): JSX.Element {
  return (
    <>
      <Button kind="quiet" onClick={() => (isListed.value = true)}>
        <kbd>?</kbd> Keys
      </Button>
      {isListed.value && (
        <Dialog title="Keys" onClose={() => (isListed.value = false)}>
          <dl class="keys">
            {actions.value.map(({ keys, name }) => (
              <div key={keys}>
                <dt>
                  {keys.split(" ").map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{name}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}

/** A window over the page. Escape, the button and a click beside it close it. */
export function Dialog(props: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: JSX.Element | readonly JSX.Element[];
}): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog
    <dialog
      ref={element}
      aria-label={props.title}
      onClose={props.onClose}
      onClick={(event) => event.target === element.current && element.current?.close()}
    >
      <header>
        <h2>{props.title}</h2>
        <Button kind="quiet" icon="close" label="Close" onClick={() => element.current?.close()}>
          {""}
        </Button>
      </header>
      {props.children}
    </dialog>
  );
}
