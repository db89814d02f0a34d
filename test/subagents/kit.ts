// A door for tests in src/ that know it by this path.
export { STORES } from "../kit/stores.ts";
export {
  after,
  agentsIn,
  answersIn,
  cast,
  childEvents,
  counted,
  eventually,
  HELPER,
  jsonOf,
  type Line,
  running,
  silent,
  within,
} from "./roles.ts";
