// All texts about cut results that a model reads.
export const READ = "read_output";

/** A size in the form of the markers. */
const sized = (bytes: number, lines: number): string => `${bytes} bytes (${lines} lines)`;

export const TEXTS = {
  read:
    "Reads on in a tool result that was too long to be shown as a whole. Use it when a result has a line in brackets that " +
    "says what was left out: that line names the id and where to go on. Returns the next lines, and a last line in " +
    "brackets that says where they are in the whole text and how to go on.",
  id: "The id of the text, copied from the line in brackets.",
  offset: "The number of the first line to return, counted from 1. Default: 1.",
  byte: "Where to begin, as a number of bytes from 0, for very long lines. Takes the place of offset.",
  lines: "How many lines to return. Default: as many as fit.",

  // Each of these lines must fit into `MARKER`.
  tailCut: (bytes: number, lines: number, allBytes: number, allLines: number, more: string) =>
    `[Left out: the last ${sized(bytes, lines)} of ${sized(allBytes, allLines)}. ${more}]`,
  headCut: (bytes: number, lines: number, allBytes: number, allLines: number, more: string) =>
    `[Left out: the first ${sized(bytes, lines)} of ${sized(allBytes, allLines)}. ${more}]`,
  readOn: (input: string) => `To go on, call ${READ} with ${input}.`,
  readFromStart: (input: string) => `To read from the start, call ${READ} with ${input}.`,
  notKept: "The rest is not kept.",

  partsCut: (count: number, names: string) => `[Left out: ${count} more parts of this result: ${names}.`,
  readParts: `To read a text, call ${READ} with its id.`,
  others: (count: number) => `and ${count} others`,

  page: (first: number, last: number, from: number, to: number, bytes: number, lines: number, next: string) =>
    `[Lines ${first} to ${last}, bytes ${from} to ${to}, of ${sized(bytes, lines)}. ${next}]`,
  end: "This is the end.",
  nextPage: (where: string) => `Go on with ${where}.`,
  unknownId: "No text with this id is kept in this session. Copy the id from the result's line in brackets.",
  pastEnd: (bytes: number, lines: number) => `That is past the end: the text has ${sized(bytes, lines)}.`,
};
