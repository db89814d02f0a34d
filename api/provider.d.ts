import { Attachment, Message, Part, TextPart } from "./shared/model/message.js";
import { Capabilities, LanguageModel, Model, ModelResolver, Provider } from "./shared/providers/provider.js";
import { Json } from "./shared/model/json.js";
import { JsonSchema } from "./shared/model/schema.js";
import { ModelPart, ModelRequest, ModelSettings, ProviderFailure, Reply } from "./shared/model/request.js";
import { Usage } from "./shared/model/usage.js";
export {
  type Attachment,
  type Capabilities,
  type Json,
  type JsonSchema,
  type LanguageModel,
  type Message,
  type Model,
  type ModelPart,
  type ModelRequest,
  type ModelResolver,
  type ModelSettings,
  type Part,
  type Provider,
  ProviderFailure,
  type Reply,
  type TextPart,
  type Usage,
};
