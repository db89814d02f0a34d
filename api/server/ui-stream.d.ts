import { Adapter } from "../shared/server/adapter.js";
import { UiMessage, UiMetadata, UiPart } from "../shared/server/ui-stream/chunks.js";
import { uiMessages } from "../shared/server/ui-stream/messages.js";
interface UiStreamOptions {
  /** The path of the routes: the `api` of the client's transport. Default: `/chat`. */
  readonly path?: `/${string}` | undefined;
}
/**
 * Routes for `useChat`: `POST /chat` sends a message or answers, `GET /chat/{id}/stream` resumes, `POST /chat/{id}/stop`
 * cancels, and `GET /chat/{id}` has the messages. The id of the chat is the id of the session.
 */
declare function uiStream({ path }?: UiStreamOptions): Adapter;
export { type UiMessage, type UiMetadata, type UiPart, UiStreamOptions, uiMessages, uiStream };
