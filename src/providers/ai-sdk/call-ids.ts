import type { CallId } from "../../model/ids.ts";
import type { ToolCallPart, ToolResultPart } from "../../model/message.ts";

/**
 * The names of calls in one prompt. An id is what some provider once said, so it may repeat in a session, and may hold
 * characters another provider refuses; a call and its result get the same usable name, a name is used once.
 */
export class CallIds {
  readonly #route: string;
  readonly #used = new Set<string>();
  /** Names whose result has not come yet, oldest first. */
  readonly #open = new Map<CallId, string[]>();

  constructor(route: string) {
    this.#route = route;
  }

  ofCall({ callId, made }: ToolCallPart): string {
    // A route's own ids go back as they came: some models read meaning in them.
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
