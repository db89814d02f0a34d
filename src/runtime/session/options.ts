// The options of plugins for one session: stored unchanged, and parsed when its plugins are composed. Not its job: when
// options are used (`LiveSession.use`), and storing them (`open.ts`, `make.ts`).
import { type Composition, compose } from "../../kernel/compose.ts";
import { optionsFor } from "../../kernel/plugin.ts";
import type { PluginOptions } from "../../kernel/session-requests.ts";
import type { ProtocolDriverSlot } from "../../kernel/slots.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { defined, frozen, type Json } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import type { SessionOptions, StoredSession } from "../../stores/store.ts";
import { makeTool } from "../../tools/define.ts";
import { requireOptions } from "../checks.ts";
import { type Core, overran } from "../core.ts";
import { restrictionsOf } from "../services/reading.ts";

const PLUGIN: Known<PluginOptions> = { plugin: true, options: true };

/** Checks options of plugins for a session. `option` names the argument. Undefined if there are none. */
export function givenOptions(
  core: Core,
  given: readonly PluginOptions[],
  option = "plugins",
): SessionOptions | undefined {
  if (!Array.isArray(given)) throw new RuntimeError("options.invalid", { option, problem: "it must be a list" });
  const found: { [plugin: string]: Json } = {};
  for (const each of given as readonly PluginOptions[]) {
    requireOptions(`${option} of a session`, each, PLUGIN);
    const installed = core.plugins.find(({ id }) => id === each.plugin);
    if (installed === undefined)
      throw new RuntimeError("plugin.options", { plugin: String(each.plugin), problem: "the plugin is not installed" });
    const { json } = optionsFor(installed, each.options);
    if (json === undefined) continue;
    const bytes = Buffer.byteLength(JSON.stringify(json));
    const max = core.limits.stateBytesMax;
    if (bytes > max)
      throw new RuntimeError("plugin.options", {
        plugin: installed.id,
        problem: `they have ${bytes} bytes, and the limit \`limits.stateBytesMax\` is ${max}`,
        of: "session",
      });
    found[installed.id] = json;
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

/** The stored options, replaced by the given ones plugin by plugin. Returns the same object if nothing changes. */
export function withOptions(
  stored: SessionOptions | undefined,
  given: SessionOptions | undefined,
): SessionOptions | undefined {
  const all = { ...stored, ...given };
  return textOf(all) === textOf(stored) ? stored : all;
}

export const isSameOptions = (a: SessionOptions | undefined, b: SessionOptions | undefined): boolean =>
  textOf(a) === textOf(b);

const textOf = (options: SessionOptions | undefined): string => JSON.stringify(options ?? NONE);
const NONE: SessionOptions = {};

/** A session's plugins, composed with the options in use. */
export interface Composed {
  readonly options: SessionOptions | undefined;
  readonly composition: Composition;
  /** Omitted in sessions without plugins, because they share the runtime's composition. */
  readonly compositions?: Compositions;
}

/**
 * Composes the plugins of a session. `isLenient`: if stored options no longer parse, the installed options are used.
 */
export function composed(
  core: Core,
  session: StoredSession,
  given: SessionOptions | undefined,
  isLenient: boolean,
): Composed {
  const compositions = new Compositions(core, session);
  const options = isLenient ? compositions.whatParses(given) : given;
  return { options, composition: compositions.of(options), compositions };
}

/** How many compositions a session caches, for sessions that switch between options. */
const KEPT_MAX = 4;

/** The compositions of one session, by their options. */
export class Compositions {
  readonly #core: Core;
  readonly #session: StoredSession;
  readonly #cache = new Map<string, Composition>();

  constructor(core: Core, session: StoredSession) {
    this.#core = core;
    this.#session = session;
  }

  /** Throws `plugin.options` if options no longer parse, and errors of a `setup`. */
  of(options: SessionOptions | undefined): Composition {
    const text = textOf(options);
    const known = this.#cache.get(text);
    if (known !== undefined) return known;
    const made = this.#made(options ?? NONE);
    const [oldest] = this.#cache.keys();
    if (oldest !== undefined && this.#cache.size === KEPT_MAX) this.#cache.delete(oldest);
    this.#cache.set(text, made);
    return made;
  }

  whatParses(options: SessionOptions | undefined): SessionOptions | undefined {
    for (let left = options; ; ) {
      try {
        this.of(left);
        return left;
      } catch (error) {
        if (!hasCode(error, "plugin.options")) throw error;
        const { [error.details.plugin]: _, ...others } = left ?? NONE;
        left = others;
      }
    }
  }

  #made(options: SessionOptions): Composition {
    const { plugins, protocol, telemetry, trace } = this.#core;
    const { id, parentId } = this.#session;
    const parsed = new Map<string, unknown>();
    for (const plugin of plugins) {
      if (Object.hasOwn(options, plugin.id))
        parsed.set(plugin.id, optionsFor(plugin, options[plugin.id], "stored").parsed);
    }
    const restrictions = frozen(restrictionsOf(this.#session));
    const about = { id, isRoot: parentId === undefined, ...defined({ parentId }), ...restrictions };
    return compose(plugins, protocol, parsed, about, makeTool, telemetry?.handler, overran(trace));
  }
}

export const slotOf = ({ hooks }: Composition): ProtocolDriverSlot =>
  hooks.slot("protocolDriver") as ProtocolDriverSlot; // `compose` requires it.
