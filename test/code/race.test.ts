import { createRuntime, definePlugin, defineTool, RuntimeError } from "bowline";
import { quickjs, type Sandbox } from "bowline/sandbox/quickjs";
import { memory } from "bowline/stores/memory";
import { says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { Executor } from "../../src/plugins/code/executor.ts";
import { KEPT } from "../../src/plugins/code/state.ts";
import { cells } from "./cells.ts";

const MIB = 1_048_576;

test("P8 a cell that is restored when its turn is cancelled does not disturb what the turn keeps", async () => {
  const real = quickjs();
  let reached = (): void => {};
  const restores = new Promise<void>((resolve) => (reached = resolve));
  // A restore takes a while, as it does in a process that has just been started.
  const sandbox: Sandbox = {
    ...{ engine: () => real.engine(), close: () => real.close() },
    async open(image, bounds) {
      const guest = await real.open(image, bounds);
      return {
        async start(cell) {
          const progress = await guest.start(cell);
          if (cell.isReplay !== true) return progress;
          reached();
          await new Promise((resolve) => setTimeout(resolve, 100));
          return progress;
        },
        deliver: (delivery) => guest.deliver(delivery),
        image: () => guest.image(),
        close: () => guest.close(),
      };
    },
  };
  let isLost = false;
  class Forgetful extends Executor {
    override async execute(...given: Parameters<Executor["execute"]>) {
      if (given[0].deliver !== undefined && !isLost) {
        isLost = true;
        throw new RuntimeError("code.lost", {});
      }
      return super.execute(...given);
    }
  }
  const code = definePlugin({
    id: "test/code",
    state: KEPT,
    setup: () => ({
      codeExecutor: new Forgetful(sandbox, {
        ...{ stepsMax: 1_000, segmentMs: 10_000, graceMs: 2_000 },
        ...{ memoryBytesMax: 64 * MIB, outputBytesMax: MIB, callsMax: 100 },
      }),
    }),
  });
  const look = defineTool({ name: "look", description: "Looks.", input: { type: "object" }, execute: () => 1 });
  const model = scripted(
    says("var n = 1;"),
    says("n = 2; await tools.look({}); await tools.look({}); n = 3;"),
    says("finish(n);"),
  );
  const limits = { cancelGraceMs: 10 };
  await using runtime = await createRuntime({ store: memory(), model, tools: [look], plugins: [cells, code], limits });
  const session = await runtime.session("s");
  const turn = session.turn("Go.");
  const turnId = await turn.id;
  await restores;
  await session.cancel(turnId, { requestId: "enough", reason: "Enough." });
  await turn.result();
  const { outcome } = await session.turn("And?").result();
  expect(outcome).toMatchObject({ kind: "finished", value: 1 });
  await real.close();
});
