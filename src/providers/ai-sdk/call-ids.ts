import type { CallId } from "../../model/ids.ts";
import type { ToolCallPart, ToolResultPart } from "../../model/message.ts";

/**
 * Gives the calls of one prompt ids that the provider accepts. Stored ids come from the provider that made the call, so
 * they can repeat in a session, and can have characters that another provider refuses. Each id is used for one call and
 * its result.
 */
export class CallIds {
  readonly #route: string;
  readonly #used = new Set<string>();
  /** Ids of calls whose results have not come yet, oldest first. */
  readonly #open = new Map<CallId, string[]>();

  constructor(route: string) {
    this.#route = route;
  }

  ofCall({ callId, made }: ToolCallPart): string {
    // A provider's own ids are sent back unchanged: some models depend on them.
    const wanted = made?.route === this.#route ? callId : callId.replace(/[^A-Za-z0-9_-]/g, "_");
    let name = wanted;
    for (let count = 2; this.#used.has(name); count++) name = `${wanted}_${count}`;
    this.#used.add(name);
    this.#open.set(callId, [...(this.#open.get(callId) ?? []), name]);
    return name;
  }

  ofResult({ callId }: ToolResultPart): string {
    return this.#open.get(callId)?.shift() ?? callId;
  }
}
