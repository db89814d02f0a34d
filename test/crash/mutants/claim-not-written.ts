import type { Store } from "bowline";
import { over } from "./over.ts";

type Claim = Store["inputs"]["claim"];

/** What a boundary takes is known to this process alone, until the turn is committed. */
export const store = (inner: Store): Store => {
  const taken = new Map<string, string>();
  const later = new Map<string, () => ReturnType<Claim>>();
  const claim: Claim = async (lease, boundary, max, takesTurns) => {
    const here = `${lease.turnId} ${boundary}`;
    const all = await inner.inputs.list(lease.sessionId);
    const waiting = all.filter(({ place }) => takesTurns === true || place === "boundary");
    const found = waiting.filter(({ id }) => (taken.get(id) ?? here) === here).slice(0, max);
    for (const { id } of found) taken.set(id, here);
    if (found.length > 0) later.set(here, () => inner.inputs.claim(lease, boundary, max, takesTurns));
    return found;
  };
  const { list, holds, withdraw } = inner.inputs;
  return over(inner, {
    inputs: { list, holds, withdraw, claim },
    async commit(lease, ended) {
      for (const write of later.values()) await write();
      later.clear();
      return inner.commit(lease, ended);
    },
  });
};
