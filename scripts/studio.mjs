// Bundles the studio into `dist/studio`: one script and one style. The build uses it, and also a server that runs from
// the sources.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL("../", import.meta.url));
const STYLES = ["tokens", "base", "parts", "session", "talk", "turn", "timeline", "waits", "work", "turns"].map(
  (name) => `src/studio/style/${name}.css`,
);

/** The studio uses only the lexer of marked. The module also makes a parser while it loads, which no bundler drops. */
const lexerOnly = {
  name: "lexer-only",
  transform: {
    filter: { id: /marked\.esm\.js$/ },
    handler(code) {
      const [, lexer] = /\b(\w+) as Lexer\b/.exec(code) ?? [];
      const end = code.search(/var \w+=new \w+;function \w+\(\w+,\w+\)\{return \w+\.parse\(/);
      if (lexer === undefined || end < 0) throw new Error("The module of marked has another form: change `lexerOnly`.");
      return { code: `${code.slice(0, end)}export{${lexer} as Lexer};`, map: null };
    },
  },
};

/** Writes `studio.js` and `studio.css` into a folder. */
export async function buildStudio(folder = join(root, "dist/studio")) {
  const bundle = await rolldown({
    cwd: root,
    input: "src/studio/main.tsx",
    platform: "browser",
    resolve: { alias: { "bowline/client": join(root, "src/client/index.ts") } },
    transform: { target: "es2022", jsx: { runtime: "automatic", importSource: "preact" } },
    tsconfig: false,
    plugins: [lexerOnly],
    logLevel: "warn",
  });
  try {
    await bundle.write({
      dir: folder,
      entryFileNames: "studio.js",
      format: "esm",
      minify: true,
      comments: false,
      codeSplitting: false,
    });
  } finally {
    await bundle.close();
  }
  mkdirSync(folder, { recursive: true });
  const styles = STYLES.map((file) => readFileSync(join(root, file), "utf8")).join("\n");
  writeFileSync(join(folder, "studio.css"), withoutSpace(styles));
}

/** A style without comments and needless space. No text in these styles contains either. */
const withoutSpace = (style) =>
  style
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/\s+/g, " ")
    .replace(/ ?([{};,]) ?/g, "$1");

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildStudio();
