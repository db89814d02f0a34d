import type { SessionConfig } from "../model/config.ts";
import type { SessionId } from "../model/ids.ts";
import type { Message } from "../model/message.ts";
import type { ToolManifest } from "../model/tool.ts";
import type { Usage } from "../model/usage.ts";

/** The session as a hook may read it: what is committed, and what this turn has added so far. */
export interface SessionReading {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  readonly messages: readonly Message[];
  readonly config: SessionConfig;
  readonly usage: Usage;
  readonly turns: number;
}

/** What the runtime offers to plugins. A hook is given exactly the services that its row in the table names. */
export interface Services {
  readonly session: { read(): SessionReading };
  readonly catalog: { list(): readonly ToolManifest[] };
}
export type ServiceName = keyof Services;
