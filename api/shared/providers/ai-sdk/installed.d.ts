import { ModelResolver } from "../provider.js";
/**
 * Resolves `<vendor>/<model>` with the package @ai-sdk/<vendor> that the app has installed: `anthropic/claude-…` with
 * @ai-sdk/anthropic. `openai-compatible/<model>` is a server at BOWLINE_BASE_URL, with the key BOWLINE_API_KEY if it
 * needs one. `from` is the folder to look for packages from; default: the working directory.
 */
declare function installed(options?: {
  readonly from?: string | undefined;
}): ModelResolver;
export { installed };
