import { Refusal, shown } from "./refusal.ts";
import { TEXTS } from "./texts.ts";

const ALTERNATIVES_MAX = 64;

/**
 * Supports `*`, `?`, `[a-z]` and `{a,b}` within a name, and `**` for any number of folders. A pattern without a slash
 * matches only the last name of a path. This does not use regular expressions, because a model's pattern could make one
 * run for ever. Here the time grows with the length of the pattern times the length of the path.
 */
export function globMatcher(pattern: string): (path: string) => boolean {
  const alternatives = braces(pattern).map((each) => each.replace(/^\.?\//, "").split("/"));
  return (path) => {
    const names = path.split("/");
    return alternatives.some((parts) =>
      parts.length === 1 && parts[0] !== "**"
        ? nameMatches(parts[0] ?? "", names.at(-1) ?? "")
        : pathMatches(parts, names),
    );
  };
}

function braces(pattern: string): readonly string[] {
  let open = [pattern];
  for (let next = expandOnce(open); next !== open; next = expandOnce(open)) {
    open = next;
    if (open.length > ALTERNATIVES_MAX)
      throw new Refusal("workspace.pattern", TEXTS.wideGlob(shown(pattern), ALTERNATIVES_MAX));
  }
  return open;
}

/** Expands the innermost braces of each pattern. Returns the same list if there are no braces left. */
function expandOnce(patterns: string[]): string[] {
  const found = patterns.map((pattern) => /\{([^{}]*)\}/.exec(pattern));
  if (found.every((each) => each === null)) return patterns;
  return patterns.flatMap((pattern, index) => {
    const match = found[index];
    if (match == null) return [pattern];
    const [before, after] = [pattern.slice(0, match.index), pattern.slice(match.index + match[0].length)];
    return (match[1] ?? "").split(",").map((choice) => before + choice + after);
  });
}

const pathMatches = (parts: readonly string[], names: readonly string[]): boolean =>
  matches(parts, names, (part) => part === "**", nameMatches);

const nameMatches = (pattern: string, name: string): boolean =>
  matches(tokensOf(pattern), [...name], (token) => token === "*", characterMatches);

function characterMatches(token: string, character: string): boolean {
  if (token === "?") return true;
  if (!token.startsWith("[") || token.length < 3) return token === character;
  const isNegated = token[1] === "!" || token[1] === "^";
  const set = [...token.slice(isNegated ? 2 : 1, -1)];
  let isIn = false;
  for (let index = 0; index < set.length; index++) {
    const [from = "", dash, to] = [set[index], set[index + 1], set[index + 2]];
    if (dash === "-" && to !== undefined) {
      isIn ||= from <= character && character <= to;
      index += 2;
    } else isIn ||= from === character;
  }
  return isIn !== isNegated;
}

const tokensOf = (pattern: string): readonly string[] => pattern.match(/\[[!^]?\]?[^\]]*\]|[\s\S]/gu) ?? [];

/** Matches tokens against items. It goes back only to the last wildcard, so the worst case is quadratic. */
function matches<Token, Item>(
  tokens: readonly Token[],
  items: readonly Item[],
  isAny: (token: Token) => boolean,
  fits: (token: Token, item: Item) => boolean,
): boolean {
  let [token, item, anyAt, resumeAt] = [0, 0, -1, 0];
  while (item < items.length) {
    const current = tokens[token];
    if (current !== undefined && isAny(current)) {
      anyAt = token++;
      resumeAt = item;
    } else if (current !== undefined && fits(current, items[item] as Item)) {
      token++;
      item++;
    } else if (anyAt !== -1) {
      token = anyAt + 1;
      item = ++resumeAt;
    } else return false;
  }
  while (token < tokens.length && isAny(tokens[token] as Token)) token++;
  return token === tokens.length;
}
