// All texts of the workspace that a model reads.
export const LINE_CHARS_MAX = 2_000;
export const SEARCHED_BYTES_MAX = 2_097_152;
export const LINES_SHOWN = 2_000;
export const PATHS_SHOWN = 500;
export const MATCHES_SHOWN = 200;
export const DEPTH_SHOWN = 3;

const GLOB =
  "for example *.ts or src/**/*.{ts,tsx}. A glob without a slash matches names in every folder below `path`.";
const leftOut = (ignored: readonly string[]): string =>
  ignored.length === 0 ? "" : ` Folders with these names are left out: ${ignored.join(", ")}.`;

export const TEXTS = {
  // ── Prompt ────────────────────────────────────────────────────────────────────────────────────────────────────────

  files: (root: string) => `The workspace is the folder ${root}. File tools take and return paths relative to it.`,
  readonly: "You can read these files, not change them.",
  shellStarts: (root: string) => `Shell commands start in ${root}.`,

  // ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  read:
    "Reads a text file, or shows an image (PNG, JPEG, GIF or WebP). Use it before you edit a file, and with offset and " +
    "limit to read a long file in parts. Each line is returned as its number, a tab and its text; text beyond " +
    `${LINE_CHARS_MAX} characters of a line is cut. The last line, in brackets, is not part of the file: it says which lines ` +
    "of how many these are, the offset to go on with, and the hash of the file.",
  path: "The path of the file, relative to the workspace.",
  offset: "The number of the first line to return, counted from 1. Default: 1.",
  linesLimit: `How many lines to return. Default: ${LINES_SHOWN}.`,

  list: (ignored: readonly string[]) =>
    "Lists the files and folders below a folder, one path per line. Use it to learn what there is, or with glob to find " +
    "files by name. The path of a folder ends with a slash; a link is shown with its target and not followed. A last line " +
    `in brackets says when there is more.${leftOut(ignored)}`,
  listPath: "The folder to list, relative to the workspace. Default: the whole workspace.",
  listGlob: `Only paths that match this glob, ${GLOB}`,
  depth: `How many levels of folders to list. Default: ${DEPTH_SHOWN}, or all with a glob.`,
  pathsLimit: `The most paths to return. Default: ${PATHS_SHOWN}.`,

  search: (ignored: readonly string[]) =>
    "Searches the contents of files, line by line, with a JavaScript regular expression. Use it to find where something " +
    "is defined, used or mentioned. Each matching line is returned as file:line: text. Last lines in brackets say when " +
    `there is more, and how many files were skipped: binary ones and those over ${SEARCHED_BYTES_MAX} bytes.${leftOut(ignored)}`,
  pattern: "The regular expression, without slashes or flags. It is matched against each line by itself.",
  searchPath: "The folder or file to search, relative to the workspace. Default: the whole workspace.",
  searchGlob: `Only files that match this glob, ${GLOB}`,
  isLiteral: "true: find `pattern` as plain text instead of as a regular expression. Default: false.",
  ignoreCase: "true: upper and lower case are the same. Default: false.",
  matchesLimit: `The most matching lines to return. Default: ${MATCHES_SHOWN}.`,

  write:
    "Writes a whole file: creates it, with the folders it needs, or replaces all of its content. To change a part of a " +
    "file, use edit_file instead. Returns its path, its size in bytes, its hash, and whether it is new.",
  content: "The whole new content of the file.",
  writeIfMatch:
    "Write only if the file still has this hash, as read_file, write_file or edit_file returned it. " +
    '"none": write only if there is no such file yet. Leave it out to write in any case.',

  edit:
    "Replaces text in a file. Read the file first and copy oldText from it exactly, with indentation and without line " +
    "numbers. oldText must be in the file exactly once, unless you set all. Returns how many places were replaced, the " +
    "line of the first one, and the new hash of the file.",
  oldText: "The text to replace, exactly as it is in the file. Add lines around it until it is there only once.",
  newText: "The text to put in its place. An empty text deletes oldText.",
  all: "true: replace every occurrence of oldText. Default: false.",
  editIfMatch:
    "Edit only if the file still has this hash, as read_file, write_file or edit_file returned it. Leave it out to edit in any case.",

  shell: (ms: number, max: number) =>
    "Runs a command with /bin/sh, without a terminal and without input. Use it to build, test and run programs; to read, " +
    "search and change files, use the file tools. Returns exitCode, stdout and stderr; a failing command is a normal " +
    "result with another exitCode than 0. The middle of a long output is left out. Processes that the command leaves " +
    `running are ended. The command is stopped after ${ms} ms unless timeoutMs says otherwise, at most ${max} ms; \`stopped\` ` +
    "then says why.",
  command: "The command line, as for /bin/sh -c.",
  cwd: "The folder to run it in, relative to the workspace. Default: the workspace itself.",
  timeout: "How long the command may take, in milliseconds. It is stopped after that.",

  // ── Results ───────────────────────────────────────────────────────────────────────────────────────────────────────

  linesOf: (first: number, last: number, total: string) => `lines ${first}-${last} of ${total}`,
  noLines: (offset: number, total: string) => `no lines from ${offset} on, of ${total}`,
  manyLines: "many",
  goOnAt: (offset: number) => `go on with offset ${offset}`,
  crlf: "lines end in CRLF",
  hash: (hash: string) => `hash ${hash}`,
  lineCut: (chars: number) => `[… ${chars} more characters]`,

  nothingListed: "[nothing there]",
  morePaths: (shown: number) => `${shown} shown, there are more: narrow it with path, glob or depth`,
  visitsOver: (max: number) => `only the first ${max} names were looked at: narrow it with path or depth`,
  notRegular: " (no regular file)",

  moreMatches: (shown: number) => `${shown} matches shown, there are more: narrow it with path or glob`,
  searchVisitsOver: (max: number) => `only the first ${max} names were looked at: narrow it with path`,
  searchStopped: (ms: number) => `stopped after ${ms} ms: narrow it with path or glob`,
  noMatch: (files: number) => `[no match in ${files} files]`,
  skipped: (what: string) => `[not searched: ${what}]`,
  binary: (files: number) => `${files} binary`,
  large: (files: number) => `${files} over ${SEARCHED_BYTES_MAX} bytes`,
  unreadable: (files: number) => `${files} unreadable`,

  outputCut: (bytes: number) => `[… ${bytes} bytes left out …]`,
  cancelled: "The call was cancelled.",
  late: (ms: number) => `It took more than ${ms} ms.`,

  // ── Refusals ──────────────────────────────────────────────────────────────────────────────────────────────────────

  missing: (path: string) => `There is no ${path}. Find the right path with list_files.`,
  missingFile: (path: string) => `There is no file ${path}. Find the right path with list_files.`,
  missingFolder: (path: string) => `There is no folder ${path}. Find the right path with list_files.`,
  isFolder: (path: string) => `${path} is a folder, not a file. Use list_files to see what is in it.`,
  isFile: (path: string) => `${path} is a file, not a folder. Give the path of a folder.`,
  partIsFile: (path: string) => `${path} does not exist: a part of this path is a file, not a folder.`,
  special: (path: string) => `${path} is not a regular file (a pipe, socket or device) and cannot be used.`,
  binaryFile: (path: string) => `${path} is a binary file and cannot be shown or edited as text.`,
  notUtf8: (path: string) => `${path} is not UTF-8 text, so an edit would damage it. Nothing was changed.`,
  tooLarge: (path: string, bytes: number, max: number) =>
    `${path} has ${bytes} bytes, and at most ${max} are allowed for this. Nothing was changed.`,
  outside: (path: string) => `${path} is outside of the workspace. Use a path below it.`,
  nulInPath: "A path cannot contain a NUL character.",
  pathTooLong: (path: string, max: number) => `A path has at most ${max} bytes. This one is longer: ${path}`,
  nameTooLong: (path: string) => `A name in ${path} is too long. Use a shorter one.`,
  linkLoop: (path: string) => `${path} leads through a loop of links. Use another path.`,
  replaced: (path: string) => `${path} was replaced by a link just now. Look at it again before you go on.`,
  noAccess: (path: string, code: string) => `The system does not permit access to ${path} (${code}).`,
  busy: (path: string, code: string) => `${path} is busy (${code}). Try again.`,
  unusable: (path: string, code: string) => `${path} cannot be used (${code}).`,

  gone: (path: string) => `There is no ${path} any more. Nothing was written. Leave out ifMatch to create it.`,
  changed: (path: string, hash: string) =>
    `${path} has changed: its hash is now ${hash}, not the one in ifMatch. Nothing was written. Read it again first.`,
  existsAlready: (path: string) => `${path} exists already. Nothing was written. Read it first.`,
  emptyOldText: "oldText is empty. Copy the text to replace from the file, or use write_file for a new file.",
  sameTexts: "oldText and newText are the same, so nothing would change.",
  notFound: (path: string) =>
    `oldText is not in ${path}, so nothing was changed. Read the file again and copy the text exactly, without line numbers.`,
  notUnique: (path: string, count: string) =>
    `oldText is ${count} times in ${path}, so nothing was changed. Add lines around it until it is there once, or set all.`,

  badPattern: (problem: string) => `${problem}. Correct the pattern, or set isLiteral to search for it as plain text.`,
  slowPattern: (ms: number, path: string) =>
    `the pattern took more than ${ms} ms on ${path}: make it simpler, or set isLiteral`,
  patternFailed: (problem: string) => `The pattern cannot be run: ${problem}. Make it simpler, or set isLiteral.`,
  wideGlob: (glob: string, max: number) =>
    `The glob ${glob} has more than ${max} alternatives in braces. Use several calls, or a wider glob.`,

  nulInCommand: "A command cannot contain a NUL character.",
  notAllowed: (allowed: string) =>
    `This command is not allowed. A command must match one of these expressions from beginning to end: ${allowed}`,
  notRun: (problem: string) => `The command could not be started: ${problem}.`,
};
