import { Json } from "../../model/json.js";
/** All that a store keeps, without what differs from run to run: ids are numbered, times and node ids are left out. */
interface Picture {
  readonly sessions: {
    readonly [id: string]: PictureOfSession;
  };
  /** Of every accepted turn, in the order of acceptance; null where there is none. */
  readonly outcomes: readonly Json[];
}
interface PictureOfSession {
  readonly parentId?: string;
  /** Oldest first. */
  readonly messages: readonly PictureOfMessage[];
  readonly plugins: {
    readonly [id: string]: {
      readonly version: string;
      readonly state: Json;
    };
  };
  readonly turns: number;
  /** Without the calls of unknown cost: a call that a kill interrupted is one. */
  readonly usage: Json;
}
interface PictureOfMessage {
  readonly role: string;
  /** All its text, results of tools included. */
  readonly text: string;
  readonly parts: readonly Json[];
  readonly origin?: Json;
}
export { Picture };
