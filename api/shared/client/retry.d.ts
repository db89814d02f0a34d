import { ClientError } from "./http.js";
interface Retrying {
  /** Ends the stream, or aborts the request. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the reason when the connection is lost, and without a reason when it works again. */
  readonly onConnection?: ((lost?: ClientError) => void) | undefined;
}
export { Retrying };
