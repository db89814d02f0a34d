// The name of a session, where only its id is known.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { plainWords, shown } from "../format.ts";
import { client } from "../server.ts";
import { Text } from "./basics.tsx";

/** Names that were read. A name is read once per page: it rarely changes. */
const names = new Map<string, Promise<string>>();
const NAMES_MAX = 500;
const WORDS = 60;

async function read(id: string): Promise<string> {
  const { label, lastWords } = await client.request("findSession", { path: { id } });
  return label || plainWords(lastWords ?? "", WORDS) || id;
}

function nameOf(id: string): Promise<string> {
  const known = names.get(id);
  if (known !== undefined) return known;
  if (names.size >= NAMES_MAX) names.clear();
  const reading = read(id).catch(() => {
    names.delete(id); // A later row tries again.
    return id;
  });
  names.set(id, reading);
  return reading;
}

/** Its label, else its last words, else its id. */
export function SessionName({ id }: { readonly id: string }): JSX.Element {
  const [name, setName] = useState(id);
  useEffect(() => {
    let isHere = true;
    void nameOf(id).then((found) => isHere && setName(found));
    return () => {
      isHere = false;
    };
  }, [id]);
  return (
    <span class="session-name" title={shown(id)}>
      <Text>{name}</Text>
    </span>
  );
}
