import { attach, createRuntime, defineTool } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";

const bytes = (size: number, seed: number) => Uint8Array.from({ length: size }, (_, n) => (n * seed) % 251);

/** Bytes come with an input and with a result; whatever names them finds them. */
export default defineScenario({
  async run({ store, host }) {
    const draw = defineTool({
      name: "draw",
      description: "Draws.",
      input: { type: "object", properties: { n: { type: "number" } } },
      execute: ({ n }) =>
        attach(bytes(5_000, Number(n)), { mediaType: "image/png", name: `drawing-${n}.png` }) as never,
    });
    const model = recited(calls("draw", { n: 7 }, "one"), calls("draw", { n: 11 }, "two"), says("Drawn."));
    await using runtime = await createRuntime({ store, host, model, tools: [draw] });
    const session = await runtime.session("drawings");
    const photo = attach(bytes(20_000, 3), { mediaType: "image/jpeg", name: "photo.jpg" });
    await session.turn(["Draw this.", photo], { key: "go" }).result();
  },
});
