import { aiSdk } from "../shared/providers/ai-sdk/adapter.js";
import { installed } from "../shared/providers/ai-sdk/installed.js";
export { aiSdk, installed };
