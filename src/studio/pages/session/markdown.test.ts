import type { VNode } from "preact";
import { expect, test, vi } from "vitest";

vi.stubGlobal("location", { hash: "", origin: "" });
vi.stubGlobal("document", { addEventListener() {} });
vi.stubGlobal("addEventListener", () => {});
const { chunksOf, markdown } = await import("./markdown.tsx");

interface Drawn {
  readonly tag: string;
  readonly props: { readonly [name: string]: unknown };
  readonly text: string;
}

/** All elements below a drawn text, with the words in each. */
function drawn(children: unknown, all: Drawn[] = []): { readonly all: readonly Drawn[]; readonly text: string } {
  if (Array.isArray(children)) return { all, text: children.map((each) => drawn(each, all).text).join("") };
  if (typeof children !== "object" || children === null) return { all, text: String(children ?? "") };
  const { type, props } = children as VNode<{ children?: unknown; text?: string }>;
  const text = drawn(props.children, all).text + (typeof type === "string" ? "" : (props.text ?? ""));
  all.push({ tag: typeof type === "string" ? type : type.name, props: props as Drawn["props"], text });
  return { all, text };
}
const read = (text: string) => drawn(markdown(text));

test("E6 markdown of a model never becomes HTML", () => {
  const words = "<script>alert(1)</script>\n\nA <b onclick=x>bold</b> word &lt;i&gt; &#x3c;img&#62;\n\n<!-- note -->";
  const { all, text } = read(words);
  expect(all.map(({ tag }) => tag)).toEqual(["p", "p", "p"]);
  expect(text).toBe("<script>alert(1)</script>A <b onclick=x>bold</b> word <i> <img><!-- note -->");
  for (const { props } of all) expect(Object.keys(props)).toEqual(["children"]);
});

test("E6 links of a model lead to web pages and mails only, and images are links", () => {
  const { all, text } = read(
    "[a](https://a.example/?a=1&amp;b=2) [b](javascript:alert(1)) [c](data:text/html,x) [d](/v1/sessions) ![e](http://e.example/x.png) <mailto:f@g.example> [h](JaVaScRiPt&#58;alert)",
  );
  const links = all.filter(({ tag }) => tag === "a");
  expect(links.map(({ props }) => props.href)).toEqual([
    "https://a.example/?a=1&b=2",
    "http://e.example/x.png",
    "mailto:f@g.example",
  ]);
  for (const { props } of links) expect(props).toMatchObject({ target: "_blank", rel: "noreferrer" });
  expect(all.some(({ tag }) => tag === "img")).toBe(false);
  expect(text).toContain("b c d");
});

test("E6 control characters and entities of them are spelt out", () => {
  expect(read("\u001b[31mred \u202eabc &#x202e;def `\u202ecode`").text).toBe(
    "\\u{1b}[31mred \\u{202e}abc \\u{202e}def \\u{202e}code",
  );
});

test("E6 tables, lists, tasks and code are drawn", () => {
  const { all } = read(
    "| a | b |\n|:-|-:|\n| 1 | 2 |\n\n1. one\n   - two\n- [x] done\n\n```ts\nlet a = 1;\n```\n\n# Head",
  );
  const tags = all.map(({ tag }) => tag);
  for (const tag of ["table", "th", "td", "ol", "ul", "li", "CodeBlock"]) expect(tags).toContain(tag);
  expect(all.find(({ tag }) => tag === "CodeBlock")).toMatchObject({ props: { lang: "ts" }, text: "let a = 1;" });
  expect(all.find(({ props }) => props.role === "heading")).toMatchObject({ text: "Head", props: { "aria-level": 2 } });
});

test("E6 a long text is read in chunks that keep fences whole and stay the same while it grows", () => {
  const block = `A paragraph. ${"Words. ".repeat(100)}\n\n\`\`\`\ncode\n\nmore ${"x".repeat(3_000)}\n\nCode\n\`\`\`\n\n`;
  const text = block.repeat(20);
  const chunks = chunksOf(text);
  expect(chunks.length).toBeGreaterThan(4);
  expect(chunks.join("")).toBe(text);
  for (const chunk of chunks) expect(chunk.match(/```/g)?.length ?? 0).toSatisfy((n: number) => n % 2 === 0);
  expect(chunksOf(text + block).slice(0, chunks.length - 1)).toEqual(chunks.slice(0, -1));
  const endless = "word ".repeat(100_000);
  expect(chunksOf(endless).every(({ length }) => length <= 40_000)).toBe(true);
});

test("E6 what is nested too deep is shown as it was written", () => {
  for (const nesting of ["> ", "- "]) {
    const { all, text } = read(`${nesting.repeat(200)}deep`);
    expect(text).toContain("deep");
    expect(all.length).toBeLessThan(200);
  }
  const many = `${"> ".repeat(20_000)}deep`;
  expect(read(many).text).toBe(many);
});

test("E6 an entity with the name of a function stays as it was written", () => {
  expect(read("&valueOf; &toString; &amp;").text).toBe("&valueOf; &toString; &");
});
