// The entry `bowline/protocol`: what authors of protocols and code executors import. Sorted by topic, by hand.

// Protocols
export { definePlugin, type Plugin } from "./kernel/plugin.ts";
export type { PreambleInput, ProseProjector } from "./kernel/slots.ts";
export type { Protocol } from "./protocols/protocol.ts";
export type { Decision, ProtocolDriver, RequestView, RoundView } from "./turn/driver.ts";

// What a protocol takes from an app and from plugins
export { type Extension, type ExtensionValue, extension } from "./kernel/extension.ts";
export { type Point, point } from "./kernel/point.ts";
export { type Fields, optionsSchema } from "./model/options-schema.ts";

// Code executors
export type { CellProgress, CellSegment, CodeContext, CodeExecutor, CodePast } from "./kernel/code.ts";

// Messages, requests and calls
export type { Json } from "./model/json.ts";
export type { Attachment, Draft, Message, Part, TextPart } from "./model/message.ts";
export type { PromptPart } from "./model/prompt.ts";
export type { ModelRequest, ModelSettings, Reply } from "./model/request.ts";
export type { JsonSchema, Schema } from "./model/schema.ts";
export type { ToolCall, ToolManifest, ToolOutput } from "./model/tool.ts";

// Errors
export { type Code, hasCode, RuntimeError } from "./model/errors.ts";
