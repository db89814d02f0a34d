import { definePlugin } from "bowline";

/**
 * A protocol whose replies are cells: each is run, and the model is shown what came of it. A cell that begins with
 * `finish`, or ends in one, may end the turn; a reply that begins with `say ` is an answer. A cell with `// by tool.field`
 * hands its value to a tool, and what one with `// whole` prints is shown whole. Code that wants to go on with another task
 * does.
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
          return { kind: "cell", cell: cellOf(code) };
        },
        onResults: () => ({ kind: "ask" }),
        onExec: (_view, _reply, { finish, continues, parts }) => {
          if (continues !== undefined) return { kind: "switchFrame", task: continues.task };
          if (finish !== undefined) return { kind: "finish", value: finish };
          return { kind: "ask", add: [{ role: "user", parts }] };
        },
      },
    },
  }),
});

function cellOf(code: string) {
  const [, tool, field] = /\/\/ by (\w+)(?:\.(\w+))?/.exec(code) ?? [];
  return {
    language: "ts",
    code,
    acceptFinish: code.includes("finish"),
    ...(tool === undefined ? {} : { finishBy: field === undefined ? { tool } : { tool, field } }),
    ...(code.includes("// whole") ? ({ isWhole: true } as const) : {}),
  };
}
