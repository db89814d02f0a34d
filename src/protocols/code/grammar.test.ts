import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CLOSE, OPEN, read, Scanner } from "./grammar.ts";

const code = (text: string) => {
  const { code: found, isClosed } = read(text);
  return isClosed ? found : undefined;
};

describe("P7 the grammar of replies", () => {
  test.each([
    ["a block", "<typescript>\nprint(1)\n</typescript>", "print(1)"],
    ["prose before it", "I look.\n\n<typescript>\nprint(1)\n</typescript>", "print(1)"],
    ["one line", "<typescript>print(1)</typescript>", "print(1)"],
    ["one line, with the tag in a string", '<typescript>print("</typescript>")</typescript>', 'print("</typescript>")'],
    ["blanks around the tags", "  <typescript> \r\na\r\nb \t\r\n\t</typescript> \r\n", "a\r\nb"],
    ["another case", "<TypeScript>\na\n</TYPESCRIPT>", "a"],
    ["code beside the tags", "<typescript>a;\nb;</typescript>", "a;\nb;"],
    [
      "the tag in the middle of a line",
      '<typescript>\nprint("</typescript>");\n</typescript>',
      'print("</typescript>");',
    ],
    [
      "an opening tag in the code",
      "<typescript>\nconst a = `\n<typescript>\n`;\n</typescript>",
      "const a = `\n<typescript>\n`;",
    ],
    ["code after the cell", "<typescript>\na\n</typescript>\nrm();", "a"],
    ["two cells", "<typescript>\na\n</typescript>\n<typescript>\nb\n</typescript>", "a"],
    ["a fence inside", "<typescript>\n```ts\na\n\nb\n```\n</typescript>", "\na\n\nb"],
    ["a fence in a string", "<typescript>\nconst a = `\n```\n`;\n</typescript>", "const a = `\n```\n`;"],
    ["nothing", "<typescript>\n</typescript>", ""],
    ["an indented one in a fence", "```\n  <typescript>\n  a\n  </typescript>\n```", "  a"],
  ])("%s", (_, text, expected) => {
    expect(code(text)).toBe(expected);
  });

  test.each([
    ["a tag in a sentence", "Use <typescript> and </typescript>."],
    ["a markdown fence", "```typescript\nprint(1)\n```"],
    ["another tag", "<javascript>\na\n</javascript>"],
    ["an attribute", '<typescript lang="ts">\na\n</typescript>'],
    ["a blank in the tag", "< typescript>\na\n</ typescript>"],
    ["letters that look alike", "＜typescript＞\na\n＜/typescript＞"],
    ["a long s, which has the upper case S", "<typeſcript>\na\n</typeſcript>"],
    ["a zero-width space before it", "\u200b<typescript>\na\n</typescript>"],
    ["a line separator before it", "Hi.\u2028<typescript>\na\n</typescript>"],
    ["a lone carriage return before it", "Hi.\r<typescript>\na\n</typescript>"],
    ["an end alone", "a\n</typescript>"],
  ])("%s is prose", (_, text) => {
    expect(read(text)).toEqual({ prose: text, isClosed: false, end: text.length });
  });

  test("a cell without its end is open, and its code is what there is", () => {
    expect(read("I look.\n<typescript>\nconst a = 1;\nconst b")).toEqual({
      prose: "I look.",
      code: "const a = 1;\nconst b",
      isClosed: false,
      end: 41,
    });
  });

  test("what comes after the cell is cut off", () => {
    const text = `a\n${OPEN}\nb\n${CLOSE}`;
    expect(read(`${text}  \n\nSo it is 4.`).end).toBe(text.length);
  });
});

/** Texts that are made of what the grammar is about. */
const texts = fc
  .array(
    fc.constantFrom(
      OPEN,
      CLOSE,
      "<",
      "</",
      "type",
      "script>",
      "<TYPESCRIPT>",
      "\n",
      "\r\n",
      " ",
      "\t",
      "a",
      "é",
      "\u2028",
      "```",
      "`",
      "x=1;",
      "\ud83d",
    ),
    { maxLength: 24 },
  )
  .map((pieces) => pieces.join(""));
const pieces = fc.array(fc.nat({ max: 6 }), { minLength: 1, maxLength: 40 });

function cutUp(text: string, sizes: readonly number[]): readonly string[] {
  const found: string[] = [];
  let at = 0;
  for (let nth = 0; at < text.length; nth++) {
    const size = sizes[nth % sizes.length] ?? 1;
    found.push(text.slice(at, at + size));
    at += size;
    if (nth > 2 * text.length + 40) sizes = [1]; // Only empty pieces came.
  }
  return found;
}

describe("P7 P6 a reply that comes in pieces", () => {
  test("is shown and cut as the whole one is, however it is cut up (grammar-1)", () => {
    fc.assert(
      fc.property(texts, pieces, (text, sizes) => {
        const scanner = new Scanner();
        let [shown, kept] = ["", ""];
        for (const piece of cutUp(text, sizes)) {
          shown += scanner.push(piece);
          kept += piece.slice(0, scanner.keeps);
          if (scanner.keeps !== undefined) break;
        }
        shown += scanner.end();
        const reading = read(text);
        expect(shown).toBe(reading.code === undefined ? text : reading.prose);
        expect(scanner.isClosed).toBe(reading.isClosed);
        const isCut = reading.isClosed && text.slice(reading.end).trim() !== "";
        expect(scanner.keeps !== undefined).toBe(isCut);
        expect(kept.trimEnd()).toBe((isCut ? text.slice(0, reading.end) : text).trimEnd());
        expect(read(kept).code).toBe(reading.code);
      }),
      { numRuns: 3_000 },
    );
  });

  test("never shows what turns out to be code (grammar-2)", () => {
    fc.assert(
      fc.property(texts, pieces, (text, sizes) => {
        const scanner = new Scanner();
        const { prose } = read(text);
        let shown = "";
        for (const piece of cutUp(text, sizes)) {
          shown += scanner.push(piece);
          expect(prose.startsWith(shown)).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("is cut as soon as something is said after the cell, and not before", () => {
    const scanner = new Scanner();
    scanner.push(`${OPEN}\nprint("${CLOSE}`);
    expect(scanner.isClosed).toBe(false);
    scanner.push(`");\n${CLOSE} `);
    expect(scanner.isClosed).toBe(false);
    scanner.push("\n\n ");
    expect([scanner.isClosed, scanner.keeps]).toEqual([true, undefined]);
    scanner.push("And so");
    expect(scanner.keeps).toBe(0);
  });

  test.each([
    ["blank lines", "\n"],
    ["blanks", " "],
    ["letters of the tag", "<"],
    ["one line of prose", "a"],
  ])("takes a megabyte of %s letter by letter (grammar-3)", (_, letter) => {
    for (const start of ["", `${OPEN}\n`]) {
      const scanner = new Scanner();
      scanner.push(start);
      for (let nth = 0; nth < 1_000_000; nth++) scanner.push(letter);
      expect(scanner.isClosed).toBe(false);
    }
  });
});
