// A client of `bowline acp`: the SDK's own, over the stdin and stdout of the built program.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ClientConnection,
  client,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
} from "@agentclientprotocol/sdk";
import { vi } from "vitest";
import { folder, type Program, start } from "../cli/program.ts";

/** A reply by the words of the user. "slow" stops in the middle until there is a file `go`. */
const APP = `
import { appendFileSync, existsSync } from "node:fs";
import { createRuntime, defineTool, question } from "bowline";
import { approvals } from "bowline/plugins/approvals";
import { subagents } from "bowline/plugins/subagents";
import { ProviderFailure } from "bowline/provider";

console.log("This line of the app is not for the client.");
const until = async (file, signal) => {
  while (!existsSync(file)) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: { type: "object", properties: { euros: { type: "number" } } },
  execute: ({ euros }) => {
    process.stdout.write("paying\\n");
    appendFileSync("paid", euros + "\\n");
    return "paid " + euros;
  },
});
const seat = defineTool({
  name: "seat",
  description: "Asks for a seat.",
  input: { type: "object" },
  execute: () => question({ type: "string", enum: ["window", "aisle"] }, { text: "Which seat?" }),
});
const name = defineTool({
  name: "name",
  description: "Asks for a name.",
  input: { type: "object" },
  execute: () => question({ type: "string" }, { text: "Which name?" }),
});
const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0, unknownCalls: 0 };
const call = (name, input = {}, nth = 0) => ({ kind: "call", callId: "same", name, input });
let attempts = 0;
const model = {
  id: "fixed",
  modelId: "test",
  capabilities: { attachments: ["image/*"], isParallelCalls: true },
  async *stream({ messages }, { signal }) {
    const at = messages.findLastIndex(({ role, origin }) => role === "user" && origin?.kind !== "runtime");
    const said = messages[at].parts.map((part) => part.text ?? part.mediaType).join(" ");
    const isFirst = at === messages.length - 1;
    const calls = !isFirst ? []
      : said.startsWith("pay ") ? said.slice(4).split(" ").map((euros) => call("pay", { euros: Number(euros) }))
      : said === "seat" || said === "name" ? [call(said)]
      : said === "delegate" ? [call("spawn_agent", { task: "pay 7", capability: "helper" })]
      : [];
    if (said === "fail") throw new ProviderFailure({ class: "auth", message: "Your key is wrong." });
    if (calls.length > 0) {
      yield { kind: "text", delta: "Let me see." };
      yield* calls;
      return yield { kind: "finish", reason: "calls", usage };
    }
    if (said === "flaky" && attempts++ === 0) {
      yield { kind: "text", delta: "Hello wor" };
      throw new ProviderFailure({ class: "network", message: "It broke." });
    }
    if (said === "slow") {
      yield { kind: "text", delta: "One, " };
      await until("go", signal);
      yield { kind: "text", delta: "two." };
    } else if (said === "long") {
      for (let nth = 0; nth < 20_000; nth++) yield { kind: "text", delta: "0123456789".repeat(5) };
    } else {
      yield { kind: "reasoning", delta: "Hm." };
      for (const delta of ("You said: " + said).match(/\\s*\\S+/g)) yield { kind: "text", delta };
    }
    yield { kind: "finish", reason: "stop", usage };
  },
};
export default ({ store }) =>
  createRuntime({
    store,
    model,
    tools: [pay, seat, name],
    plugins: [
      approvals({ rules: [{ tool: pay, verdict: "ask", reason: "It moves money." }] }),
      subagents({ capabilities: { helper: { description: "Helps.", instructions: "Help.", tools: ["pay"] } } }),
    ],
  });
`;

/** A folder with the app, where its database is too. */
export function appFolder() {
  const cwd = folder();
  writeFileSync(join(cwd, "agent.ts"), APP);
  return {
    cwd,
    go: () => writeFileSync(join(cwd, "go"), ""),
    hasPaid: () => existsSync(join(cwd, "paid")),
  };
}

type Answer = (asked: RequestPermissionRequest) => RequestPermissionResponse | Promise<RequestPermissionResponse>;

export const choose =
  (optionId: string): Answer =>
  () => ({ outcome: { outcome: "selected", optionId } });

interface Call {
  readonly title: string;
  readonly status: string;
  readonly output: string;
}

/** What the screen of a client has, put together as clients do: by ids. */
export class Screen {
  readonly updates: SessionNotification[] = [];
  readonly texts = new Map<string, string>();
  readonly calls = new Map<string, Call>();

  add(notification: SessionNotification): void {
    this.updates.push(notification);
    const { update } = notification;
    if ("messageId" in update && "content" in update && !Array.isArray(update.content)) {
      const { content, messageId, sessionUpdate } = update;
      const id = `${sessionUpdate.replace("_chunk", "")} ${messageId}`;
      if (content?.type === "text") this.texts.set(id, (this.texts.get(id) ?? "") + content.text);
    }
    if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") return;
    const before = this.calls.get(update.toolCallId);
    const parts = update.content?.map((part) =>
      part.type === "content" && "text" in part.content ? part.content.text : "",
    );
    this.calls.set(update.toolCallId, {
      title: update.title ?? before?.title ?? "",
      status: update.status ?? before?.status ?? "",
      output: parts?.join("") ?? before?.output ?? "",
    });
  }

  /** The texts without ids, in order. The text before a repeated attempt does not count. */
  get shown(): readonly string[] {
    const latest = new Map(
      [...this.texts].map(([id, text]) => [id.replace(/#\d+$/, ""), [id.split(" ")[0], text].join(": ")]),
    );
    return [...latest.values()];
  }

  get notices(): readonly string[] {
    return this.updates.flatMap(({ update }) => (update.sessionUpdate === "notice" ? [update.title] : []));
  }
}

export interface Editor {
  readonly program: Program;
  readonly connection: ClientConnection;
  readonly screen: Screen;
  readonly asked: RequestPermissionRequest[];
  /** Questions that the agent took back. */
  readonly withdrawn: string[];
  create(): Promise<string>;
  load(sessionId: string): Promise<unknown>;
  prompt(sessionId: string, text: string): Promise<{ readonly stopReason: string }>;
  cancel(sessionId: string): Promise<void>;
  until(check: () => boolean): Promise<void>;
  leave(): Promise<number | string>;
}

/** An editor that has started `bowline acp` and said hello. */
export async function edit(args: readonly string[], cwd: string, answer: Answer = choose("allow")): Promise<Editor> {
  const program = start(["acp", ...args], { cwd });
  const screen = new Screen();
  const asked: RequestPermissionRequest[] = [];
  const withdrawn: string[] = [];
  const bytes = new TextEncoder();
  const readable = new ReadableStream<Uint8Array>({
    start: (controller) => {
      program.child.stdout?.on("data", (text: string) => controller.enqueue(bytes.encode(text)));
      program.child.on("close", () => controller.close());
    },
  });
  const writable = new WritableStream<Uint8Array>({ write: (chunk) => void program.child.stdin?.write(chunk) });
  const connection = client({ name: "test" })
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      asked.push(params);
      signal.addEventListener("abort", () => withdrawn.push(params.toolCall.toolCallId));
      return answer(params);
    })
    .onNotification(methods.client.session.update, ({ params }) => screen.add(params))
    .connect(ndJsonStream(writable, readable));
  const { agent } = connection;
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  return {
    program,
    connection,
    screen,
    asked,
    withdrawn,
    create: async () => (await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })).sessionId,
    load: (sessionId) => agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] }),
    prompt: (sessionId, text) =>
      agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] }),
    cancel: (sessionId) => agent.notify(methods.agent.session.cancel, { sessionId }),
    until: (check) =>
      vi.waitFor(
        () => {
          if (!check()) throw new Error(`${JSON.stringify(screen.updates.slice(-5))}\n${program.stderr()}`);
        },
        { timeout: 15_000, interval: 10 },
      ),
    leave: () => {
      program.child.stdin?.end();
      return program.ended;
    },
  };
}
