import type { JSX } from "preact";

/** A journal that cannot be read. What does not come from it is shown above. */
export const Damaged = ({ isOpen }: { readonly isOpen: boolean }): JSX.Element => (
  <div class="damaged">
    <div class="problem" role="alert">
      <p>
        <strong>The journal is damaged.</strong> <code>bowline doctor</code> lists all damage of a store.
      </p>
      <code>store.corrupt</code>
    </div>
    <p class="dim">
      {isOpen
        ? "No process can resume the turn as long as its journal is damaged. Restore the database from a backup."
        : "The journals of ended turns are only for people to read. The session works, and the facts above and the answer are stored elsewhere."}
    </p>
  </div>
);
