// The agent side of the Agent Client Protocol (https://agentclientprotocol.com), version 1.
import type { AgentApp, AgentContext } from "@agentclientprotocol/sdk";
import type { Runtime, TurnOutcome } from "../../index.ts";
import { faultOf, messageOf } from "../text.ts";
import { Attached, responseTo, type Surroundings } from "./attached.ts";
import { inputOf } from "./content.ts";

type Sdk = typeof import("@agentclientprotocol/sdk");

interface Serving extends Pick<Surroundings, "user" | "log"> {
  readonly runtime: Runtime;
  readonly version: string;
  /** The folder of this process. */
  readonly folder: string;
  /** Whether the model may take images. The models of an app are not known. */
  readonly takesImages: boolean;
}

const PAGE = 50;

/** An agent for one client. `close` leaves its sessions and their turns to the runtime. */
export function acpAgent(
  { agent, methods, RequestError, PROTOCOL_VERSION }: Sdk,
  { runtime, version, folder, takesImages, user, log }: Serving,
): { readonly app: AgentApp; close(): Promise<void> } {
  let isOver = false;
  const sessions = new Map<string, Promise<Attached>>();
  const { session } = methods.agent;
  const invalid = (problem: string) => RequestError.invalidParams(undefined, problem);
  const unknown = (id: string) => RequestError.sessionNotFound(id);

  /** Opens a session for the client. Loading an open session again is safe: its prompts still end. */
  const attach = async (client: AgentContext, id: string, isReplayed: boolean): Promise<void> => {
    const before = sessions.get(id);
    const opening = (async () => {
      await (await before?.catch(() => undefined))?.close();
      const attached = new Attached({ runtime, client, user, log, isOver: () => isOver }, await runtime.session(id));
      await attached.start(isReplayed);
      return attached;
    })();
    sessions.set(id, opening);
    try {
      await opening;
    } catch (error) {
      if (sessions.get(id) === opening) sessions.delete(id);
      throw error;
    }
  };
  const known = async (id: string): Promise<void> => {
    if ((await runtime.sessions.find(id)) === undefined) throw unknown(id);
  };
  const opened = async (id: string): Promise<Attached> => {
    const found = await sessions.get(id);
    if (found === undefined) throw unknown(id);
    return found;
  };
  /** Answers errors of the runtime with their codes. */
  const coded =
    <Context, Answer>(handler: (context: Context) => Promise<Answer>) =>
    async (context: Context): Promise<Answer> => {
      try {
        return await handler(context);
      } catch (error) {
        if (error instanceof RequestError) throw error;
        const { code, hint } = faultOf(error);
        throw RequestError.internalError({ code, hint }, messageOf(error));
      }
    };
  const failed = ({ code, reason }: Extract<TurnOutcome, { kind: "failed" }>) =>
    RequestError.internalError({ code }, reason);
  const ignored = (servers: readonly unknown[] | undefined): void => {
    if (servers !== undefined && servers.length > 0)
      log(new Error("The MCP servers of the client are not used. Add the plugin bowline/plugins/mcp to the app."));
  };

  const app = agent({ name: "bowline" })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "bowline", title: "Bowline", version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: takesImages, embeddedContext: true },
        sessionCapabilities: { list: {}, resume: {} },
      },
      authMethods: [],
    }))
    .onRequest(
      session.new,
      coded(async ({ client, params }) => {
        ignored(params.mcpServers);
        const { id } = await runtime.sessions.create();
        await attach(client, id, false);
        return { sessionId: id };
      }),
    )
    .onRequest(
      session.load,
      coded(async ({ client, params }) => {
        ignored(params.mcpServers);
        await known(params.sessionId);
        await attach(client, params.sessionId, true);
        return {};
      }),
    )
    .onRequest(
      session.resume,
      coded(async ({ client, params }) => {
        ignored(params.mcpServers);
        await known(params.sessionId);
        await attach(client, params.sessionId, false);
        return {};
      }),
    )
    .onRequest(
      session.list,
      coded(async ({ params: { cwd, cursor } }) => {
        const found = await runtime.sessions.list({ order: "activity", max: PAGE, before: cursor ?? undefined });
        return {
          // Sessions belong to a store and not to a folder, so they are listed for every folder.
          sessions: found
            .filter(({ parentId }) => parentId === undefined)
            .map(({ id, label, lastWords, activeAt }) => ({
              sessionId: id,
              cwd: cwd ?? folder,
              title: label ?? lastWords ?? null,
              updatedAt: new Date(activeAt).toISOString(),
            })),
          ...(found.length < PAGE ? {} : { nextCursor: found.at(-1)?.cursor ?? null }),
        };
      }),
    )
    .onRequest(
      session.prompt,
      coded(async ({ params, signal }) => {
        const attached = await opened(params.sessionId);
        const input = inputOf(params.prompt, invalid);
        // The request is also aborted when the client leaves. That cancels nothing.
        const cancel = (): void => {
          if (!isOver) attached.cancel().catch(log);
        };
        const prompt = attached.prompt(input);
        if (signal.aborted)
          cancel(); // The client was quicker than the opening of the session.
        else signal.addEventListener("abort", cancel, { once: true });
        try {
          return responseTo(await prompt, failed);
        } finally {
          signal.removeEventListener("abort", cancel);
        }
      }),
    )
    .onNotification(session.cancel, async ({ params }) => {
      // A prompt that arrived just before must reach its session first. Otherwise the cancel would find no turn.
      await new Promise<void>((resolve) => setImmediate(resolve));
      await (await sessions.get(params.sessionId))?.cancel();
    })
    .onConnect((connection) => {
      connection.signal.addEventListener("abort", () => {
        isOver = true;
      });
    });
  const close = async (): Promise<void> => {
    for (const opening of sessions.values()) await (await opening.catch(() => undefined))?.close();
  };
  return { app, close };
}
