// Hides cells from people: returns the prose of a reply, and where it ends.
import type { ProseProjector } from "../../kernel/slots.ts";
import { read, Scanner } from "./grammar.ts";

export const prose: ProseProjector = {
  text: (raw) => {
    const reading = read(raw);
    return reading.code === undefined ? raw : reading.prose;
  },
  stream: () => new Scanner(),
};
