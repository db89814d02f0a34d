import type { Installed } from "../../kernel/plugin.ts";
import type { Services } from "../../kernel/services.ts";
import type { ToolGrant } from "../../kernel/session-requests.ts";
import type { PluginStates } from "../../kernel/states.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { isObject } from "../../model/json.ts";
import { type Known, requireKnown } from "../../model/known.ts";
import type { Schema } from "../../model/schema.ts";
import { isToolName, TOOLS_STATE } from "../../model/tool.ts";
import type { Registry, ToolChoices } from "../../tools/registry.ts";
import type { LiveSession } from "../session/session.ts";

const state: Schema<unknown, ToolChoices> = {
  "~standard": {
    version: 1,
    vendor: "bowline",
    validate: (value) => {
      const { generation = 0, tools = {}, grants = {} } = (isObject(value) ? value : {}) as Partial<ToolChoices>;
      return { value: { generation, tools, grants } };
    },
  },
};

/** Stores tool choices like a plugin's state, so that turns, forks and restarts keep them. */
export const TOOLS_PLUGIN: Installed = {
  id: TOOLS_STATE,
  version: "1",
  order: "normal",
  spec: { id: TOOLS_STATE, state, setup: () => ({}) },
  options: undefined,
  shared: undefined,
};

/** Changes the session's choices of tools; returns the new generation. */
export type ChangeTools = (work: (registry: Registry) => ToolChoices) => number;

/** Without `mayWrite`, outside serial effects and operations, changes throw `state.parallel`. */
export function toolChanges(
  session: LiveSession,
  states: PluginStates,
  plugin: string,
  where: string,
  mayWrite: boolean,
): ChangeTools {
  const refuse = (): never => {
    throw new RuntimeError("state.parallel", { plugin, where });
  };
  const requireOpen = mayWrite ? states.untilEnd(TOOLS_STATE, where) : refuse;
  return (work) => {
    requireOpen();
    const { registry } = session.toolset;
    try {
      states.cell(TOOLS_STATE, where).update(() => work(registry) as never);
    } catch (error) {
      throw hasCode(error, "state.too-large")
        ? new RuntimeError("state.too-large", { ...error.details, plugin }, { cause: error })
        : error;
    }
    return session.toolset.registry.generation;
  };
}

/** The `membership` service. */
export const membershipOf = (session: LiveSession, change: ChangeTools): Services["membership"] => ({
  set: (names, availability) =>
    void change((registry) => registry.set(namesOf(names), availability, session.toolset.lent)),
  grant: (name, grant) => {
    requireGrant(name, grant);
    change((registry) => registry.grant(name, grant));
  },
  revoke: (name) => void change((registry) => registry.revoke(name)),
});

export function namesOf(names: string | readonly string[]): readonly string[] {
  if (typeof names === "string") return [names];
  if (!Array.isArray(names) || !names.every((name) => typeof name === "string"))
    throw new RuntimeError("input.invalid", { problem: "the tools must be a name or a list of names" });
  return names;
}

const GRANT: Known<ToolGrant> = { source: true, tool: true, bindings: true };

function requireGrant(name: unknown, grant: unknown): void {
  const isRight =
    isToolName(name) &&
    isObject(grant) &&
    typeof grant.source === "string" &&
    typeof grant.tool === "string" &&
    (grant.bindings === undefined || isObject(grant.bindings));
  if (!isRight) throw new RuntimeError("input.invalid", { problem: "a grant must have a name, a source and a tool" });
  requireKnown("membership.grant", grant, GRANT);
}
