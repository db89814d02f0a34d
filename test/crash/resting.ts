import { setTimeout as sleep } from "node:timers/promises";
import { type Approval, type Delivery, hasCode, type Runtime, type Store, type TurnId } from "bowline";

/** Settles when the turn is parked, or has ended. */
export async function resting(store: Store, turnId: TurnId): Promise<"parked" | "ended"> {
  for (;;) {
    const { state } = (await store.find(turnId)) ?? { state: "ended" };
    if (state === "parked" || state === "ended") return state;
    await sleep(2);
  }
}

/** Answers a wait, unless an earlier life or another worker did. */
export async function answer(runtime: Runtime, key: string, given: Approval | Delivery): Promise<void> {
  try {
    await runtime.waits.resolve(key, given, { by: "ann" });
  } catch (error) {
    if (!hasCode(error, "wait.unknown")) throw error;
  }
}
