// The files that `bowline init` writes.

// The written project imports this name. These sources do not.
const BOWLINE = "bowline";
const ZOD = "zod";

export interface InitFiles {
  readonly [name: string]: { readonly about: string; readonly text: string };
}

interface Project {
  readonly name: string;
  /** The version of this package. */
  readonly version: string;
}

export function initFiles({ name, version }: Project): InitFiles {
  return {
    "agent.ts": { about: "the agent: a tool, and a plugin with state", text: AGENT },
    "agent.test.ts": { about: "its test, with a scripted model", text: TEST },
    "package.json": { about: "npm start serves the agent, npm test tests it", text: packageJson(name, version) },
    "tsconfig.json": { about: "for an editor, and npm run check", text: TSCONFIG },
    "README.md": { about: "how to run, change and deploy it", text: readme(name) },
    Dockerfile: { about: "the agent in a container", text: DOCKERFILE },
    ".dockerignore": { about: "what a container does without", text: "node_modules\n.bowline\n.git\n" },
    ".gitignore": { about: "what git does without", text: "node_modules\n.bowline\n" },
  };
}

const packageJson = (name: string, version: string): string =>
  `${JSON.stringify(
    {
      name,
      version: "0.1.0",
      private: true,
      type: "module",
      engines: { node: ">=22.19" },
      scripts: {
        start: "bowline serve --app agent.ts",
        chat: "bowline chat --app agent.ts",
        test: "node --test",
        check: "tsc",
      },
      dependencies: { bowline: `^${version}`, zod: "^4.0.0" },
      devDependencies: { "@types/node": "^24.0.0", typescript: "^5.9.0 || ^7.0.0" },
    },
    undefined,
    2,
  )}\n`;

const AGENT = `import { createRuntime, defineTool, type Model, type Store } from "${BOWLINE}";
import { definePlugin } from "${BOWLINE}/plugin";
import { installed } from "${BOWLINE}/providers/ai-sdk";
import { demo } from "${BOWLINE}/providers/demo";
import { z } from "${ZOD}";

/** A tool: the model calls it by name, and receives its result. */
const clock = defineTool({
  name: "clock",
  description: "The date and time now, in a time zone such as Europe/Paris.",
  input: z.object({ timeZone: z.string().default("UTC") }),
  execute: ({ timeZone }) =>
    new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long", timeZone }).format(new Date()),
});

/** A plugin with state: each conversation has its own notes, which survive a restart. */
export const notes = definePlugin({
  id: "my/notes",
  state: z.object({ notes: z.array(z.object({ number: z.number(), text: z.string() })).default([]) }),
  setup: ({ tool, query }) => ({
    tools: [
      tool({
        name: "notes_add",
        description: "Keeps a note and gives its number.",
        input: z.object({ text: z.string().min(1) }),
        writes: true,
        execute: ({ text }, { state }) => {
          const note = { number: state.get().notes.length + 1, text };
          state.update(({ notes }) => ({ notes: [...notes, note] }));
          return note;
        },
      }),
      tool({
        name: "notes_list",
        description: "All notes of this conversation.",
        input: z.object({}),
        execute: (_, { state }) => state.get().notes,
      }),
    ],
    operations: { all: query({ description: "All notes.", run: ({ state }) => state.get().notes }) },
  }),
});

export interface AgentOptions {
  /** The store of conversations. \`bowline\` passes the one of --db, or of BOWLINE_DB. */
  readonly store: Store;
  /** For tests. Default: the model of BOWLINE_MODEL, else the demo model. */
  readonly model?: Model;
}

export default function agent({ store, model }: AgentOptions) {
  return createRuntime({
    ...chosen(model),
    store,
    tools: [clock],
    plugins: [notes],
    instructions: "You are a helpful assistant. Answer briefly. Keep notes when you are asked to remember something.",
  });
}

/** Without a key the demo model answers. It works offline, and is a small program with rules, not an LLM. */
function chosen(model?: Model) {
  if (model !== undefined) return { model };
  const name = process.env.BOWLINE_MODEL;
  return name ? { model: name, models: installed() } : { model: demo() };
}
`;

const TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { memory } from "${BOWLINE}/stores/memory";
import { calls, says, scripted } from "${BOWLINE}/testing";
import agent, { notes } from "./agent.ts";

test("the agent keeps a note, which a later turn can read", async (t) => {
  // The model is a script: it needs no key and no network.
  const model = scripted(calls("notes_add", { text: "the milk" }), says("Noted."), calls("notes_list"), says("The milk."));
  const runtime = await agent({ store: memory(), model });
  t.after(() => runtime.close());
  const session = await runtime.session();
  assert.equal(await session.turn("Remember the milk.").text(), "Noted.");
  assert.deepEqual(await session.query(notes, "all"), [{ number: 1, text: "the milk" }]);
  assert.equal(await session.turn("What do you remember?").text(), "The milk.");
});

test("the clock takes time zones", async (t) => {
  const model = scripted(calls("clock", { timeZone: "Asia/Tokyo" }), says("It is late."));
  const runtime = await agent({ store: memory(), model });
  t.after(() => runtime.close());
  const turn = (await runtime.session()).turn("What time is it in Tokyo?");
  const results: string[] = [];
  for await (const event of turn) if (event.kind === "toolEnded") results.push(event.status);
  assert.deepEqual(results, ["ok"]);
  assert.equal(await turn.text(), "It is late.");
});
`;

const TSCONFIG = `${JSON.stringify(
  {
    compilerOptions: {
      target: "es2024",
      module: "nodenext",
      types: ["node"],
      strict: true,
      noUncheckedIndexedAccess: true,
      verbatimModuleSyntax: true,
      erasableSyntaxOnly: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
      noEmit: true,
    },
    include: ["*.ts"],
  },
  undefined,
  2,
)}\n`;

const readme = (name: string): string => `# ${name}

An agent on [Bowline](https://www.npmjs.com/package/bowline). \`agent.ts\` has its tool and its plugin.

\`\`\`sh
npm install
npm start          # prints the address of a chat page
npm run chat       # chats on the terminal, and reloads agent.ts when it changes
npm test           # agent.test.ts: a scripted model, no network
npm run check      # types
\`\`\`

Without a key the demo model answers. Try "What time is it?", "Remember the milk" and "What do you remember?". For a real model,
install its package and name it:

\`\`\`sh
npm install @ai-sdk/anthropic
ANTHROPIC_API_KEY=… BOWLINE_MODEL=anthropic/claude-sonnet-4-5 npm start
\`\`\`

Conversations are stored in \`.bowline/agent.db\`. \`BOWLINE_DB\` sets another file, or a Postgres database:

\`\`\`sh
npm install pg
export BOWLINE_DB=postgres://user:password@host/database
npm start                                # HTTP, and turns
npx bowline worker --app agent.ts        # more processes that run turns, on any machine
\`\`\`

Kill a process in the middle of an answer: the next one finishes it. \`npx bowline turns\` and \`npx bowline show <id>\` show what
happened; \`npx bowline --help\` lists the rest.

## In a container

\`\`\`sh
docker build -t ${name} .
docker run -p 4100:4100 -v ${name}:/data ${name}
\`\`\`

It prints the address to log in with. The token is in \`/data/token\`. Behind a proxy, add the public name to the command:
\`--hosts agent.example.com\`.
`;

const DOCKERFILE = `FROM node:24-slim
WORKDIR /app
COPY package*.json ./
RUN npm install --omit=dev --no-audit --no-fund
COPY . .
RUN mkdir /data && chown node:node /data
ENV BOWLINE_DB=/data/agent.db
VOLUME /data
USER node
EXPOSE 4100
# Instead of npm start: it listens outside of the container, and gets the signals to stop.
CMD ["node_modules/.bin/bowline", "serve", "--app", "agent.ts", "--host", "0.0.0.0", "--port", "4100", "--token-file", "/data/token"]
`;
