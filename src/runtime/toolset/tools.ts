import type { HookCallContext } from "../../kernel/hook-runner.ts";
import type { ToolProvider } from "../../kernel/tool.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { Known } from "../../model/known.ts";
import type { ToolDeclaration } from "../../model/request.ts";
import {
  type Availability,
  TOOLS_STATE,
  type ToolListing,
  type ToolListOptions,
  type ToolState,
} from "../../model/tool.ts";
import { requireProvider } from "../../tools/define.ts";
import type { Registry, ToolChoices } from "../../tools/registry.ts";
import { requireOptions } from "../checks.ts";
import type { LiveSession } from "../session/session.ts";
import { namesOf } from "./membership.ts";

/** Which tools a session has. Changes are stored with the session and apply from its next turn on. */
export interface SessionTools {
  /**
   * Lists the tools that the model gets: after the edits of plugins, the session's overlay and its permissions, without
   * tools that are switched off. A `searchable` tool is found by a search only. A protocol may declare them in its own
   * way.
   */
  list(options?: ToolListOptions): Promise<readonly ToolListing[]>;
  /**
   * Returns a tool with its input schema, and loads it if necessary. Undefined if the tool is switched off or unknown.
   */
  describe(name: string): Promise<ToolDeclaration | undefined>;
  /**
   * Sets the availability of tools to `off`, `searchable`, `callable` or `documented`, or with `null` to their default.
   * Returns the new generation.
   */
  set(names: string | readonly string[], availability: Availability | null): Promise<number>;
  /**
   * Adds a provider's tools while this session is open here. A running turn gets them in its next round. Choices for
   * these tools stay stored and apply again when the provider is added again.
   */
  add(provider: ToolProvider): Promise<{ remove(): Promise<void> }>;
  /**
   * Lists all providers of the session again and loads their tools again, also without a reported change. Returns the
   * generation of the tools. A running turn keeps its tools.
   */
  refresh(): Promise<number>;
  /** Returns the choices as data, to edit and `apply`, or to `restore` in another session. */
  export(): Promise<ToolState>;
  /** Applies an edited export. Throws `tool.generation` when the tools have changed since. */
  apply(state: ToolState): Promise<ToolState>;
  /** Applies an older state or a state of another session. Choices for missing tools are kept as orphans. */
  restore(state: ToolState): Promise<{ readonly state: ToolState; readonly orphans: readonly string[] }>;
}

const LIST: Known<ToolListOptions> = { raw: true };

/** Checks the options of `list`. Returns whether the caller wants the registry. */
export function requireListing(options: ToolListOptions): boolean {
  requireOptions("tools.list", options, LIST);
  const { raw = false } = options;
  if (typeof raw !== "boolean")
    throw new RuntimeError("options.invalid", { option: "raw", problem: "it must be true or false" });
  return raw;
}

/** `toolCatalog` hooks see the extensions of the turn that runs. */
const contextOf = (session: LiveSession): HookCallContext => session.running?.standing ?? session.context();

export function sessionTools(open: () => LiveSession): SessionTools {
  const current = async (): Promise<Registry> => {
    const session = open();
    await session.snapshot.catchUp();
    session.useStored();
    await session.toolset.refresh();
    return session.toolset.registry;
  };
  const change = async (name: string, work: (registry: Registry) => ToolChoices): Promise<Registry> => {
    const session = open();
    const { toolset, snapshot } = session;
    return session.change(`tools.${name}`, async () => {
      await toolset.refresh();
      const choices = work(toolset.registry);
      snapshot.states.cell(TOOLS_STATE, `tools.${name}`).update(() => choices as never);
      return { change: {}, done: () => toolset.registry };
    });
  };
  return {
    list: async (options = {}) => {
      const session = open();
      const isRaw = requireListing(options);
      const registry = await current();
      return isRaw ? registry.list() : session.toolset.list(contextOf(session));
    },
    describe: async (name) => {
      const session = open();
      await current();
      return session.toolset.describe(name, contextOf(session));
    },
    set: async (names, availability) =>
      (await change("set", (registry) => registry.set(namesOf(names), availability))).generation,
    add: async (provider) => {
      const session = open();
      requireProvider(provider);
      const listing = await session.toolset.add(provider);
      let isThere = true;
      return {
        remove: async () => {
          if (!isThere) return;
          await change("remove", () => session.toolset.remove(listing));
          isThere = false;
        },
      };
    },
    refresh: async () => {
      const session = open();
      await session.snapshot.catchUp();
      await session.toolset.renew();
      return session.toolset.registry.generation;
    },
    export: async () => (await current()).export(),
    apply: async (state) => (await change("apply", (registry) => registry.apply(state))).export(),
    restore: async (state) => {
      const registry = await change("restore", (each) => each.restore(state));
      const orphans = registry.list().flatMap(({ name, isOrphan }) => (isOrphan === true ? [name] : []));
      return { state: registry.export(), orphans };
    },
  };
}
