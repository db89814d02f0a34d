import { stat } from "node:fs/promises";
import { definePlugin } from "../../plugin.ts";
import { EDIT, LIST, READ, SEARCH, SHELL, WRITE } from "./inputs.ts";
import { listFiles } from "./list.ts";
import { OPTIONS } from "./options.ts";
import { readFile } from "./read.ts";
import { searchFiles } from "./search.ts";
import { Commands, shell } from "./shell.ts";
import { TEXTS } from "./texts.ts";
import { editFile, writeFile } from "./write.ts";

export type { ShellOptions, WorkspaceOptions } from "./options.ts";
export type { ShellResult } from "./shell.ts";

const FILES_MS = 60_000;
/** The runtime's limit is this much longer than a command's, so that there is time to end the command. */
const ENDING_MS = 30_000;

/** Gives the model tools for the files of one folder and, as an option, a shell that starts in this folder. */
export const workspace = definePlugin({
  id: "bowline/workspace",
  options: OPTIONS,
  open: async ({ options: { root } }) => {
    if (!(await stat(root)).isDirectory()) throw new Error(`${root} is no folder`);
    return new Commands();
  },
  close: (commands) => commands.close(),
  setup: ({ options, shared: commands, tool }) => {
    const reading = { retry: "safe", timeoutMs: FILES_MS } as const;
    const writing = { isSerial: true, timeoutMs: FILES_MS } as const;
    const readers = [
      tool({
        name: "read_file",
        path: "files.read",
        description: TEXTS.read,
        input: READ,
        ...reading,
        execute: (input, { signal }) => readFile(input, options, signal),
      }),
      tool({
        name: "list_files",
        path: "files.list",
        description: TEXTS.list(options.ignore),
        input: LIST,
        ...reading,
        execute: (input, { signal }) => listFiles(input, options, signal),
      }),
      tool({
        name: "search_files",
        path: "files.search",
        description: TEXTS.search(options.ignore),
        input: SEARCH,
        ...reading,
        execute: (input, { signal }) => searchFiles(input, options, signal),
      }),
    ];
    const writers = [
      tool({
        name: "write_file",
        path: "files.write",
        description: TEXTS.write,
        input: WRITE,
        ...writing,
        execute: (input) => writeFile(input, options),
      }),
      tool({
        name: "edit_file",
        path: "files.edit",
        description: TEXTS.edit,
        input: EDIT,
        ...writing,
        onInterrupt: "fail", // A second run would apply an edit twice if its new text contains the old text.
        execute: (input) => editFile(input, options),
      }),
    ];
    const settings = options.shell;
    const shells =
      settings === undefined
        ? []
        : [
            tool({
              name: "shell",
              description: TEXTS.shell(settings.timeoutMs, settings.timeoutMsMax),
              input: SHELL,
              isSerial: true,
              onInterrupt: "fail",
              timeoutMs: settings.timeoutMsMax + settings.graceMs + ENDING_MS,
              execute: (input, context) => shell(input, { ...options, shell: settings }, commands, context),
            }),
          ];
    const files = options.readonly ? readers : [...readers, ...writers];
    return {
      tools: [...files, ...shells],
      prompt: () => [
        {
          slot: "environment",
          text: options.readonly ? `${TEXTS.files(options.root)} ${TEXTS.readonly}` : TEXTS.files(options.root),
          tools: files.map(({ name }) => name),
        },
        { slot: "environment", text: TEXTS.shellStarts(options.root), tools: ["shell"] },
      ],
    };
  },
});
