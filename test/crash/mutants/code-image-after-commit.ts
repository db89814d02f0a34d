import type { Store } from "bowline";
import { over } from "./over.ts";

const CODE = "bowline/code";

/** What code keeps is not written with the commit of its turn, but before the next input. */
export const store = (inner: Store): Store => {
  let unwritten: Parameters<Store["apply"]>[0] | undefined;
  return over(inner, {
    async commit(lease, ended) {
      const { [CODE]: kept, ...plugins } = ended.plugins;
      if (kept === undefined) return inner.commit(lease, ended);
      const { sessionId, turnId } = lease;
      unwritten = { sessionId, operation: `image ${turnId}`, at: ended.at, plugins: { [CODE]: kept } };
      return inner.commit(lease, { ...ended, plugins });
    },
    async accept(...given) {
      if (unwritten !== undefined) await inner.apply(unwritten);
      unwritten = undefined;
      return inner.accept(...given);
    },
  });
};
