import { type Place, places } from "bowline/testing";

/** A place that nobody can open. */
export default {
  ...places.sqlite,
  open() {
    throw new Error("no server listens at port 5433");
  },
} satisfies Place;
