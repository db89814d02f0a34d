export { both, calls, cut, ends, type Scripted, says, scripted, thinks } from "../providers/scripted.ts";
export { type StoreLaw, storeLaws } from "./store-laws.ts";
