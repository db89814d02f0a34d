import type { Store } from "bowline";
import { over } from "./over.ts";

/** A turn is given up, whatever came for it first. */
export const store = (inner: Store): Store =>
  over(inner, {
    async park(lease, parked, now) {
      const answer = await inner.park(lease, parked, now);
      if (answer.kind === "mail") await inner.park(lease, { ...parked, ...folded(answer.mail) }, now);
      return { kind: "parked" };
    },
  });

type Mail = Extract<Awaited<ReturnType<Store["park"]>>, { readonly kind: "mail" }>["mail"];

/** As if the turn had taken it in. */
const folded = ({ cancel }: Mail) => ({ waits: [], ...(cancel === undefined ? {} : { cancel: cancel.requestId }) });
