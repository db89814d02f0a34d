import type { Store } from "bowline";
import { over } from "./over.ts";

type Agenda = Awaited<ReturnType<Store["agenda"]>>;

/** Of a parked turn nobody is told that it has mail. */
export const store = (inner: Store): Store =>
  over(inner, {
    async agenda(now, max) {
      const { sessions, next: _, ...agenda } = await inner.agenda(now, max);
      const shown: Agenda["sessions"][number][] = [];
      for (const id of sessions) {
        const turn = (await inner.load(id))?.openTurn;
        if (turn === undefined || (await inner.find(turn))?.state !== "parked") shown.push(id);
      }
      return { ...agenda, sessions: shown };
    },
  });
