import type { ToolsOfSession } from "../../kernel/session-requests.ts";
import { unwaited } from "../../model/awaitable.ts";
import { frozen } from "../../model/json.ts";
import { type ChangeTools, namesOf } from "../toolset/membership.ts";
import { requireListing } from "../toolset/tools.ts";
import type { ServiceContext } from "./service-context.ts";
import { requireBelow, using } from "./using.ts";

/**
 * `sessions.tools(id)`. For the turn's own session it uses the pending state (`change`). For other sessions it works
 * like the app's API.
 */
export const toolsOf = (context: ServiceContext, id: string, change: ChangeTools): ToolsOfSession =>
  id === context.sessionId && context.turnId !== undefined ? ownTools(context, change) : otherTools(context, id);

function ownTools(context: ServiceContext, change: ChangeTools): ToolsOfSession {
  const { toolset } = context.session;
  return {
    list: (options = {}) =>
      unwaited(async () => (requireListing(options) ? frozen(toolset.registry.list()) : toolset.list(context))),
    export: async () => frozen(toolset.registry.export()),
    apply: (state) => unwaited(async () => change((registry) => registry.apply(state))),
    set: (names, availability) =>
      unwaited(async () => change((registry) => registry.set(namesOf(names), availability, toolset.lent))),
  };
}

function otherTools({ core, session }: ServiceContext, id: string): ToolsOfSession {
  const mayWait = (): Promise<void> => requireBelow(core, session.id, id, "A change of its tools");
  return {
    list: (options) => unwaited(async () => frozen(await using(core, id, ({ tools }) => tools.list(options)))),
    export: () => unwaited(async () => frozen(await using(core, id, ({ tools }) => tools.export()))),
    apply: (state) =>
      unwaited(async () => {
        await mayWait();
        return using(core, id, async ({ tools }) => (await tools.apply(state)).generation);
      }),
    set: (names, availability) =>
      unwaited(async () => {
        await mayWait();
        return using(core, id, ({ tools }) => tools.set(names, availability));
      }),
  };
}
