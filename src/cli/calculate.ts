const TOKEN = /\s*(?:(\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|([-+*/%^()]))/iy;
const LENGTH_MAX = 500;

/** Calculates an expression with its own parser: no part is run as code. Throws an error that contains the problem. */
export function calculate(expression: string): number {
  if (expression.length > LENGTH_MAX) throw new Error(`The expression is longer than ${LENGTH_MAX} characters.`);
  const tokens = tokensOf(expression);
  let at = 0;
  const value = sum();
  if (at < tokens.length) throw new Error(`“${tokens[at]}” was not expected after ${tokens.slice(0, at).join(" ")}.`);
  if (Number.isNaN(value)) throw new Error("There is no real number that is the result.");
  if (!Number.isFinite(value)) throw new Error("The result is too large.");
  return Number(value.toPrecision(15)); // Removes the error of binary fractions: 0.1 + 0.2 must be 0.3.

  function sum(): number {
    let left = product();
    for (let sign = accept("+", "-"); sign !== undefined; sign = accept("+", "-")) {
      left = sign === "+" ? left + product() : left - product();
    }
    return left;
  }

  function product(): number {
    let left = signed();
    for (let sign = accept("*", "/", "%"); sign !== undefined; sign = accept("*", "/", "%")) {
      const right = signed();
      if (sign !== "*" && right === 0) throw new Error("A division by zero has no result.");
      left = sign === "*" ? left * right : sign === "/" ? left / right : left % right;
    }
    return left;
  }

  /** A sign binds less than a power: -2^2 is -(2^2). */
  function signed(): number {
    const sign = accept("+", "-");
    if (sign === undefined) return power();
    return sign === "-" ? -signed() : signed();
  }

  function power(): number {
    const base = operand();
    return accept("^") === undefined ? base : base ** signed();
  }

  function operand(): number {
    const token = tokens[at++];
    if (typeof token === "number") return token;
    if (token !== "(")
      throw new Error(`A number was expected ${token === undefined ? "at the end" : `before “${token}”`}.`);
    const inner = sum();
    if (accept(")") === undefined) throw new Error("A closing parenthesis is missing.");
    return inner;
  }

  function accept(...wanted: readonly string[]): string | undefined {
    const token = tokens[at];
    if (typeof token !== "string" || !wanted.includes(token)) return undefined;
    at++;
    return token;
  }
}

function tokensOf(expression: string): readonly (number | string)[] {
  const text = expression.trim();
  const tokens: (number | string)[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const start = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (found === null) throw new Error(`“${text.slice(start).trim()}” is no number and none of + - * / % ^ ( ).`);
    tokens.push(found[1] === undefined ? (found[2] as string) : Number(found[1]));
  }
  if (tokens.length === 0) throw new Error("The expression is empty.");
  return tokens;
}
