import { plainWords } from "../../format.ts";
import type { SessionSummary } from "../../types.ts";

/** The label of a session, else its last words, else its id. */
export const titleOf = ({ id, label, lastWords }: SessionSummary): string =>
  label || plainWords(lastWords ?? "", 120) || id;
