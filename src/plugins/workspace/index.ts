import { stat } from "node:fs/promises";
import { definePlugin } from "../../index.ts";
import { EDIT, LIST, READ, SEARCH, SHELL, WRITE } from "./inputs.ts";
import { listFiles } from "./list.ts";
import { OPTIONS } from "./options.ts";
import { readFile } from "./read.ts";
import { searchFiles } from "./search.ts";
import { Commands, shell } from "./shell.ts";
import { editFile, writeFile } from "./write.ts";

export type { ShellOptions, WorkspaceOptions } from "./options.ts";
export type { ShellResult } from "./shell.ts";

const FILES_MS = 60_000;
/** The runtime's limit leaves this much time to end a command that has used up its own. */
const ENDING_MS = 30_000;

/** Gives the model tools for the files of one folder and, if asked for, a shell that starts in it. */
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
        description:
          "Reads a file: its lines, each after its number and a tab, and a last line in brackets that says which lines " +
          "of how many these are, and the hash of the file. Images are shown.",
        input: READ,
        ...reading,
        execute: (input, { signal }) => readFile(input, options, signal),
      }),
      tool({
        name: "list_files",
        description: `Lists what is in a folder and below. Left out: ${options.ignore.join(", ") || "nothing"}.`,
        input: LIST,
        ...reading,
        execute: (input, { signal }) => listFiles(input, options, signal),
      }),
      tool({
        name: "search_files",
        description:
          "Finds lines that match a JavaScript regular expression, as file:line: text. Binary and very large files are " +
          `skipped. Left out: ${options.ignore.join(", ") || "nothing"}.`,
        input: SEARCH,
        ...reading,
        execute: (input, { signal }) => searchFiles(input, options, signal),
      }),
    ];
    const writers = [
      tool({
        name: "write_file",
        description: "Writes a whole file, new or not; folders are made. To change a part of a file use edit_file.",
        input: WRITE,
        ...writing,
        execute: (input) => writeFile(input, options),
      }),
      tool({
        name: "edit_file",
        description:
          "Replaces oldText by newText in a file. oldText must be there exactly once and to the letter, with its " +
          "indentation and without line numbers; with `all` every occurrence is replaced.",
        input: EDIT,
        ...writing,
        onInterrupt: "fail", // A rerun would apply an edit twice whose new text contains the old one.
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
              description:
                "Runs a command with /bin/sh, without a terminal and without input. Returns exitCode, stdout and stderr; " +
                "long output loses its middle. What it leaves running is ended. It may take " +
                `${settings.timeoutMs} ms, or what timeoutMs says, at most ${settings.timeoutMsMax}.`,
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
          text: `Files are in ${options.root}; the paths that file tools take and give are relative to it.${
            options.readonly ? " They can be read, not changed." : ""
          }`,
          tools: files.map(({ name }) => name),
        },
        { slot: "environment", text: `The shell starts in ${options.root}.`, tools: ["shell"] },
      ],
    };
  },
});
