// Two branches beside each other, from where they part.
import type { JSX } from "preact";
import { shortJson } from "../../format.ts";
import { useLoad } from "../../load.ts";
import { Link, Shown, Text } from "../../parts/basics.tsx";
import { Dialog } from "../../parts/keys.tsx";
import { SessionName } from "../../parts/session-name.tsx";
import { client } from "../../server.ts";
import type { Node } from "../../types.ts";
import { type Item, itemsOfNodes } from "./items.ts";
import { Markdown } from "./markdown.tsx";

/** The most items of a branch that are drawn. */
const MAX = 200;

export function Compare(props: {
  readonly id: string;
  readonly other: string;
  readonly onClose: () => void;
}): JSX.Element {
  const { id, other, onClose } = props;
  const found = useLoad(`compare ${id} ${other}`, (signal) =>
    client.request("compareSessions", { path: { id, other }, signal }),
  );
  return (
    <Dialog title="Compare branches" onClose={onClose}>
      <div class="compare">
        <Shown of={found}>
          {({ common, ours, theirs }) => (
            <>
              <p class="dim">
                {common === undefined ? "They share no message." : "What follows the last message that they share."}
              </p>
              <div class="compare-sides">
                <Side id={id} name="This session" nodes={ours} />
                <Side id={other} name="The other session" nodes={theirs} />
              </div>
            </>
          )}
        </Shown>
      </div>
    </Dialog>
  );
}

function Side(props: { readonly id: string; readonly name: string; readonly nodes: readonly Node[] }): JSX.Element {
  const { id, name, nodes } = props;
  const items = itemsOfNodes(nodes.toReversed(), undefined).filter(({ kind }) => KINDS.includes(kind));
  return (
    <div class="compare-side" tabIndex={0} role="group" aria-label={name}>
      <h3>
        <Link to="session" id={id}>
          <SessionName id={id} />
        </Link>
      </h3>
      {items.length === 0 && <p class="dim">Nothing follows.</p>}
      {items.slice(0, MAX).map((item) => (
        <Line key={item.key} item={item} />
      ))}
      {items.length > MAX && <p class="dim">The session has {items.length - MAX} more.</p>}
    </div>
  );
}

const KINDS: readonly Item["kind"][] = ["user", "note", "assistant", "call"];

function Line({ item }: { readonly item: Item }): JSX.Element | null {
  switch (item.kind) {
    case "user":
    case "note":
      return (
        <p class="compare-said">
          <Text>{item.text}</Text>
        </p>
      );
    case "assistant":
      return <Markdown text={item.text} />;
    case "call":
      return (
        <p class="compare-call">
          <strong>
            <Text>{item.name}</Text>
          </strong>{" "}
          <code>
            <Text>{shortJson(item.input)}</Text>
          </code>
        </p>
      );
    default:
      return null;
  }
}
