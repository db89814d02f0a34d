// Attacks on memory, at once or bit by bit.

import { type Attack, type Expected, stopped, threw } from "./attack.ts";

const BYTES_MAX = 4 * 1024 * 1024;

const NATIVE: readonly (readonly [name: string, code: string, expect: Expected])[] = [
  ["a fill of an array of four billion", "Array(2 ** 32 - 1).fill(0)", stopped("memory")],
  ["a padding of a gigabyte", "'a'.padEnd(2 ** 30, 'b')", threw(/RangeError|memory|length/)],
  ["a repetition of a gigabyte", "'a'.repeat(2 ** 30)", threw(/RangeError|memory|length/)],
  ["a power of a bigint", "2n ** (2n ** 40n)", threw(/RangeError/)],
  ["a shift of a bigint", "1n << (1n << 62n)", threw(/RangeError/)],
  ["a typed array that is too long", "new Float64Array(2 ** 32)", threw(/RangeError|memory|length/)],
  [
    "a buffer that may grow without end",
    "new ArrayBuffer(8, { maxByteLength: 2 ** 40 })",
    threw(/RangeError|memory|length/),
  ],
  ["a regular expression with too large a count", "new RegExp('(?:a{1000000}){1000000}{2}')", threw(/SyntaxError/)],
  ["a regular expression with too many groups", "new RegExp('(a)'.repeat(1e5))", threw(/SyntaxError/)],
  ["a call with too many arguments", "print.apply(null, { length: 2 ** 31 })", threw(/RangeError/)],
];
const natives: readonly Attack[] = NATIVE.map(([name, code, expect]) => ({
  name: `native code cannot take too much: ${name}`,
  cells: [code],
  bounds: { memoryBytesMax: BYTES_MAX },
  expect,
}));

const HOARDS: readonly (readonly [name: string, code: string, expect: Expected])[] = [
  ["a string that doubles", "let s = 'ab'; for (;;) s += s", threw(/string too long/)],
  ["an array that grows", "const a = []; for (;;) a.push({})", stopped("memory")],
  ["buffers that are kept", "const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))", stopped("memory")],
  ["a map that grows", "const m = new Map(); for (let i = 0; ; i++) m.set(i, [i])", stopped("memory")],
  ["closures that are kept", "let f = () => 1; for (;;) { const g = f; f = () => g }", stopped("memory")],
  ["promises that are kept", "const a = []; for (;;) a.push(new Promise(() => {}))", stopped("memory")],
  [
    "a caught lack of memory",
    "const a = []; for (;;) try { for (;;) a.push(new ArrayBuffer(3e7)) } catch { a.push(1) }",
    stopped("memory"),
  ],
];
const memory: readonly Attack[] = HOARDS.map(([name, code, expect]) => ({
  name: `memory is bounded: ${name}`,
  cells: [code],
  bounds: { stepsMax: 1000, memoryBytesMax: BYTES_MAX },
  expect,
}));

export const MEMORY: readonly Attack[] = [...natives, ...memory];
