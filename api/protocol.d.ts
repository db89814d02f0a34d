import { Attachment, Draft, Message, Part, TextPart } from "./shared/model/message.js";
import { CellProgress, CellSegment, CodeContext, CodeExecutor, CodePast } from "./shared/kernel/code.js";
import { Code, RuntimeError, hasCode } from "./shared/model/errors.js";
import { Decision, ProtocolDriver, RequestView, RoundView } from "./shared/turn/driver.js";
import { Extension, ExtensionValue, extension } from "./shared/kernel/extension.js";
import { Fields, optionsSchema } from "./shared/model/options-schema.js";
import { Json } from "./shared/model/json.js";
import { JsonSchema, Schema } from "./shared/model/schema.js";
import { ModelRequest, ModelSettings, Reply } from "./shared/model/request.js";
import { Plugin, definePlugin } from "./shared/kernel/plugin.js";
import { Point, point } from "./shared/kernel/point.js";
import { PreambleInput, ProseProjector } from "./shared/kernel/slots.js";
import { PromptPart } from "./shared/model/prompt.js";
import { Protocol } from "./shared/protocols/protocol.js";
import { ToolCall, ToolManifest, ToolOutput } from "./shared/model/tool.js";
export {
  type Attachment,
  type CellProgress,
  type CellSegment,
  type Code,
  type CodeContext,
  type CodeExecutor,
  type CodePast,
  type Decision,
  type Draft,
  type Extension,
  type ExtensionValue,
  type Fields,
  type Json,
  type JsonSchema,
  type Message,
  type ModelRequest,
  type ModelSettings,
  type Part,
  type Plugin,
  type Point,
  type PreambleInput,
  type PromptPart,
  type ProseProjector,
  type Protocol,
  type ProtocolDriver,
  type Reply,
  type RequestView,
  type RoundView,
  RuntimeError,
  type Schema,
  type TextPart,
  type ToolCall,
  type ToolManifest,
  type ToolOutput,
  definePlugin,
  extension,
  hasCode,
  optionsSchema,
  point,
};
