// Markdown of models, drawn as elements: no HTML of a text ever reaches the page as HTML.
import { Lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { shown } from "../../format.ts";
import { Button } from "../../parts/basics.tsx";
import { Icon } from "../../parts/icons.tsx";
import { memo } from "../../parts/memo.ts";

/** The longest text that is shown at once. */
const SHOWN_MAX = 20_000;
/** About how much is read again while a text streams. */
const CHUNK = 4_000;

/** A text of a model. A long one is cut, and a growing one is read again only at its end. */
export function Markdown({ text, isLive = false }: { readonly text: string; readonly isLive?: boolean }): JSX.Element {
  const [most, setMost] = useState(SHOWN_MAX);
  const limit = isLive ? Number.POSITIVE_INFINITY : most;
  const chunks = useMemo(() => chunksOf(text.length > limit ? text.slice(0, limit) : text), [text, limit]);
  return (
    <div class="markdown">
      {chunks.map((chunk, n) => (
        <Chunk key={n} text={chunk} />
      ))}
      {text.length > limit && (
        <Button kind="quiet" onClick={() => setMost(most * 5)}>
          Show more ({(text.length - limit).toLocaleString()} characters)
        </Button>
      )}
    </div>
  );
}

/** Parts of a text that can be read alone: cut at empty lines before a new paragraph or heading, outside of fences. */
export function chunksOf(text: string): readonly string[] {
  if (text.length <= CHUNK) return [text];
  const chunks: string[] = [];
  let from = 0;
  let fence = "";
  for (const { index, 0: line } of text.matchAll(/^.*$/gm)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined) {
      if (fence === "") fence = mark;
      else if (mark.startsWith(fence)) fence = "";
    }
    const isNew = text[index - 2] === "\n" && /^[\p{L}\p{N}*_"(#[]/u.test(line) && !/^\d+[.)]|^[*] /.test(line);
    // A single endless paragraph is cut anywhere rather than read as one.
    const isTooLong = index - from > CHUNK * 10;
    if (((fence === "" && isNew) || isTooLong) && index - from >= CHUNK) {
      chunks.push(text.slice(from, index));
      from = index;
    }
  }
  const rest = text.slice(from);
  for (let at = 0; at < rest.length; at += CHUNK * 10) chunks.push(rest.slice(at, at + CHUNK * 10));
  return chunks;
}

/** The elements of a text. */
export function markdown(text: string): ComponentChildren {
  const safe = shown(text);
  try {
    return blocks(new Lexer({ gfm: true }).lex(safe));
  } catch {
    return <p class="unread">{safe}</p>; // Nested so deep that the lexer has no stack left.
  }
}

const Chunk = memo(function Chunk({ text }: { readonly text: string }): JSX.Element {
  return <>{markdown(text)}</>;
});

const blocks = (tokens: readonly Token[] | undefined): ComponentChildren => nested(tokens, block);
const inlines = (tokens: readonly Token[] | undefined): ComponentChildren => nested(tokens, inline);

/** What is deeper stays as it was written: a page has no stack for thousands of elements in each other. */
const DEPTH_MAX = 50;
let depth = 0;
function nested(
  tokens: readonly Token[] = [],
  draw: (token: Token, n: number) => ComponentChildren,
): ComponentChildren {
  if (depth >= DEPTH_MAX) return tokens.map(({ raw }) => raw).join("");
  depth++;
  try {
    return tokens.map(draw);
  } finally {
    depth--;
  }
}

function block(token: Token, n: number): ComponentChildren {
  switch (token.type) {
    case "heading": {
      // A message begins at any depth, and the headings of a page must not skip a level.
      const { depth, tokens } = token as Tokens.Heading;
      return (
        <p key={n} class={`heading h${depth}`} role="heading" aria-level={2}>
          {inlines(tokens)}
        </p>
      );
    }
    case "paragraph":
      return <p key={n}>{inlines((token as Tokens.Paragraph).tokens)}</p>;
    case "code":
      return <CodeBlock key={n} text={(token as Tokens.Code).text} lang={(token as Tokens.Code).lang ?? ""} />;
    case "blockquote":
      return <blockquote key={n}>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "list":
      return list(token as Tokens.List, n);
    case "table":
      return table(token as Tokens.Table, n);
    case "hr":
      return <hr key={n} />;
    case "space":
    case "def":
      return null;
    case "html":
      return <p key={n}>{token.raw.trim()}</p>;
    default:
      return inline(token, n);
  }
}

function list({ ordered, start, items }: Tokens.List, n: number): JSX.Element {
  const rows = items.map((item, index) => (
    <li key={index} class={item.task ? "task" : undefined}>
      {blocks(item.tokens)}
    </li>
  ));
  return ordered ? (
    <ol key={n} start={start === "" ? 1 : start}>
      {rows}
    </ol>
  ) : (
    <ul key={n}>{rows}</ul>
  );
}

function table({ header, rows }: Tokens.Table, n: number): JSX.Element {
  const style = ({ align }: Tokens.TableCell) => (align === null ? {} : { textAlign: align });
  return (
    <div class="scroll" key={n} tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} style={style(cell)}>
                {inlines(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} style={style(cell)}>
                  {inlines(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(token: Token, n: number): ComponentChildren {
  switch (token.type) {
    case "strong":
      return <strong key={n}>{inlines(token.tokens)}</strong>;
    case "em":
      return <em key={n}>{inlines(token.tokens)}</em>;
    case "del":
      return <del key={n}>{inlines(token.tokens)}</del>;
    case "codespan":
      return <code key={n}>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br key={n} />;
    case "checkbox":
      return (
        <span key={n} class="check" role="img" aria-label={(token as Tokens.Checkbox).checked ? "Done: " : "Open: "}>
          {(token as Tokens.Checkbox).checked && <Icon name="check" />}
        </span>
      );
    case "link":
      return link(decoded((token as Tokens.Link).href), inlines(token.tokens), n);
    case "image":
      return link(decoded((token as Tokens.Image).href), decoded((token as Tokens.Image).text) || "image", n);
    case "text":
      return token.tokens === undefined ? decoded((token as Tokens.Text).text) : inlines(token.tokens);
    case "escape":
      return (token as Tokens.Escape).text;
    default:
      return token.raw;
  }
}

/** Only what leads to a page or a mail program. The page that it opens does not learn where the link was. */
function link(href: string, children: ComponentChildren, n: number): ComponentChildren {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return children;
  return (
    <a key={n} href={href} target="_blank" rel="noreferrer" title={href}>
      {children}
    </a>
  );
}

const NAMED = new Map(Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" }));
/** The lexer decodes some entities itself, so this spells out also what it has decoded. */
function decoded(text: string): string {
  const plain = text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{1,8}));/gi, (all, decimal, hex, name) => {
    if (name !== undefined) return NAMED.get(name) ?? all;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : all;
  });
  return shown(plain);
}

function CodeBlock({ text, lang }: { readonly text: string; readonly lang: string }): JSX.Element {
  return (
    <figure class="block">
      <figcaption>
        <span>{lang.split(/\s/, 1)[0] || "text"}</span>
        <Copy text={text} />
      </figcaption>
      <pre tabIndex={0}>{text}</pre>
    </figure>
  );
}

const COPIED_MS = 1_500;

export function Copy({ text, label = "Copy" }: { readonly text: string; readonly label?: string }): JSX.Element {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), COPIED_MS);
  };
  return (
    <Button kind="quiet" onClick={() => void copy().catch(() => {})}>
      {isDone ? "Copied" : label}
    </Button>
  );
}
