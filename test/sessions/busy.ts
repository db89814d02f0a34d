import type { Store } from "bowline";
import { listener } from "../kit/models.ts";
import { within } from "../kit/reading.ts";
import { held, running } from "../kit/worlds.ts";

/** A session whose first turn is held in a tool. */
export async function busy(store: Store, options: Partial<Parameters<typeof running>[0]> = {}, config = {}) {
  const work = held();
  const model = listener();
  const runtime = await running({ store, model, tools: [work.tool], ...options });
  const session = await runtime.session("s", { config });
  const turn = session.turn("Work.");
  await within(work.began());
  const close = (): Promise<void> => {
    work.release();
    return runtime.close();
  };
  return { runtime, session, model, work, turn, turnId: await turn.id, [Symbol.asyncDispose]: close };
}
