import { SessionView } from "../../model/view.js";
import { UiMessage } from "./chunks.js";
/**
 * The messages of a session for `useChat({ messages, resume: true })`: one for each input and one for each ended turn.
 * The open turn has only its inputs, because the resumed stream shows the rest.
 */
declare function uiMessages({ id, messages, openTurn, inputs }: SessionView): UiMessage[];
export { uiMessages };
