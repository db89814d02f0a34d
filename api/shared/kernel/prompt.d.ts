import { PromptPart } from "../model/prompt.js";
/** A section of the prompt: a heading over some slots. It is left out when they are empty. */
interface Section {
  readonly title?: string | undefined;
  readonly slots: readonly PromptPart["slot"][];
}
export { Section };
