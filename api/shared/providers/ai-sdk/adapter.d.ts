import { LanguageModel, Provider } from "../provider.js";
/** Makes a provider of an AI SDK language model, of specification v2, v3 or v4. Nothing of the SDK is imported. */
declare function aiSdk(model: LanguageModel): Provider;
export { aiSdk };
