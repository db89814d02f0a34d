import { isThenable } from "../model/awaitable.ts";
import { faultOf } from "../model/errors.ts";
import type { Store } from "../stores/store.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

type Methods = { [name: string]: (...given: readonly unknown[]) => unknown };

/**
 * The store of one runtime. It marks the faults that it throws, so that `passingFault` recognizes them. A plugin or a tool
 * may use a separate store, and a fault of that store is an ordinary failure of the plugin or the tool.
 */
export const ownStore = (store: Store, telemetry?: Telemetry): Store =>
  owned(store, undefined, telemetry) as unknown as Store;

/** The members of a store that are groups of methods. */
type GroupName = {
  [K in keyof Store]-?: NonNullable<Store[K]> extends string | boolean | ((...given: never) => unknown) ? never : K;
}[keyof Store];

/**
 * The type requires every group, because errors of a missing group would be recorded as failures of a tool or hook.
 * Members that are not part of `Store` stay unchanged, because they can refer to each other in circles.
 */
const GROUPS: { readonly [K in GroupName]: true } = {
  turns: true,
  inputs: true,
  waits: true,
  blobs: true,
  operations: true,
  jobs: true,
  triggers: true,
  live: true,
};

/** Methods that wait for something other than the store. */
const UNOBSERVED: ReadonlySet<string> = new Set(["hints", "ready", "close"]);

function owned(part: object, whole: object | undefined, telemetry: Telemetry | undefined, group = ""): object {
  const methods = part as Methods;
  const own: { [name: string]: unknown } = {};
  const owner = whole ?? own;
  const throwing = (error: unknown): never => {
    throw faultOf(owner, error);
  };
  for (const name of namesOf(part)) {
    const found: unknown = methods[name];
    if (Object.hasOwn(GROUPS, name) && found !== undefined) {
      own[name] = owned(found as object, owner, telemetry, `${name}.`);
      continue;
    }
    if (typeof found !== "function") {
      own[name] = found;
      continue;
    }
    // No method of a store has more than six parameters. A rest parameter would allocate a list for each call.
    const call = (a: unknown, b: unknown, c: unknown, d: unknown, e: unknown, f: unknown): unknown => {
      try {
        const answer = (methods[name] as Methods[string])(a, b, c, d, e, f);
        return isThenable(answer) ? answer.then(undefined, throwing) : answer;
      } catch (error) {
        return throwing(error);
      }
    };
    own[name] =
      telemetry?.hub.wants("store") !== true || UNOBSERVED.has(name)
        ? call
        : (a: unknown, b: unknown, c: unknown, d: unknown, e: unknown, f: unknown): unknown =>
            telemetry.store(group + name, () => call(a, b, c, d, e, f));
  }
  return own;
}

/** The property names of an object and of its class. */
function namesOf(part: object): ReadonlySet<string> {
  const names = new Set<string>();
  for (let of: object | null = part; of !== null && of !== Object.prototype; of = Object.getPrototypeOf(of))
    for (const name of Object.getOwnPropertyNames(of)) if (name !== "constructor") names.add(name);
  return names;
}
