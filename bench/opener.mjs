// Opens Bowline through its public entry, for our own bench and for the peers' harness.
const PLAIN_INPUT = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };

/** `bowline` is the package: the build or the sources. */
export const openWith = (bowline) => async (opening) => {
  const { script, durable, dir, durability = "process", input = PLAIN_INPUT, plugins = [] } = opening;
  const { recover, keepJournals, telemetry } = opening;
  const echo = bowline.defineTool({
    name: "echo",
    description: script.TOOL_DESC,
    input,
    execute: async ({ n }) => script.runTool(n),
  });
  const kept = () => (durable ? bowline.sqlite(`${dir}/bowline.db`, { durability }) : bowline.memory());
  const runtime = await bowline.createRuntime({
    store: opening.store ?? kept(),
    model: providerOf(script),
    tools: [echo],
    instructions: script.SYSTEM,
    plugins,
    recover,
    keepJournals,
    telemetry,
  });
  return {
    async turn(sessionId, text) {
      const session = await runtime.session(sessionId);
      return answerOf(await session.turn(text).result());
    },
    async stream(sessionId, text, onDelta) {
      const session = await runtime.session(sessionId);
      const turn = session.turn(text);
      for await (const event of turn) if (event.kind === "text") onDelta(event.delta);
      answerOf(await turn.result());
    },
    close: () => runtime.close(),
  };
};

function answerOf({ outcome }) {
  if (outcome.kind === "answered") return outcome.text;
  throw new Error(`The turn ended otherwise: ${JSON.stringify(outcome)}`);
}

const USAGE = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0, unknownCalls: 0 };

const providerOf = (script) => ({
  id: "bench",
  modelId: "scripted",
  async *stream({ messages }) {
    const saying = decide(script, messages);
    if (saying.deltas !== undefined) {
      for (let count = 0; count < saying.deltas; count++) yield { kind: "text", delta: script.DELTA };
      yield { kind: "finish", reason: "stop", usage: USAGE };
    } else if (saying.calls === undefined) {
      yield [
        { kind: "text", delta: saying.text },
        { kind: "finish", reason: "stop", usage: USAGE },
      ];
    } else {
      const calls = saying.calls.map(({ id, n }) => ({
        kind: "call",
        callId: id,
        name: "echo",
        // As text, the way it comes over the wire. The floor's tool parses the same text.
        input: JSON.stringify({ n }),
      }));
      yield [...calls, { kind: "finish", reason: "calls", usage: USAGE }];
    }
  },
});

function decide(script, messages) {
  let results = 0;
  for (let index = messages.length - 1; ; index--) {
    const { role, parts } = messages[index];
    if (role === "user") return script.next(parts[0].text, results, messages.length);
    if (role === "tool") results += parts.length;
  }
}
