import type { Plugin, RuntimeOptions, Store } from "bowline";
import type { Durability } from "bowline/stores/sqlite";
import type * as script from "./script.ts";

/** One side of the comparison. The peers' harness drives the same shape, so an adapter fits both. */
export interface Agent {
  /** Runs a turn and returns its final text. */
  turn(sessionId: string, input: string): Promise<string>;
  stream(sessionId: string, input: string, onDelta: (delta: string) => void): Promise<void>;
  close(): Promise<void>;
}

export interface Opening {
  readonly script: Script;
  readonly durable: boolean;
  /** The folder in which a durable side keeps its files. */
  readonly dir?: string;
  /** What the turns of a durable side survive. Default: `process`. */
  readonly durability?: Durability;
  /** Bowline only: a store to use instead of one that it opens itself. */
  readonly store?: Store;
  /** Bowline only. */
  readonly recover?: RuntimeOptions["recover"];
  /** Bowline only. */
  readonly keepJournals?: RuntimeOptions["keepJournals"];
  /** Bowline only. */
  readonly telemetry?: RuntimeOptions["telemetry"];
  /** The schema for the tool's arguments. Default: each side's own plain one. */
  readonly input?: unknown;
  /** Bowline only. */
  readonly plugins?: readonly Plugin[];
}

export type Script = typeof script;
export type Open = (opening: Opening) => Promise<Agent>;
