// The entry `bowline/provider`: what authors of providers import. Sorted by topic, by hand.

// Providers
export { ProviderFailure } from "./model/request.ts";
export type { Capabilities, LanguageModel, Model, ModelResolver, Provider } from "./providers/provider.ts";

// Requests and replies
export type { Json } from "./model/json.ts";
export type { Attachment, Message, Part, TextPart } from "./model/message.ts";
export type { ModelPart, ModelRequest, ModelSettings, Reply } from "./model/request.ts";
export type { JsonSchema } from "./model/schema.ts";
export type { Usage } from "./model/usage.ts";
