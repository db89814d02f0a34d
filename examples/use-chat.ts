// The backend of `useChat` as a route handler, as Next.js has them: one function for all routes of the chat. The page is in
// docs/clients.md. Each user is the owner of separate chats.
import assert from "node:assert/strict";
import { AbstractChat, type ChatState, type ChatStatus, DefaultChatTransport, type UIMessage } from "ai";
import { createRuntime } from "bowline";
import { serve } from "bowline/server";
import { uiStream } from "bowline/server/ui-stream";
import { memory } from "bowline/stores/memory";
import { says, scripted } from "bowline/testing";

await using runtime = await createRuntime({ store: memory(), model: scripted(says("A bowline ", "holds.")) });
const server = serve(runtime, {
  hosts: ["app.example.com"],
  authorize: (request) => {
    const owner = request.headers.get("authorization")?.replace("Bearer ", "");
    return owner === undefined ? undefined : { owner }; // In your app: the user of the session cookie.
  },
  adapters: [uiStream({ path: "/api/chat" })],
});

// In Next.js: app/api/chat/[[...path]]/route.ts
const handle = (request: Request): Promise<Response> => server.fetch(request);

export { handle as GET, handle as POST };

// The class behind `useChat`, with a state that React would hold.
class State implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[] = [];
  pushMessage = (message: UIMessage): void => void this.messages.push(message);
  popMessage = (): void => void this.messages.pop();
  replaceMessage = (at: number, message: UIMessage): void => void this.messages.splice(at, 1, message);
  snapshot = <T>(thing: T): T => structuredClone(thing);
}
class Chat extends AbstractChat<UIMessage> {}

const fetch = (url: unknown, init?: RequestInit): Promise<Response> => handle(new Request(url as string, init));
const headers = { authorization: "Bearer ann" };
const transport = new DefaultChatTransport({ api: "https://app.example.com/api/chat", headers, fetch });
const chat = new Chat({ id: "knots", state: new State(), transport });
await chat.sendMessage({ text: "Which knot?" });

const texts = chat.messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));
console.log(texts.join("\n"));
assert.deepEqual(texts, ["Which knot?", "A bowline holds."]);
