import type { ToolProvider } from "../../kernel/tool.ts";
import type { ToolDeclaration } from "../../model/request.ts";
import { type Availability, TOOLS_STATE, type ToolListing, type ToolState } from "../../model/tool.ts";
import { requireProvider } from "../../tools/define.ts";
import type { Registry, ToolChoices } from "../../tools/registry.ts";
import type { LiveSession } from "../session/session.ts";
import { namesOf } from "./membership.ts";

/** Which tools a session has. Changes are stored with the session and count from its next turn on. */
export interface SessionTools {
  /** Lists all tools, also those that are off and those whose source is gone. */
  list(): Promise<readonly ToolListing[]>;
  /** Gives a tool with its input schema, loading it if necessary; undefined when it is off or unknown. */
  describe(name: string): Promise<ToolDeclaration | undefined>;
  /**
   * Sets how far tools are open to the model: `off`, `searchable`, `callable` or `documented`, or with `null` back to
   * their default. Gives the new generation.
   */
  set(names: string | readonly string[], availability: Availability | null): Promise<number>;
  /**
   * Adds a provider's tools while this session is open here; a turn that runs has them from its next round on. Choices
   * for them stay stored for when they come back.
   */
  add(provider: ToolProvider): Promise<{ remove(): Promise<void> }>;
  /**
   * Lists the session's providers again, also those that did not say that they changed, and loads their tools anew.
   * Returns the generation of the tools. A turn that runs keeps the tools it began with.
   */
  refresh(): Promise<number>;
  /** Gives the choices as data, to edit and `apply`, or to `restore` elsewhere. */
  export(): Promise<ToolState>;
  /** Applies an edited export. Throws `tool.generation` when the tools have changed since. */
  apply(state: ToolState): Promise<ToolState>;
  /** Takes over a state from before or elsewhere. Choices for tools that are missing now are kept as orphans. */
  restore(state: ToolState): Promise<{ readonly state: ToolState; readonly orphans: readonly string[] }>;
}

export function sessionTools(open: () => LiveSession): SessionTools {
  const current = async (): Promise<Registry> => {
    const session = open();
    await session.kept.catchUp();
    session.useStored();
    await session.toolset.refresh();
    return session.toolset.registry;
  };
  const change = async (name: string, work: (registry: Registry) => ToolChoices): Promise<Registry> => {
    const session = open();
    const { toolset, kept } = session;
    return session.change(`tools.${name}`, async () => {
      await toolset.refresh();
      const choices = work(toolset.registry);
      kept.states.cell(TOOLS_STATE, `tools.${name}`).update(() => choices as never);
      return { change: {}, done: () => toolset.registry };
    });
  };
  return {
    list: async () => (await current()).list(),
    describe: async (name) => {
      const session = open();
      await current();
      return session.toolset.describe(name, session.site());
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
      await session.kept.catchUp();
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
