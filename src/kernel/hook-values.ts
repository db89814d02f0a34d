// The types of what hooks get and return. The table in `hooks.ts` names the values of each hook.
import type { SessionConfig } from "../model/config.ts";
import type { SessionId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { Draft, Message, Part } from "../model/message.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { ToolDeclaration } from "../model/request.ts";
import type { Any } from "../model/schema.ts";
import type { MadeCall, ResultPart, ToolManifest } from "../model/tool.ts";
import type { Usage } from "../model/usage.ts";
import type { CatalogOverlay, Permissions } from "./session-requests.ts";
import type { Tool, ToolProvider } from "./tool.ts";

/** An input of the session before it is stored. */
export interface GivenInput {
  readonly parts: readonly ResultPart[];
  /** Whether it opens a turn, or joins a running one at its next boundary. */
  readonly at: "next-turn" | "boundary";
  readonly key?: string;
}
/** What a turn starts with, before its first model call. */
export interface TurnContext {
  /** The messages of the active frame, and this turn's input. */
  readonly messages: readonly Message[];
  readonly prompt: readonly PromptPart[];
  /**
   * More tools for this turn. A tool replaces the session's tool of the same name. Two with one name throw
   * `tool.duplicate`.
   */
  readonly tools?: readonly (Tool<Any> | ToolProvider)[] | undefined;
  /** False leaves out the session's own tools. Default: true. */
  readonly includeBaseTools?: boolean | undefined;
}
/** What a `compact` hook sees. */
export interface CompactionSees {
  /** The messages of the active frame, including what the turn has added. */
  readonly messages: readonly Message[];
  /**
   * `overflow`: the window overflowed. `room`: a plugin makes room before an overflow. `asked`: the app called
   * `compact`.
   */
  readonly reason: "overflow" | "room" | "asked";
  /** What to keep, from the app or the plugin that requested the compaction. */
  readonly instructions?: string;
  /** Counts from 1. From 2 on, the previous compaction did not make the request smaller. */
  readonly attempt: number;
}
/** The beginning of a new frame. */
export interface Compaction {
  readonly seed: readonly Draft[];
  /**
   * The id of a message: the conversation from this message on stays as it is. If the cut would separate a call from
   * its result, it moves to the next place where it does not.
   */
  readonly tail?: string | undefined;
}
/** A complete turn, before or after its commit. Messages and calls are collected when they are first read. */
export interface TurnReport {
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  readonly rounds: number;
  /** The messages that the turn adds to the conversation. */
  readonly messages: readonly Message[];
  /** The calls that the turn has made, in the order in which rounds and code made them. */
  readonly calls: readonly MadeCall[];
}
/** A piece of a streamed reply. */
export interface Chunk {
  readonly kind: "text" | "reasoning";
  readonly delta: string;
  /** The text has ended: now return all text that the handler held back. Only handlers with `atEnd` get this. */
  readonly isEnd?: true;
}
/** The answer of a `stream` handler to a piece. A field that is left out changes nothing. */
export interface ChunkAnswer {
  /** Replaces the delta in previews and in the stored reply. */
  readonly delta?: string | undefined;
  /** Reasoning to show beside the text. */
  readonly reasoning?: string | undefined;
  readonly events?: readonly { readonly name: string; readonly payload?: Json | undefined }[] | undefined;
  /** Ends the reply here, with the text so far. */
  readonly abort?: true | undefined;
}
export interface ReplyAnswer {
  readonly parts: readonly Part[];
  readonly events?: readonly { readonly name: string; readonly payload?: Json | undefined }[] | undefined;
}
/** What a `toolCatalog` hook sees. */
export interface CatalogSees {
  readonly tools: readonly ToolManifest[];
  /** Restrictions of the session; left out when there are none. */
  readonly permissions?: Permissions;
  /** One of the tools with its input schema; undefined for a provider's tool that is not loaded yet. */
  contract(name: string): ToolDeclaration | undefined;
}
/** One edit of one tool. A hidden tool is neither shown nor run. */
export type CatalogEdit = CatalogOverlay;
export type StreamEnd = "complete" | "aborted" | "cancelled" | "provider-error" | "attempt-reset";
export type LifecycleEvent =
  | { readonly kind: "turnFinalized"; readonly report: TurnReport }
  | { readonly kind: "turnPersisted"; readonly report: TurnReport; readonly revision: number }
  | { readonly kind: "sessionRestored"; readonly isNew: boolean }
  /** A fork of this session was made, by any caller. */
  | { readonly kind: "sessionForked"; readonly fork: SessionId }
  /** This process closes the session: all handles are closed, or the runtime closes. */
  | { readonly kind: "sessionClosed" }
  | { readonly kind: "sessionConfigChanged"; readonly previous: SessionConfig; readonly current: SessionConfig };
