// What is loaded when an app first reads records: one file, so that a turn loads few.
export { checkOf, statusOf } from "../status.ts";
export { turnsOf } from "./turns.ts";
export { usageOf } from "./usage.ts";
