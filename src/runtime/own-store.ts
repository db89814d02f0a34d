import { isThenable } from "../model/awaitable.ts";
import { faultOf } from "../model/errors.ts";
import type { Store } from "../stores/store.ts";

type Methods = { [name: string]: (...given: readonly unknown[]) => unknown };

/**
 * The store as one runtime uses it: the faults that it throws are known as this runtime's (`passingFault`). A plugin or
 * a tool may have a store of its own, and a fault of that one is an ordinary failure of the plugin or the tool.
 */
export const ownStore = (store: Store): Store => owned(store, undefined) as unknown as Store;

/** The methods of a store that stand in groups. Whatever else it holds is its own affair, and may lead in circles. */
const GROUPS: ReadonlySet<string> = new Set([
  "inputs",
  "waits",
  "blobs",
  "operations",
  "jobs",
  "live",
] satisfies (keyof Store)[]);

function owned(part: object, whole: object | undefined): object {
  const methods = part as Methods;
  const own: { [name: string]: unknown } = {};
  const owner = whole ?? own;
  const throwing = (error: unknown): never => {
    throw faultOf(owner, error);
  };
  for (const name of namesOf(part)) {
    const found: unknown = methods[name];
    if (GROUPS.has(name) && found !== undefined) own[name] = owned(found as object, owner);
    else if (typeof found !== "function") own[name] = found;
    // Six is the most that a method of a store takes; a rest parameter would make a list for each call.
    else
      own[name] = (a: unknown, b: unknown, c: unknown, d: unknown, e: unknown, f: unknown): unknown => {
        try {
          const answer = (methods[name] as Methods[string])(a, b, c, d, e, f);
          return isThenable(answer) ? answer.then(undefined, throwing) : answer;
        } catch (error) {
          return throwing(error);
        }
      };
  }
  return own;
}

/** Names of its own and of its class. */
function namesOf(part: object): ReadonlySet<string> {
  const names = new Set<string>();
  for (let of: object | null = part; of !== null && of !== Object.prototype; of = Object.getPrototypeOf(of))
    for (const name of Object.getOwnPropertyNames(of)) if (name !== "constructor") names.add(name);
  return names;
}
