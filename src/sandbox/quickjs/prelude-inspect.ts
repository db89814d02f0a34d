// Part of the prelude: texts of values and errors for people and models. Getters and proxies are not run, except for
// the fields of an error. It must follow the rules in prelude.ts.

/**
 * Uses `host`, `ASK`, `BRANDS`, `givenText` and the captured intrinsics of the prelude. Defines `inspect`, `brief`,
 * `describe` and `stackOf`.
 */
export const INSPECT = String.raw`
const INSPECT_MAX = 4000, STRING_MAX = 1000;
const WHOLE = { __proto__: null, chars: INSPECT_MAX, items: 100, depth: 4, width: 76, isQuiet: false };
// On one line, and without any code of the guest.
const BRIEF = { __proto__: null, chars: 119, items: 8, depth: 2, width: Infinity, isQuiet: true };
const { isArray } = Array;
const ArrayPrototype = Array.prototype, ObjectPrototype = Object.prototype;
const { isView } = ArrayBuffer;
const symbolText = Symbol.prototype.toString;
const dateText = Date.prototype.toISOString, dateTime = Date.prototype.getTime;
const regexpText = RegExp.prototype.toString;
const mapEntries = Map.prototype.entries, setValues = Set.prototype.values;
const mapNext = getPrototypeOf(new Map().entries()).next, setNext = getPrototypeOf(new Set().values()).next;
const getterOf = (object, key) => getOwnPropertyDescriptor(object, key).get;
const mapSize = getterOf(Map.prototype, "size"), setSize = getterOf(Set.prototype, "size");
const TypedArray = getPrototypeOf(Uint8Array);
const typedName = getterOf(TypedArray.prototype, Symbol.toStringTag), typedLength = getterOf(TypedArray.prototype, "length");
const stackGetter = getterOf(Error.prototype, "stack"), sourceGetter = getterOf(RegExp.prototype, "source");

const brandOf = (value) => BRANDS[host(ASK.brand, value)];
const cut = (text, max) => (text.length > max ? apply(slice, text, [0, max]) + "…" : text);
const ownData = (object, key) => {
  const found = getOwnPropertyDescriptor(object, key);
  return found !== undefined && apply(hasOwnProperty, found, ["value"]) ? found.value : undefined;
};

let form = WHOLE;
let spent = 0; // Characters of the text so far: enough of them end it, however large the value is.
const leaf = (text) => {
  spent += text.length;
  return text;
};
function inspect(value) {
  form = WHOLE;
  spent = 0;
  return cut(show(value, 0, null, ""), form.chars);
}
function brief(value) {
  form = BRIEF;
  spent = 0;
  return cut(show(value, 0, null, ""), form.chars);
}

function show(value, depth, above, indent) {
  if (spent > form.chars) return "…";
  switch (typeof value) {
    case "string":
      return leaf(stringify(cut(value, STRING_MAX)));
    case "number":
      return leaf(value === 0 && 1 / value < 0 ? "-0" : "" + value);
    case "bigint":
      return leaf(value + "n");
    case "symbol":
      return leaf(cut(apply(symbolText, value, []), STRING_MAX));
    case "object":
    case "function":
      return value === null ? leaf("null") : showObject(value, depth, above, indent);
    default:
      return leaf("" + value);
  }
}

function showObject(value, depth, above, indent) {
  for (let each = above; each !== null; each = each.above) if (each.value === value) return leaf("[Circular]");
  const brand = brandOf(value);
  const given = givenText(value, brand);
  if (given !== undefined) return leaf(given);
  switch (brand) {
    case "proxy":
      return leaf("[Proxy]");
    case "date": {
      const time = apply(dateTime, value, []);
      return leaf(time === time ? apply(dateText, value, []) : "Invalid Date");
    }
    case "regexp":
      return leaf(cut(form.isQuiet ? quietRegexp(value) : showRegexp(value), STRING_MAX));
    case "error":
      return leaf(cut(form.isQuiet ? quietTitle(value) : titleOf(value), STRING_MAX));
    case "pending":
    case "fulfilled":
    case "rejected":
      return leaf("Promise { <" + brand + "> }");
  }
  if (typeof value === "function") {
    const own = ownData(value, "name");
    return leaf("[Function " + (typeof own === "string" && own !== "" ? cut(own, 100) : "(anonymous)") + "]");
  }
  const name = nameOf(value);
  const isList = isArray(value) || isView(value);
  if (depth >= form.depth) return leaf(isList ? "[Array]" : "[" + name + "]");
  const down = { __proto__: null, value, above };
  const item = (each) => show(each, depth + 1, down, indent + "  ");
  if (isArray(value)) return showList(name === "Array" ? "[" : name + " [", value, value.length, item, indent);
  if (isView(value)) {
    const type = apply(typedName, value, []);
    if (type === undefined) return leaf("DataView {}");
    const length = apply(typedLength, value, []);
    return showList(type + "(" + length + ") [", value, length, item, indent);
  }
  if (brand === "map") return showEntries(name, apply(mapSize, value, []), apply(mapEntries, value, []), mapNext, item, indent);
  if (brand === "set") return showEntries(name, apply(setSize, value, []), apply(setValues, value, []), setNext, item, indent);
  return showFields(name === "Object" ? "" : name + " ", value, item, indent);
}

// Items in rows, as many as fit.
function showList(opening, list, length, item, indent) {
  let text = "", row = "", isBroken = false;
  for (let index = 0; index < length && spent <= form.chars; index++) {
    if (index === form.items) {
      text += row + "… " + (length - index) + " more";
      row = "";
      break;
    }
    const found = getOwnPropertyDescriptor(list, index);
    const part = (found === undefined ? leaf("<empty>") : item(ownData(list, index))) + (index < length - 1 ? ", " : "");
    if (row.length + part.length + indent.length > form.width && row !== "") {
      text += row + "\n" + indent + "  ";
      row = "";
      isBroken = true;
    }
    row += part;
  }
  text += row;
  return isBroken ? opening + "\n" + indent + "  " + text + "\n" + indent + "]" : opening + (text === "" ? "" : text) + "]";
}

function showEntries(name, size, entries, next, item, indent) {
  const rows = { __proto__: null, length: 0 };
  for (;;) {
    const step = apply(next, entries, []);
    if (step.done || spent > form.chars) break;
    if (rows.length === form.items) {
      rows[rows.length++] = "… " + (size - form.items) + " more";
      break;
    }
    rows[rows.length++] = next === mapNext ? item(step.value[0]) + " => " + item(step.value[1]) : item(step.value);
  }
  return braced(name + "(" + size + ") ", rows, indent);
}

function showFields(opening, object, item, indent) {
  const rows = { __proto__: null, length: 0 };
  const keys = ownKeys(object);
  for (let index = 0; index < keys.length && spent <= form.chars; index++) {
    const key = keys[index];
    const found = getOwnPropertyDescriptor(object, key);
    if (found === undefined || !found.enumerable) continue;
    if (rows.length === form.items) {
      rows[rows.length++] = "… " + (keys.length - index) + " more";
      break;
    }
    const isValue = apply(hasOwnProperty, found, ["value"]);
    rows[rows.length++] = leaf(keyText(key)) + ": " + (isValue ? item(found.value) : leaf("[Getter]"));
  }
  return braced(opening, rows, indent);
}

// On one line if it fits, else each on its own.
function braced(opening, rows, indent) {
  if (rows.length === 0) return opening + "{}";
  let line = "", lines = "";
  for (let index = 0; index < rows.length; index++) {
    line += (index > 0 ? ", " : "") + rows[index];
    lines += indent + "  " + rows[index] + (index < rows.length - 1 ? ",\n" : "\n");
  }
  return line.length + indent.length <= form.width ? opening + "{ " + line + " }" : opening + "{\n" + lines + indent + "}";
}

const WORD = /^[A-Za-z_$][\w$]*$/, test = RegExp.prototype.exec;
const keyText = (key) =>
  typeof key === "symbol" ? "[" + apply(symbolText, key, []) + "]"
    : key.length < 100 && apply(test, WORD, [key]) !== null ? key : stringify(cut(key, STRING_MAX));

function nameOf(value) {
  const prototype = getPrototypeOf(value);
  if (prototype === ObjectPrototype) return "Object"; // Most are plain, and to ask the host about each takes long.
  if (prototype === ArrayPrototype) return "Array";
  for (let each = prototype; each !== null; each = getPrototypeOf(each)) {
    if (brandOf(each) === "proxy") return "Object";
    const maker = ownData(each, "constructor");
    if (typeof maker !== "function" || brandOf(maker) === "proxy") continue;
    const name = ownData(maker, "name");
    if (typeof name === "string" && name !== "") return cut(name, 100);
  }
  return "[Object: null prototype]";
}

// The one place where getters of a value are run: what they throw is theirs.
function field(value, key) {
  try {
    const found = value[key];
    return typeof found === "string" ? found : undefined;
  } catch {
    return undefined;
  }
}
function showRegexp(value) {
  try {
    return apply(regexpText, value, []);
  } catch {
    return "[RegExp]";
  }
}
function titleOf(error) {
  const name = field(error, "name"), message = field(error, "message");
  return (name === undefined ? "Error" : name) + (message === undefined || message === "" ? "" : ": " + message);
}
// The same without running getters.
function quietRegexp(value) {
  return "/" + apply(sourceGetter, value, []) + "/";
}
function quietTitle(error) {
  const message = ownData(error, "message");
  return nameOf(error) + (typeof message === "string" && message !== "" ? ": " + message : "");
}
function stackOf(error) {
  const stack = apply(stackGetter, error, []);
  return typeof stack === "string" ? stack : "";
}

/** Any thrown value as JSON text: name, message, code, stack. */
// As JSON, put together by hand: stringify would hand a record of ours to a setter on Array.prototype.
const fieldOf = (key, text) => ',"' + key + '":' + stringify(text);
function describe(thrown) {
  const isObject = (typeof thrown === "object" && thrown !== null) || typeof thrown === "function";
  const message = isObject ? field(thrown, "message") : undefined;
  if (message === undefined) {
    const text = typeof thrown === "string" ? cut(thrown, INSPECT_MAX) : inspect(thrown);
    return '{"name":"NonError"' + fieldOf("message", text) + "}";
  }
  const name = field(thrown, "name"), code = field(thrown, "code");
  const stack = brandOf(thrown) === "error" ? stackOf(thrown) : undefined; // Nothing else has frames.
  let told = '{"name":' + stringify(name === undefined || name === "" ? "Error" : cut(name, 100));
  told += fieldOf("message", cut(message, INSPECT_MAX));
  if (code !== undefined) told += fieldOf("code", cut(code, 100));
  if (stack !== undefined) told += fieldOf("stack", cut(stack, INSPECT_MAX));
  return told + "}";
}
`;
