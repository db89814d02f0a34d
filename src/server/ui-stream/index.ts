// The entry `bowline/server/ui-stream`: the protocol of `useChat` and of the chat classes of AI SDK UI.
//
// ui-stream-1 A message of the user is accepted once, by its id. So a client can send it again after any failure.
// ui-stream-2 What a client sends of the history is not stored. The items of its last message only decide what the
//             stream leaves out.
// ui-stream-3 An answer counts only for a wait in the tree of the session. Others look as if they were answered.
import { RuntimeError } from "../../model/errors.ts";
import type { Input } from "../../model/input.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Adapter, AdapterContext } from "../adapter.ts";
import { uiMessages } from "./messages.ts";
import { type Answer, type Sent, sentIn } from "./request.ts";
import { askedBy, TurnStream } from "./turn-stream.ts";
import { Writer } from "./writer.ts";

export type { UiMessage, UiMetadata, UiPart } from "./chunks.ts";
export { uiMessages };

export interface UiStreamOptions {
  /** The path of the routes: the `api` of the client's transport. Default: `/chat`. */
  readonly path?: `/${string}` | undefined;
}

const HEADERS = { "x-vercel-ai-ui-message-stream": "v1" };

/**
 * Routes for `useChat`: `POST /chat` sends a message or answers, `GET /chat/{id}/stream` resumes, `POST /chat/{id}/stop`
 * cancels, and `GET /chat/{id}` has the messages. The id of the chat is the id of the session.
 */
export function uiStream({ path = "/chat" }: UiStreamOptions = {}): Adapter {
  return {
    name: "ui-stream",
    routes: [
      { method: "POST", path, answer: post },
      { method: "GET", path: `${path}/{id}`, answer: read },
      { method: "GET", path: `${path}/{id}/stream`, answer: resume },
      { method: "POST", path: `${path}/{id}/stop`, answer: stop },
    ],
  };
}

async function post(context: AdapterContext): Promise<Response> {
  const sent = sentIn(context.body);
  return sent.kind === "message" ? send(context, sent) : answer(context, sent);
}

async function send(context: AdapterContext, sent: Extract<Sent, { kind: "message" }>): Promise<Response> {
  const { runtime, caller } = context;
  const { session, id, parts, turn } = sent;
  if ((await runtime.sessions.find(session)) === undefined) {
    await caller.requireRight("send");
    const owner = caller.owner === undefined ? {} : { owner: caller.owner };
    await runtime.sessions.create({ id: session, ...owner, ifExists: "take" });
  }
  await caller.requireSession(session, "send");
  await caller.requireSession(session, "read");
  // The page was loaded after the input: the id is from `uiMessages`.
  const known = turn === undefined ? undefined : await runtime.turns.find(turn);
  if (known?.sessionId === session) return follow(context, session, known.id);
  const input = await Promise.all(
    parts.map(async (part) =>
      typeof part === "string" ? part : { ...part.about, hash: await runtime.blobs.put(part.data) },
    ),
  );
  const options = { key: `ui ${id}`, at: "next-turn" } as const; // ui-stream-1
  const { turnId } = await runtime.sessions.send(session, input as Input, options);
  return follow(context, session, turnId);
}

async function answer(context: AdapterContext, sent: Extract<Sent, { kind: "answers" }>): Promise<Response> {
  const { runtime, caller } = context;
  const { session, turn, answers, shown, asked, others, isAside } = sent;
  await caller.requireSession(session, "read");
  if ((await runtime.turns.find(turn))?.sessionId !== session) throw new RuntimeError("turn.unknown", { turnId: turn });
  const waits = await runtime.waits.list({ tree: session });
  for (const each of answers) {
    const wait = waits.find((wait) => isFor(each, wait.id, askedBy(wait, session, turn)?.tool, wait.kind));
    if (wait === undefined) continue; // ui-stream-3
    await caller.requireSession(wait.sessionId, "answer");
    const by = caller.principal.name ?? caller.owner;
    await runtime.waits.resolve({ id: wait.id }, each.answer, by === undefined ? {} : { by });
  }
  const writer = new Writer(shown);
  writer.assume(asked, others, isAside);
  return follow(context, session, turn, writer);
}

/** An output is only for a question that has no approval: the output of any other call comes from the server. */
function isFor(given: Answer, id: string, tool: string | undefined, wants: string): boolean {
  if (tool === undefined) return false;
  if ("wait" in given) return given.wait === id;
  return given.tool === tool && (wants === "result" || wants === "question");
}

async function read({ runtime, caller, id }: AdapterContext): Promise<Response> {
  if (!(await isThere(runtime, caller, id))) return Response.json([]);
  return Response.json(uiMessages(await runtime.sessions.get(id)));
}

/** A new chat has no session yet, and the client asks before its first message. */
async function resume(context: AdapterContext): Promise<Response> {
  const { runtime, caller, id } = context;
  const none = new Response(null, { status: 204 });
  if (!(await isThere(runtime, caller, id))) return none;
  const turnId = (await runtime.sessions.find(id))?.openTurn ?? (await runtime.sessions.get(id)).inputs[0]?.turnId;
  return turnId === undefined ? none : follow(context, id, turnId);
}

async function stop({ runtime, caller, id }: AdapterContext): Promise<Response> {
  await caller.requireSession(id, "send");
  return Response.json(await runtime.sessions.cancel(id));
}

/** Whether the session exists for the caller. Throws `server.forbidden`. */
async function isThere(runtime: Runtime, caller: AdapterContext["caller"], id: string): Promise<boolean> {
  if ((await runtime.sessions.find(id)) === undefined || !(await caller.owns(id))) return false;
  await caller.requireRight("read", id);
  return true;
}

const follow = (
  { runtime, stream }: AdapterContext,
  sessionId: string,
  turnId: string,
  writer = new Writer(),
): Response => stream(() => new TurnStream({ runtime, sessionId, turnId }, writer), HEADERS);
