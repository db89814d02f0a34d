import { ClientError } from "./http.js";
interface Retrying {
  /** Ends the stream, or gives the request up. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the reason when the connection is lost, and without one when it is there again. */
  readonly onConnection?: ((lost?: ClientError) => void) | undefined;
}
export { Retrying };
