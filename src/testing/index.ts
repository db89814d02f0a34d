export { both, calls, cut, ends, says, type Scripted, scripted, thinks } from "../providers/scripted.ts";
export { type StoreLaw, storeLaws } from "./store-laws.ts";
