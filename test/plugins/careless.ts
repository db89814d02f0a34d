/** A program whose tool and hook await nothing of what they ask for, all of which fails. Prints what it had to say. */
import { createRuntime, definePlugin, defineTool, type ToolContext } from "../../src/index.ts";
import { sqlite } from "../../src/stores/sqlite.ts";
import { calls, says, scripted } from "../../src/testing/index.ts";

type Careless = Pick<ToolContext, "sessions" | "session" | "once"> & Partial<Pick<ToolContext, "complete" | "blobs">>;
const wrong = (given: unknown): never => given as never;
const thrown = (): never => {
  throw new Error("No.");
};

function asks({ sessions, session, complete, blobs, once }: Careless): void {
  void sessions.create(wrong({ relation: "child" }));
  void sessions.create({ config: wrong({ model: 5 }) });
  void sessions.takeFirstInput("nobody");
  void sessions.send("nobody", "Hi.");
  void sessions.result("nobody", "t");
  void sessions.cancel(wrong(null), wrong({}));
  void sessions.children(wrong({}));
  void session.snapshot("nobody");
  void complete?.text("Hi.", { model: "no/such" });
  void complete?.object("Hi.", wrong(null));
  void complete?.reply(wrong(null));
  void blobs?.put(wrong("text"));
  void blobs?.get(wrong(Symbol()));
  void once("a", thrown);
}

let kept: Careless | undefined;
const tool = defineTool({
  name: "careless",
  description: "Awaits nothing.",
  input: { type: "object" },
  execute: async (_, context) => {
    const { sessions, session, complete, blobs, once } = context;
    kept = { sessions, session, complete, blobs, once };
    asks(kept);
    return sessions.send("nobody", "Hi.").catch((error: { code: string }) => error.code);
  },
});
const plugin = definePlugin({
  id: "acme/careless",
  setup: () => ({ context: (event) => asks(event), beforeToolCall: (event) => asks(event) }),
});

const runtime = await createRuntime({
  store: sqlite(":memory:"),
  model: scripted(calls("careless"), says("Done.")),
  tools: [tool],
  plugins: [plugin],
});
const session = await runtime.session("a");
const { outcome } = await session.turn("Go.").result();
asks(kept as unknown as Careless);
const { messages } = await session.read();
await runtime.close();
asks(kept as unknown as Careless);
setTimeout(() => console.log(JSON.stringify({ outcome: outcome.kind, told: messages[2]?.parts })), 50);
