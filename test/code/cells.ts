import { definePlugin } from "bowline";

/**
 * A protocol whose replies are cells: each is run, and the model is shown what came of it. A cell that begins with
 * `finish`, or ends in one, may end the turn; a reply that begins with `say ` is an answer.
 */
export const cells = definePlugin({
  id: "test/cells",
  setup: () => ({
    protocolSession: {},
    protocolDriver: {
      preamble: () => ({ tools: [], prompt: [] }),
      driver: {
        id: "test/cells",
        version: 1,
        request: ({ system, messages, tools }) => ({ system, messages, tools }),
        onReply: (_view, { parts }) => {
          const code = parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
          if (code.startsWith("say ")) return { kind: "answer" };
          if (code.startsWith("task ")) return { kind: "switchFrame", task: code.slice(5) };
          return { kind: "cell", cell: { language: "ts", code, acceptFinish: code.includes("finish") } };
        },
        onResults: () => ({ kind: "ask" }),
        onExec: (_view, _reply, { finish, parts }) =>
          finish === undefined ? { kind: "ask", add: [{ role: "user", parts }] } : { kind: "finish", value: finish },
      },
    },
  }),
});
