import { RuntimeError } from "./errors.ts";

/** Some of the fields. One that is undefined counts as left out. */
export type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined };

type KeysOf<T> = T extends unknown ? keyof T & string : never;
/** Every field of an options type, by name. A list that misses a field, or has one too many, does not compile. */
export type Known<Options> = { readonly [K in KeysOf<Options>]: true };
type Names = { readonly [name: string]: true };

/**
 * Refuses an option that is not known, also one whose value is undefined: a misspelt option would silently be none.
 * An instance of a class can have further fields.
 */
export function requireKnown(where: string, given: object, names: Names): void {
  for (const name in given) if (names[name] !== true) refuse(where, given, name, names);
}

function refuse(where: string, given: object, name: string, names: Names): void {
  if (!Object.hasOwn(given, name) || !isLiteral(given)) return;
  const elsewhere = Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name] : undefined;
  const isCall = elsewhere?.endsWith(")") === true;
  const meant =
    elsewhere !== undefined && (isCall || names[elsewhere] === true) ? elsewhere : nearest(name, Object.keys(names));
  throw new RuntimeError("options.unknown", { where, name, ...(meant === undefined ? {} : { nearest: meant }) });
}

/** What other systems call an option or a call of ours. Their names are too different for `nearest`. */
const ELSEWHERE: { readonly [name: string]: string } = {
  checkpointer: "store",
  schema: "input",
  parameters: "input",
  func: "execute",
  systemPrompt: "instructions",
  thread_id: "runtime.session(id)",
  threadId: "runtime.session(id)",
};

/** Also in another realm, such as a vm context, whose `Object.prototype` is another. */
function isLiteral(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The name that was probably meant: at most a third of it is different, or one of the two begins with the other. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  const typed = name.toLowerCase().slice(0, NAME_MAX);
  let least = Math.ceil(typed.length / 3);
  let found: string | undefined;
  for (const each of names) {
    const known = each.toLowerCase();
    const isBeginning = typed.length > 2 && (known.startsWith(typed) || typed.startsWith(known));
    const edits = isBeginning ? Math.min(1, Math.abs(known.length - typed.length)) : distance(typed, known);
    if (edits > least || (edits === least && found !== undefined)) continue;
    least = edits;
    found = each;
  }
  return found;
}
const NAME_MAX = 64;

/** How many letters must be put in, taken out, exchanged or swapped with the next one. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const edits = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (isSame ? 0 : 1));
      next.push(isSwapped ? Math.min(edits, (before[j - 2] ?? 0) + 1) : edits);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
