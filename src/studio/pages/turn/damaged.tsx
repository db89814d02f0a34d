import type { JSX } from "preact";
import { Text } from "../../parts/basics.tsx";

/** A journal that cannot be read. What does not come from it is shown above. */
export const Damaged = ({ problem }: { readonly problem: string }): JSX.Element => (
  <div class="damaged">
    <div class="problem" role="alert">
      <p>
        <strong>The journal is damaged.</strong> <Text>{problem}</Text>
      </p>
      <code>store.corrupt</code>
    </div>
    <p class="dim">
      Journals are only for people to read. The session works, and the facts above and the answer are stored elsewhere.{" "}
      <code>bowline doctor</code> lists all damage.
    </p>
  </div>
);
