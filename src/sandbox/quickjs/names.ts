// Finds misuses in a parsed cell: imports, used names, assignments to constants, and calls of missing tools. QuickJS
// would report them too late or never, because constants of a cell become variables.

import type { AnyNode, CallExpression, Identifier, Program } from "acorn";
import { CODE_NAMES } from "../../model/tool-path.ts";
import type { Names } from "./surface.ts";

/**
 * Names that a cell may neither declare at its top level nor assign to. A function may have variables with these names.
 */
export const RESERVED = CODE_NAMES;

/** The meanings of reserved names that a model is likely to use for other things. */
const MEANING: { readonly [name: string]: string } = {
  history: "what was said so far",
  seed: "the value that a task begins with",
  continueAs: "how to go on with another task",
};

/** A message, and its position in the code. */
export interface Misuse {
  readonly message: string;
  readonly offset: number;
}

/** A scope of declared names. The one without an `outer` is the cell's top level. */
class Scope {
  readonly names = new Set<string>();
  readonly outer: Scope | undefined;
  /** The scope that a `var` in this one is declared in. */
  readonly hoist: Scope;

  constructor(kind: "top" | "function" | "block", outer?: Scope) {
    this.outer = outer;
    this.hoist = kind === "block" ? (outer?.hoist ?? this) : this;
  }

  /** Returns the innermost scope that declares a name; the top level if none does. */
  declaring(name: string): Scope {
    return this.outer && !this.names.has(name) ? this.outer.declaring(name) : this;
  }
}

export const NO_MODULES = "A cell has no import and no export. Everything it can use is global.";

/** Returns all misuses of a cell, in order. Without `names`, the surroundings are not checked. */
export function misuses(program: Program, names?: Names): Misuse[] {
  const found: Misuse[] = [];
  const top = new Scope("top");
  const constants = new Set<string>();
  const assigned: { readonly id: Identifier; readonly scope: Scope }[] = [];
  const called: { readonly call: Called; readonly scope: Scope }[] = [];

  const refuse = (node: AnyNode, message: string) => void found.push({ message, offset: node.start });
  const declare = (ids: Iterable<Identifier>, scope: Scope) => {
    for (const id of ids) {
      scope.names.add(id.name);
      if (scope !== top) continue;
      const meaning = meaningOf(id.name);
      if (meaning !== undefined) refuse(id, `\`${id.name}\` is ${meaning}. Choose another name.`);
      else if (RESERVED.has(id.name)) refuse(id, `\`${id.name}\` is reserved. Choose another name.`);
    }
  };
  const meaningOf = (name: string): string | undefined =>
    Object.hasOwn(MEANING, name) ? MEANING[name] : names?.meaningOf(name);
  const assign = (target: AnyNode, scope: Scope) => {
    for (const id of bound(target)) assigned.push({ id, scope });
  };

  visit(program, top);
  // Checked last, because a function may assign to a variable that is declared below it.
  for (const { id, scope } of assigned) {
    if (scope.declaring(id.name) !== top) continue;
    const meaning = top.names.has(id.name) ? undefined : meaningOf(id.name); // The declaration was already refused.
    if (meaning !== undefined) refuse(id, `\`${id.name}\` is ${meaning}. Choose another name.`);
    else if (RESERVED.has(id.name)) refuse(id, `\`${id.name}\` cannot be assigned to. Choose another name.`);
    if (constants.has(id.name)) refuse(id, `\`${id.name}\` is a constant. Declare it with \`let\` to assign to it.`);
  }
  for (const { call, scope } of called) {
    const { object, property } = call;
    if (scope.declaring(object.name) !== top || top.names.has(object.name)) continue;
    const problem = names?.missing(object.name, property.name);
    if (problem !== undefined) refuse(object, problem);
  }
  return found.sort((a, b) => a.offset - b.offset);

  function visit(node: AnyNode, scope: Scope): void {
    switch (node.type) {
      case "ImportDeclaration":
      case "ImportExpression":
      case "ExportNamedDeclaration":
      case "ExportDefaultDeclaration":
      case "ExportAllDeclaration":
        refuse(node, NO_MODULES);
        break;
      case "MetaProperty":
        if (node.meta.name === "import") refuse(node, NO_MODULES);
        break;
      case "Identifier":
        if (node.name === "await") refuse(node, "`await` is not a name. Choose another name.");
        break;
      case "VariableDeclaration": {
        const ids = node.declarations.flatMap((each) => [...bound(each.id)]);
        declare(ids, node.kind === "var" ? scope.hoist : scope);
        if (node.kind === "const" && scope === top) for (const id of ids) constants.add(id.name);
        break;
      }
      case "FunctionDeclaration":
      case "ClassDeclaration":
        if (node.id) declare([node.id], scope);
        break;
      case "CallExpression": {
        const call = names && calledBy(node);
        if (call) called.push({ call, scope });
        break;
      }
      case "AssignmentExpression":
        assign(node.left, scope);
        break;
      case "UpdateExpression":
        assign(node.argument, scope);
        break;
      case "ForInStatement":
      case "ForOfStatement":
        if (node.left.type !== "VariableDeclaration") assign(node.left, scope);
        break;
    }
    const inner = inside(node, scope);
    for (const child of childrenOf(node)) visit(child, inner);
  }

  /** Returns the scope inside a node. */
  function inside(node: AnyNode, scope: Scope): Scope {
    switch (node.type) {
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression": {
        const body = new Scope("function", scope);
        if (node.type === "FunctionExpression" && node.id) declare([node.id], body);
        for (const param of node.params) declare(bound(param), body);
        return body;
      }
      case "StaticBlock":
        return new Scope("function", scope);
      case "ClassDeclaration":
      case "ClassExpression": {
        const body = new Scope("block", scope);
        if (node.id) declare([node.id], body);
        return body;
      }
      case "CatchClause": {
        const body = new Scope("block", scope);
        if (node.param) declare(bound(node.param), body);
        return body;
      }
      case "BlockStatement":
      case "ForStatement":
      case "ForInStatement":
      case "ForOfStatement":
      case "SwitchStatement":
        return new Scope("block", scope);
      default:
        return scope;
    }
  }
}

interface Called {
  readonly object: Identifier;
  readonly property: Identifier;
}

/**
 * For `files.read(…)` returns `files` and `read`. Ignores optional calls (`?.`), because their target may be missing.
 */
function calledBy({ callee, optional }: CallExpression): Called | undefined {
  if (callee.type !== "MemberExpression" || callee.computed || callee.optional || optional) return undefined;
  const { object, property } = callee;
  return object.type === "Identifier" && property.type === "Identifier" ? { object, property } : undefined;
}

/** Returns the variables in a pattern of a declaration or an assignment. */
function* bound(pattern: AnyNode): Generator<Identifier> {
  switch (pattern.type) {
    case "Identifier":
      yield pattern;
      break;
    case "ObjectPattern":
      for (const each of pattern.properties) yield* bound(each.type === "Property" ? each.value : each);
      break;
    case "ArrayPattern":
      for (const each of pattern.elements) if (each) yield* bound(each);
      break;
    case "AssignmentPattern":
      yield* bound(pattern.left);
      break;
    case "RestElement":
      yield* bound(pattern.argument);
      break;
  }
}

/** Returns whether a node uses a name. Property names do not count. */
export const isMentioned = (name: string, node: AnyNode): boolean =>
  (node.type === "Identifier" && node.name === name) || childrenOf(node).some((child) => isMentioned(name, child));

const isNode = (value: unknown): value is AnyNode =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

/** Returns the child nodes, without plain property names. */
function childrenOf(node: AnyNode): AnyNode[] {
  const children: AnyNode[] = [];
  const isPlain = "computed" in node && !node.computed;
  for (const [key, value] of Object.entries(node)) {
    if (isPlain && (key === "key" || key === "property")) continue;
    for (const each of Array.isArray(value) ? value : [value]) if (isNode(each)) children.push(each);
  }
  return children;
}
