// What each plugin of a session adds to it.
import { definitionOf, type OperationDefinition } from "../../kernel/operation.ts";
import type { ToolListing } from "../../model/tool.ts";
import type { LiveSession } from "./session.ts";

/** A plugin of a session, and what it adds. */
export interface InstalledPlugin {
  readonly id: string;
  readonly version: string;
  /** The hooks that it handles, and the slots that it fills. */
  readonly hooks: readonly string[];
  /** Its tools and those of its tool providers, also tools that are off. */
  readonly tools: readonly string[];
  readonly operations: readonly OperationDefinition[];
  /** The events that it declares. */
  readonly events: readonly string[];
  /** The commands that it watches, by their names in the session. */
  readonly monitors: readonly string[];
  /** Whether it keeps a state in each session. */
  readonly hasState: boolean;
}

/** In the order of installation. The default protocol follows, unless a plugin replaces it. */
export function pluginsIn(
  { core, composition }: LiveSession,
  tools: readonly ToolListing[],
): readonly InstalledPlugin[] {
  const { hooks, operations, triggers, monitors, providers } = composition;
  const installed = Object.entries(hooks.installed);
  const { plugins, protocol } = core;
  const isDefault = hooks.ownerOf("protocolDriver") === protocol?.id && !plugins.some(({ id }) => id === protocol?.id);
  return (isDefault ? [...plugins, protocol] : plugins).map(({ id, version, spec }) => {
    const isOwn = ({ plugin }: { readonly plugin: string }): boolean => plugin === id;
    const sources = [id, ...providers.filter(isOwn).map(({ value }) => value.id)];
    return {
      id,
      version,
      hooks: installed.flatMap(([hook, ids]) => (ids.includes(id) ? [hook] : [])),
      tools: tools.filter(({ source }) => sources.includes(source)).map(({ name }) => name),
      operations: [...operations.values()].filter(isOwn).map(definitionOf),
      events: triggers.filter(isOwn).map(({ value }) => value.name),
      monitors: [...monitors].flatMap(([name, owned]) => (isOwn(owned) ? [name] : [])),
      hasState: spec.state !== undefined,
    };
  });
}
