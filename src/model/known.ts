import { RuntimeError } from "./errors.ts";

/** All fields are optional. A field that is undefined counts as omitted. */
export type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined };

type KeysOf<T> = T extends unknown ? keyof T & string : never;
/** Every field of an options type, by name. A list with a missing or an extra field does not compile. */
export type Known<Options> = { readonly [K in KeysOf<Options>]: true };
type Names = { readonly [name: string]: true };

/**
 * Throws for an unknown option, also if its value is undefined, because a misspelt option would otherwise have no
 * effect. An instance of a class can have further fields.
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

/** Also true for an object of another realm, such as a vm context, which has a different `Object.prototype`. */
function isLiteral(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The known name that is nearest: at most a third of it differs, or one name begins with the other. */
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

/** The edit distance: how many letters must be added, removed, changed or swapped with the next one. */
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
