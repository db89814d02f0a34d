export { aiSdk } from "./ai-sdk/adapter.ts";
export { installed } from "./ai-sdk/installed.ts";
