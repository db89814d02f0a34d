// A build step: `#name` becomes a plain property in the classes of a turn's hot path. V8 checks the brand of an object at
// every `#` access, which is a large part of a cold turn; the sources keep `#`, so that nothing outside a class can
// compile against its fields. A name gets a mark of its file, because a class and its base would otherwise share fields.
// Fields without a value are set to undefined in the constructor: an object that grows a field later changes its shape.
//
// Objects that are handed to plugins, tools or callers keep `#`: their fields stay out of reach there too.
import { createHash } from "node:crypto";
import { relative } from "node:path";

const HOT =
  /^src\/(?:turn|graph|hosts|runtime|stores)\/|^src\/model\/scope\.ts$|^src\/kernel\/(?:hook-runner|hook-event|states|deadline)\.ts$/;
const HANDED_OUT = /^src\/runtime\/(?:runtime|session\/handle|live-turn\/handle|readers\/reader|services\/site)\.ts$/;

export function plainPrivates() {
  return {
    name: "plain-privates",
    transform: {
      order: "pre",
      handler(code, id) {
        const file = relative(process.cwd(), id).replaceAll("\\", "/");
        if (!HOT.test(file) || HANDED_OUT.test(file) || !file.endsWith(".ts") || file.endsWith(".d.ts")) return null;
        const mark = createHash("sha256").update(file).digest("hex").slice(0, 4);
        const whole = code.replace(/^( {2}#\w+: [^=;]*(?:=> [^=;]*)?);$/gm, "$1 = undefined;");
        return { code: whole.replace(/(?<![\w"'`/])#([a-zA-Z]\w*)/g, `_$1_${mark}`), map: null };
      },
    },
  };
}
