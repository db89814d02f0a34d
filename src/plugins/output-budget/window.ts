/** The maximum size of a text. A line ends with a line feed; the last line need not. */
export interface Room {
  readonly bytesMax: number;
  readonly linesMax: number;
}
export type Keep = "head" | "tail";

const FEED = 10;
const utf8 = new TextEncoder();
/** `ignoreBOM`: a window may begin at a byte order mark in the middle of a text, which must then be shown. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export const bytesOf = (text: string): Uint8Array => utf8.encode(text);
export const textOf = (data: Uint8Array, from = 0, to = data.length): string => decoder.decode(data.subarray(from, to));

/** Counts bytes and lines only if the length does not decide, because this runs for every text of every result. */
export function fits(text: string, { bytesMax, linesMax }: Room): boolean {
  if (text.length > bytesMax) return false;
  if (text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax) return false;
  if (text.length <= linesMax) return true;
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at + 1 < text.length; at = text.indexOf("\n", at + 1))
    if (++lines > linesMax) return false;
  return true;
}

export function linesIn(data: Uint8Array, from = 0, to = data.length): number {
  const part = data.subarray(from, to);
  let lines = 0;
  for (let at = part.indexOf(FEED); at !== -1; at = part.indexOf(FEED, at + 1)) lines++;
  return part.length === 0 || part.at(-1) === FEED ? lines : lines + 1;
}

/** The position of the first byte of a line, counted from 1; the end of the data when there is no such line. */
export function startOfLine(data: Uint8Array, line: number): number {
  let start = 0;
  for (let before = 1; before < line; before++) {
    const feed = data.indexOf(FEED, start);
    if (feed === -1) return data.length;
    start = feed + 1;
  }
  return start;
}

/** Where the window that begins at `from` ends: after a whole line, unless that would leave half of the room empty. */
export function headEnd(data: Uint8Array, from: number, { bytesMax, linesMax }: Room): number {
  const limit = Math.min(data.length, from + bytesMax);
  const part = data.subarray(from, limit);
  let lines = 0;
  let end = 0;
  for (let at = part.indexOf(FEED); at !== -1 && lines < linesMax; at = part.indexOf(FEED, end)) {
    lines++;
    end = at + 1;
  }
  if (lines === linesMax || (limit < data.length && end * 2 >= bytesMax)) return from + end;
  return limit === data.length ? limit : characterAt(data, limit);
}

/** Where the window that ends with the data begins: at a whole line, unless that would leave half of the room empty. */
export function tailStart(data: Uint8Array, { bytesMax, linesMax }: Room): number {
  const limit = Math.max(0, data.length - bytesMax);
  const starts = limit === 0 || data[limit - 1] === FEED ? [limit] : [];
  for (let at = data.indexOf(FEED, limit); at !== -1 && at + 1 < data.length; at = data.indexOf(FEED, at + 1))
    starts.push(at + 1);
  const [first = data.length] = starts;
  if (starts.length >= linesMax) return starts.at(-linesMax) ?? first;
  if ((data.length - first) * 2 >= bytesMax || limit === 0) return first;
  const start = characterAt(data, limit);
  return start === limit ? start : start + widthAt(data, start);
}

/** The first byte of the character that contains this byte. Data that is not UTF-8 can be cut anywhere. */
export function characterAt(data: Uint8Array, at: number): number {
  for (let start = at; start >= 0 && start > at - 4; start--) if (!isInside(data[start])) return start;
  return at;
}

function widthAt(data: Uint8Array, at: number): number {
  let width = 1;
  while (width < 4 && isInside(data[at + width])) width++;
  return width;
}

const isInside = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
