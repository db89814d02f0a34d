import assert from "node:assert/strict";
import { createRuntime, type SessionEvent } from "bowline";
import { type Provider, ProviderFailure } from "bowline/provider";
import { defineScenario, recited, says } from "bowline/testing";

/** A model that breaks off in the middle of its first word and is asked again; what was shown is taken back. */
function breaking(model: Provider): Provider {
  const broken = new Set<number>();
  return {
    ...model,
    async *stream(request, options) {
      const place = request.messages.length;
      if (!broken.has(place)) {
        broken.add(place);
        yield { kind: "text", delta: "Wro" };
        throw new ProviderFailure({ class: "overloaded", message: "Too much.", retryAfterMs: 1 });
      }
      yield* model.stream(request, options);
    },
  };
}

export default defineScenario({
  async run({ store, host }) {
    const model = breaking(recited(says("Right", "."), says("Right again.")));
    await using runtime = await createRuntime({ store, host, model });
    const session = await runtime.session("retried");
    for (const [key, words] of [
      ["one", "Right."],
      ["two", "Right again."],
    ] as const) {
      const turn = session.turn(`Say ${key}.`, { key });
      const shown = new Map<string, string>();
      for await (const event of turn) show(shown, event);
      const { outcome } = await turn.result();
      assert.equal(outcome.kind === "answered" && outcome.text, words);
      // Nothing, when the turn had ended before this process began.
      assert.ok(
        [...shown.values()].every((text) => text === "" || text === words),
        JSON.stringify([...shown]),
      );
    }
  },
});

function show(shown: Map<string, string>, event: SessionEvent): void {
  if (event.fact) return;
  const key = JSON.stringify(event.key);
  if (event.kind === "text") shown.set(key, (shown.get(key) ?? "") + event.delta);
  if (event.kind === "retracted") shown.set(key, "");
}
