import { StoreLaw } from "./law.js";
declare const storeLaws: readonly StoreLaw[];
export { storeLaws };
