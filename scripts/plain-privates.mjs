// A build step: `#name` becomes a plain property in the classes of a turn's hot path. V8 checks the class of an object
// at every `#` access, which is a large part of the time of a cold turn. The sources keep `#`, so that no code outside
// a class can use its fields. The new name contains the file, because otherwise a class and its base class could share
// a field. The constructor sets fields without a value to undefined, because adding a field later changes the hidden
// class of the object.
//
// Objects for plugins, tools or callers keep `#`, so that their fields stay private at run time.
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
