import { Action } from "./routes.js";
import { Principal } from "./principal.js";
import { Runtime } from "../runtime/runtime.js";
/** The owners of sessions by id. A session never changes its owner, and its id is never used again. */
declare class Owners {
  #private;
  constructor(runtime: Runtime);
  /** Undefined if there is no such session. */
  of(session: string): Promise<Owned | undefined>;
}
interface Owned {
  readonly owner: string | undefined;
}
declare class Caller {
  #private;
  readonly principal: Principal;
  constructor(principal: Principal, owners: Owners);
  get owner(): string | undefined;
  /** The name of the caller for rate limits. */
  get name(): string;
  /** Throws `server.forbidden`. */
  requireRight(action: Action, session?: string): Promise<void>;
  /** Throws `session.unknown`, also for a session of another owner, and `server.forbidden`. */
  requireSession(id: string, action: Action): Promise<void>;
  owns(session: string): Promise<boolean>;
  /** Reads pages until it has `max` items that belong to the caller. `next` reads the page after an item. */
  own<T>(max: number, next: (after: T | undefined, max: number) => Promise<readonly T[]>, sessionOf: (item: T) => string): Promise<readonly T[]>;
}
export { Caller };
