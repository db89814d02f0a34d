import type { ToolsOfSession } from "../../kernel/services.ts";
import { unwaited } from "../../model/awaitable.ts";
import { frozen } from "../../model/json.ts";
import { type ChangeTools, namesOf } from "../toolset/membership.ts";
import type { SessionSite } from "./site.ts";
import { requireBelow, using } from "./using.ts";

/** `sessions.tools(id)`: of the turn's own session by its pending state (`change`), of others as an app does it. */
export const toolsOf = (site: SessionSite, id: string, change: ChangeTools): ToolsOfSession =>
  id === site.sessionId && site.turnId !== undefined ? ownTools(site, change) : otherTools(site, id);

function ownTools({ session: { toolset } }: SessionSite, change: ChangeTools): ToolsOfSession {
  return {
    list: async () => frozen(toolset.registry.list()),
    export: async () => frozen(toolset.registry.export()),
    apply: (state) => unwaited(async () => change((registry) => registry.apply(state))),
    set: (names, availability) =>
      unwaited(async () => change((registry) => registry.set(namesOf(names), availability, toolset.lent))),
  };
}

function otherTools({ core, session }: SessionSite, id: string): ToolsOfSession {
  const mayWait = (): Promise<void> => requireBelow(core, session.id, id, "A change of its tools");
  return {
    list: () => unwaited(async () => frozen(await using(core, id, ({ tools }) => tools.list()))),
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
