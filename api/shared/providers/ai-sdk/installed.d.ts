import { ModelResolver } from "../provider.js";
/**
 * Finds `anthropic/claude-…` in the package @ai-sdk/anthropic that the app has installed, and so on for every name.
 * `openai-compatible/…` is any server at BOWLINE_BASE_URL, with the key BOWLINE_API_KEY if it wants one.
 */
declare function installed(options?: {
  readonly from?: string;
}): ModelResolver;
export { installed };
