import { ToolIndex, toolGroups, toolIndexer } from "../shared/tools/search/rank.js";
import { codeSignature, cutAt, signatureOf } from "../shared/tools/search/signature.js";
export { type ToolIndex, codeSignature, cutAt, signatureOf, toolGroups, toolIndexer };
