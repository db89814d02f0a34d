import type { Awaitable } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import type { SessionId, TurnId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { Any } from "../model/schema.ts";
import type { StateCell } from "../model/tool.ts";
import { HOOKS, type HookName, type RowData } from "./hooks.ts";
import type { Installed } from "./plugin.ts";
import type { Point } from "./point.ts";
import type { ServiceName, Services } from "./services.ts";
import type { StateAccess } from "./states.ts";

/** Where a hook is called: the session, the turn if there is one, its signal, its services. */
export interface Site {
  readonly sessionId: SessionId;
  readonly turnId?: TurnId | undefined;
  readonly signal: AbortSignal;
  readonly states: StateAccess;
  service<N extends ServiceName>(name: N, plugin: string): Services[N];
  read<Out>(point: Point<Any, Out>): Out;
  once<T extends Json>(plugin: string, name: string, run: () => Awaitable<T>): Promise<T>;
  /** The same for one effect alone. */
  onceHere<T extends Json>(plugin: string, name: string, run: () => Awaitable<T>): Promise<T>;
}

/** The signal of one call: it follows the turn's, and aborts when the handler's time is over. Made when it is looked at. */
export class CallScope {
  readonly #here: Site;
  #controller: AbortController | undefined;
  #follow: (() => void) | undefined;
  #reason: unknown;
  isOver = false;

  constructor(here: Site) {
    this.#here = here;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      const { signal } = this.#here;
      const follow = (): void => controller.abort(signal.reason);
      this.#controller = controller;
      this.#follow = follow;
      if (signal.aborted) follow();
      else signal.addEventListener("abort", follow, { once: true });
    }
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  end(reason?: unknown): void {
    this.isOver = true;
    this.#reason = reason;
    if (this.#follow !== undefined) this.#here.signal.removeEventListener("abort", this.#follow);
    if (reason !== undefined) this.#controller?.abort(reason);
  }
}

/** Where an event keeps its call. A private field would be lost behind a proxy or `Object.create(event)`. */
const SCOPE = Symbol("call");
interface Event {
  [field: string]: unknown;
  [SCOPE]: CallScope;
}

/**
 * Everything is the event's own, so that it can be taken apart, spread and passed on. A getter in the literal would be
 * a new one for each event, and so each event of a shape of its own: that alone costs more than all of the rest.
 */
export function eventFor(hook: HookName, plugin: Installed, sees: object, here: Site, scope: CallScope): object {
  const event: Event = { ...commonOf(hook, plugin, here), [SCOPE]: scope };
  Object.assign(event, sees);
  if (plugin.spec.state !== undefined)
    event.state =
      (HOOKS[hook] as RowData).state === "write"
        ? cellUntil(scope, here.states.cell(plugin.id, hook), plugin.id, hook)
        : here.states.readOnly(plugin.id, hook);
  if (event.membership !== undefined)
    event.membership = membershipUntil(scope, event.membership as Services["membership"], plugin.id, hook);
  return Object.defineProperty(event, "signal", SIGNAL);
}

/** Most handlers never look at it. */
const SIGNAL: PropertyDescriptor & ThisType<Event> = {
  enumerable: true,
  configurable: true,
  get() {
    return this[SCOPE].signal;
  },
};

type Common = { readonly [field: string]: unknown };
/** Kept on the site and not in a WeakMap of sites: those come and go with every effect, and the collector would pay. */
const COMMON = Symbol("common");
interface Known extends Site {
  [COMMON]?: Map<Installed, { [N in HookName]?: Common }>;
}

/** What stays the same from call to call at one site: a gate is asked call after call at the same site. */
function commonOf(hook: HookName, plugin: Installed, here: Known): Common {
  here[COMMON] ??= new Map();
  let hooks = here[COMMON].get(plugin);
  if (hooks === undefined) {
    hooks = {};
    here[COMMON].set(plugin, hooks);
  }
  hooks[hook] ??= makeCommon(hook, plugin, here);
  return hooks[hook];
}

function makeCommon(hook: HookName, { id }: Installed, here: Site): Common {
  const common: { [field: string]: unknown } = { sessionId: here.sessionId };
  if (here.turnId !== undefined) common.turnId = here.turnId;
  common.read = (point: Point<Any, unknown>): unknown => here.read(point);
  common.once = (name: string, run: () => Awaitable<Json>): Promise<Json> => here.once(id, name, run);
  for (const service of (HOOKS[hook] as RowData).services) common[service] = here.service(service, id);
  return common;
}

const late = (plugin: string, where: string): RuntimeError =>
  new RuntimeError("state.parallel", { plugin, where: `${where}, after it had ended` });
const requireTime = (scope: CallScope, plugin: string, where: string): void => {
  if (scope.isOver) throw late(plugin, where);
};

/** Which tools a session has is state like any other. */
function membershipUntil(
  scope: CallScope,
  membership: Services["membership"],
  plugin: string,
  where: string,
): Services["membership"] {
  const inTime = <A extends readonly unknown[]>(change: (...given: A) => void) => {
    return (...given: A): void => {
      requireTime(scope, plugin, where);
      change(...given);
    };
  };
  return {
    set: inTime((names, availability) => membership.set(names, availability)),
    grant: inTime((name, grant) => membership.grant(name, grant)),
    revoke: inTime((name) => membership.revoke(name)),
  };
}

/** A handler whose time is over may not write any more, though its effect runs on. */
function cellUntil(scope: CallScope, cell: StateCell<Json>, plugin: string, where: string): StateCell<Json> {
  const requireOpen = (): void => requireTime(scope, plugin, where);
  return {
    get: () => cell.get(),
    update: (change) => {
      requireOpen();
      cell.update(change);
    },
    blobs: {
      ...cell.blobs,
      put: (name, data) => {
        if (!scope.isOver) return cell.blobs.put(name, data);
        const refused = Promise.reject(late(plugin, where));
        refused.catch(() => {}); // Whoever does not wait for it is not ended by it.
        return refused;
      },
      remove: (name) => {
        requireOpen();
        cell.blobs.remove(name);
      },
    },
  };
}
