import { LanguageModel, Provider } from "../provider.js";
/** An AI SDK language model of specification v2, v3 or v4 as a provider. Nothing of the SDK is imported. */
declare function aiSdk(model: LanguageModel): Provider;
export { aiSdk };
