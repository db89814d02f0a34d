import { MemoryEngine } from "./memory/engine.ts";
import { RuleStore } from "./rules/store.ts";
import type { Store } from "./store.ts";

/** Stores turns in memory, for as long as the process lives. Every call returns synchronously. */
export const memory = (): Store => new RuleStore(new MemoryEngine());
