// A question before something that cannot be taken back.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useAction } from "../load.ts";
import { Button, Problem } from "./basics.tsx";
import { Dialog } from "./keys.tsx";

export function Confirm(props: {
  readonly title: string;
  /** What happens, in one or two sentences. */
  readonly children: ComponentChildren;
  /** The text of the button that does it. */
  readonly action: string;
  readonly kind?: "danger" | "main";
  readonly run: () => Promise<unknown>;
  readonly onClose: () => void;
}): JSX.Element {
  const { isBusy, failure, run } = useAction();
  // The dialog leaves the page when it closes, and a browser then puts the focus at the top of the page.
  const [before] = useState(() => document.activeElement);
  useEffect(() => () => (before as HTMLElement | null)?.focus?.(), []);
  const confirm = async (): Promise<void> => {
    if (await run(props.run)) props.onClose();
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <div class="confirm">
        {props.children}
        {failure !== undefined && <Problem failure={failure} />}
        <div class="actions">
          <Button onClick={props.onClose}>Back</Button>
          <Button kind={props.kind ?? "danger"} isDisabled={isBusy} onClick={confirm}>
            {props.action}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
