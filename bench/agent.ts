import type { Plugin, Store } from "bowline";
import type { Strength } from "bowline/stores/sqlite";
import type * as script from "./script.ts";

/** One side of the comparison. The peers' harness drives the same shape, so an adapter fits both. */
export interface Agent {
  /** Gives the final text. */
  turn(sessionId: string, input: string): Promise<string>;
  stream(sessionId: string, input: string, onDelta: (delta: string) => void): Promise<void>;
  close(): Promise<void>;
}

export interface Opening {
  readonly script: Script;
  readonly durable: boolean;
  /** Where a durable side keeps its files. */
  readonly dir?: string;
  /** What a durable side's turns survive; `process` unless given. */
  readonly strength?: Strength;
  /** For Bowline, in place of one that it opens itself. */
  readonly store?: Store;
  /** What checks the arguments of the tool, when it is not the side's own plain choice. */
  readonly input?: unknown;
  /** For Bowline. */
  readonly plugins?: readonly Plugin[];
}

export type Script = typeof script;
export type Open = (opening: Opening) => Promise<Agent>;
