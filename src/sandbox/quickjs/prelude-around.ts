// Part of the prelude: the surroundings of a cell. Modules of tools, `history`, read-only values, and lazy values,
// which are too large to send with the cell and are read when code awaits them. It must follow the rules in prelude.ts.
//
// Surroundings are sent when a cell starts and are the same in each replay. So are the results of reads.

/**
 * Uses `announce`, `failed`, `toolsOf`, `isRunning` and the captured intrinsics of the prelude. Defines `surround`,
 * `leave`, `search`, `frozen`, `givenText` and `variables`.
 */
export const AROUND = String.raw`
const QUERY_MAX = 1000, NAMES_MAX = 60, NAME_MAX = 100, NAMES_CHARS_MAX = 4000;
const { freeze } = Object;
const { then } = Promise.prototype;
const { toPrimitive } = Symbol;
const TEXT = Symbol("text"), CHARS = Symbol("chars");
const no = () => false;

// JSON, with all that is in it. Without recursion: it may be nested deeply.
const frozen = (root) => {
  const found = { __proto__: null, length: 0 };
  const add = (value) => {
    if (typeof value === "object" && value !== null) found[found.length++] = value;
  };
  add(root);
  for (let index = 0; index < found.length; index++) {
    const value = found[index];
    found[index] = undefined;
    if (isArray(value)) for (let at = 0; at < value.length; at++) add(value[at]);
    else {
      const keys = ownKeys(value);
      for (let at = 0; at < keys.length; at++) add(value[keys[at]]);
    }
    freeze(value);
  }
  return root;
};

// ── Reads ───────────────────────────────────────────────────────────────────────────────────────────────────────────

// What was asked for in this cell, so that it is asked for once.
let readings = { __proto__: null };

const ask = (what, json) => {
  const error = new Error();
  return new Promise((resolve, reject) => {
    if (!isRunning) return reject(failed(error, "cell.finished", "The cell has ended: it cannot read " + what));
    announce({ __proto__: null, resolve, reject, error, isRead: true }, ASK.read, what, json);
  });
};
const read = (what, json) => {
  const known = readings[json];
  if (known !== undefined) return known;
  const reading = ask(what, json);
  if (isRunning) readings[json] = reading;
  return reading;
};

const search = (words) => {
  const query = typeof words === "object" && words !== null ? words.query : words;
  if (typeof query !== "string") throw new TypeError("tools.search takes words, such as tools.search(\"send mail\")");
  if (query.length > QUERY_MAX) throw new RangeError("tools.search takes at most " + QUERY_MAX + " characters");
  return ask("tools.search", '{"search":' + stringify(query) + "}");
};

const grouped = (count) => {
  let text = "" + count, groups = "";
  for (; text.length > 3; text = apply(slice, text, [0, -3])) groups = "," + apply(slice, text, [-3]) + groups;
  return text + groups;
};

// Code that forgets to await a lazy value meets this, whatever it looks for in it.
const early = (what) => new TypeError(what + " is not read yet: await it first");
const Lazy = new Proxy({ __proto__: null }, {
  __proto__: null,
  get: (_, key, lazy) => {
    const text = ownData(lazy, TEXT);
    throw early(typeof text === "string" ? text : "It");
  },
  has: () => {
    throw early("It");
  },
  set: no,
  defineProperty: no,
  setPrototypeOf: no,
  preventExtensions: no,
});
// The length is that of a text or a list. Whoever copies a lazy value, or asks for its keys, meets a key that says so.
const lazyOf = (what, chars, length, json) => {
  const lazy = { __proto__: Lazy };
  const refuse = () => {
    throw early(what);
  };
  fixed(lazy, TEXT, what);
  fixed(lazy, CHARS, chars);
  if (length !== undefined) fixed(lazy, "length", length);
  defineProperty(lazy, "await " + what + " first", { __proto__: null, get: refuse, enumerable: true, configurable: false });
  fixed(lazy, "then", (resolve, reject) => apply(then, read(what, json), [resolve, reject]));
  fixed(lazy, "toJSON", refuse);
  fixed(lazy, toPrimitive, refuse);
  return freeze(lazy);
};

// What print and the value of a cell show of these; undefined of all other values.
const givenText = (value, brand) => {
  if (value === history) return "[history: " + grouped(count) + (count === 1 ? " message]" : " messages]");
  if (brand !== "" || getPrototypeOf(value) !== Lazy) return undefined;
  const chars = ownData(value, CHARS);
  return "[" + ownData(value, TEXT) + (typeof chars === "number" ? ": " + grouped(chars) + " characters" : "") + ", await it]";
};

// ── What was said ───────────────────────────────────────────────────────────────────────────────────────────────────

// How many messages there are; the newest of them, or how long they are; and what was made of them for code.
let count = 0, newest = { __proto__: null, length: 0 }, messages = { __proto__: null };

const messageAt = (index) => {
  if (!(index >= 0 && index < count)) return undefined;
  let message = messages[index];
  if (message !== undefined) return message;
  const at = index - (count - newest.length);
  const near = at >= 0 ? newest[at] : undefined;
  message = typeof near === "object" ? near : lazyOf("history[" + index + "]", near, undefined, '{"history":' + index + "}");
  return (messages[index] = message);
};
const indexOf = (key) => {
  const index = typeof key === "string" ? key >>> 0 : 0;
  return typeof key === "string" && "" + index === key ? index : undefined;
};
const at = (index) => {
  const place = index < 0 ? count + index : +index;
  return messageAt(place > 0 ? place - (place % 1) : place === place ? place : 0);
};
const history = new Proxy([], {
  __proto__: null,
  get: (_, key) => {
    if (key === "length") return count;
    if (key === "at") return at;
    const index = indexOf(key);
    return index === undefined ? ArrayPrototype[key] : messageAt(index);
  },
  has: (_, key) => {
    const index = indexOf(key);
    return index === undefined ? key in ArrayPrototype : index < count;
  },
  getOwnPropertyDescriptor: (_, key) => {
    const index = indexOf(key);
    if (key === "length") return { __proto__: null, value: count, writable: true, enumerable: false, configurable: false };
    if (index === undefined || index >= count) return undefined;
    return { __proto__: null, value: messageAt(index), writable: false, enumerable: true, configurable: true };
  },
  ownKeys: () => {
    const keys = { __proto__: null, length: count + 1 };
    for (let index = 0; index < count; index++) keys[index] = "" + index;
    keys[count] = "length";
    return keys;
  },
  set: no,
  defineProperty: no,
  deleteProperty: no,
  setPrototypeOf: no,
  preventExtensions: no,
});
fixed(global, "history", history);

// ── Modules and read-only values ────────────────────────────────────────────────────────────────────────────────────

// What was global before any cell, and what was made so since: modules and values by their names.
const base = { __proto__: null }, modules = { __proto__: null }, bound = { __proto__: null };
// What stands there for each bound name: not yet the value of one that is bound anew. And the variables of the guest's own
// whose names are bound: they come back when the names are free again.
const placed = { __proto__: null }, hiddenBy = { __proto__: null };
const isOurs = (made, name) => made[name] !== undefined && ownData(global, name) === made[name];

const defineModules = (names) => {
  for (let index = 0; index < names.length; index++) {
    const name = names[index];
    const isTaken = getOwnPropertyDescriptor(global, name) !== undefined && base[name] === undefined;
    if (bound[name] !== undefined || isTaken || isOurs(modules, name)) continue;
    if (modules[name] === undefined) modules[name] = toolsOf(name + ".", name + ".");
    hidden(global, name, modules[name]);
  }
};
const bind = (values) => {
  for (let index = 0; index < values.length; index++) {
    const { name, value, chars, length } = values[index];
    bound[name] = value === undefined ? lazyOf(name, chars, length, '{"binding":' + stringify(name) + "}") : frozen(value);
  }
};
// What a script declares cannot be deleted nor made read-only, only be given another value.
const isDeclared = (name) => {
  const found = getOwnPropertyDescriptor(global, name);
  return found !== undefined && !found.configurable;
};
const unbind = (names) => {
  for (let index = 0; index < names.length; index++) {
    const name = names[index], isThere = isOurs(placed, name), own = hiddenBy[name];
    delete bound[name];
    delete placed[name];
    delete hiddenBy[name];
    if (!isThere) continue;
    if (isDeclared(name)) defineProperty(global, name, { __proto__: null, value: own === undefined ? undefined : own.value });
    else if (own !== undefined)
      defineProperty(global, name, { __proto__: null, value: own.value, writable: true, enumerable: true, configurable: true });
    else deleteProperty(global, name);
    if (own === undefined && base[name] !== undefined) hidden(global, name, base[name].value);
  }
};
// A variable of the guest's own gives way, also one that it put in the place of a value, until the name is free again.
const defineBound = () => {
  const names = ownKeys(bound);
  for (let index = 0; index < names.length; index++) {
    const name = names[index], value = bound[name], isThere = isOurs(placed, name);
    if (isThere && placed[name] === value) continue;
    const found = getOwnPropertyDescriptor(global, name);
    const isOwn = found !== undefined && base[name] === undefined && !isThere && !isOurs(modules, name);
    if (isOwn && apply(hasOwnProperty, found, ["value"])) hiddenBy[name] = { __proto__: null, value: found.value };
    if (isDeclared(name)) defineProperty(global, name, { __proto__: null, value });
    else defineProperty(global, name, { __proto__: null, value, writable: false, enumerable: false, configurable: true });
    placed[name] = value;
  }
};

let isSearchTool = false;

const NOTHING = { __proto__: null, length: 0 };
const surround = (json) => {
  leave();
  count = 0;
  isSearchTool = false;
  const around = json === "" ? undefined : parse(json);
  if (around !== undefined) {
    if (around.history !== undefined) {
      count = around.history.length;
      newest = around.history.newest === undefined ? NOTHING : frozen(around.history.newest);
    }
    isSearchTool = around.hasSearch === true;
    unbind(around.unbinds === undefined ? NOTHING : around.unbinds);
    bind(around.binds === undefined ? NOTHING : around.binds);
  }
  defineBound();
  if (around !== undefined && around.modules !== undefined) defineModules(around.modules);
};
// What belongs to one cell is let go when that is over.
const leave = () => {
  readings = { __proto__: null };
  messages = { __proto__: null };
  newest = NOTHING;
};

// What the guest itself has made global, the newest last, as JSON: [[name, text], …].
const variables = () => {
  const names = ownKeys(global);
  let told = "", left = NAMES_MAX, chars = NAMES_CHARS_MAX;
  for (let index = names.length - 1; index >= 0 && left > 0; index--) {
    const name = names[index];
    if (typeof name !== "string" || name.length > NAME_MAX || base[name] !== undefined) continue;
    if (bound[name] !== undefined || isOurs(modules, name)) continue;
    const found = getOwnPropertyDescriptor(global, name);
    const text = apply(hasOwnProperty, found, ["value"]) ? brief(found.value) : "[Getter]";
    chars -= name.length + text.length;
    if (chars < 0) break;
    left--;
    told = "[" + stringify(name) + "," + stringify(text) + "]" + (told === "" ? "" : ",") + told;
  }
  return "[" + told + "]";
};
`;
