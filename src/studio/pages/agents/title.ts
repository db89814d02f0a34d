import { firstWords } from "../../format.ts";
import type { SessionSummary } from "../../types.ts";

/** The label of a session, else its last words, else its id. */
export const titleOf = ({ id, label, lastWords }: SessionSummary): string =>
  label || firstWords(lastWords ?? "", 120) || id;
