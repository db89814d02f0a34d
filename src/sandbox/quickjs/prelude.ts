// The guest's half: JavaScript that runs in a VM before any cell and defines `tools`, `print`, `finish`, `sleep`,
// timers, and the surroundings. It shares its realm with code that may have changed every intrinsic. So what runs after
// the first cell follows these rules:
// prelude-1: Only captured intrinsics, called through `apply`. No for-of, spread, array patterns, `push` or methods of
// values.
// prelude-2: Its records and lists have no prototype, so that no setter of the guest runs.
// prelude-3: A cell never gets a function of the host or of this text, except the public ones.

import { AROUND } from "./prelude-around.ts";
import { INSPECT } from "./prelude-inspect.ts";

/** The prelude's file name in stacks. Its frames are removed before people read a stack. */
export const PRELUDE_FILE = "<bowline>";

/** The requests of the prelude: the first argument of its one host function. */
export const ASK = { call: 0, sleep: 1, clear: 2, print: 3, finish: 4, brand: 5, continues: 6, read: 7 } as const;
/** The host's replies. It never throws, because the library would copy the host's stack into the guest. */
export const REPLY = { done: 0, stop: 1, tooLong: 2, noMemory: 3, tooDeep: 4 } as const;
/** The kinds of objects as the engine sees them. No guest code can change them. */
export const BRANDS = [
  "",
  "proxy",
  "map",
  "set",
  "date",
  "regexp",
  "error",
  "pending",
  "fulfilled",
  "rejected",
] as const;

/** The functions of the prelude that the host calls. */
export const ENTRIES = ["begin", "deliver", "fail", "wake", "end", "value", "variables", "describe"] as const;
export type Entry = (typeof ENTRIES)[number];

export const PRELUDE = String.raw`(function (host) {
"use strict";
const global = globalThis;
const { apply, ownKeys, getPrototypeOf, getOwnPropertyDescriptor, defineProperty, deleteProperty } = Reflect;
const { parse, stringify } = JSON;
const { Error, TypeError, RangeError, Promise, Proxy } = global;
const { toWellFormed, slice, trim } = String.prototype;
const { hasOwnProperty } = Object.prototype;

const ASK = ${JSON.stringify(ASK)}, REPLY = ${JSON.stringify(REPLY)}, BRANDS = ${JSON.stringify(BRANDS)};
const TEXT_MAX = 8388608, SLEEP_MAX = 604800000, FRAMES_MAX = 50;

const fixed = (object, key, value) =>
  defineProperty(object, key, { __proto__: null, value, writable: false, enumerable: false, configurable: false });
const hidden = (object, key, value) =>
  defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: false, configurable: true });

// Hands a text to the host. A guest that is to be stopped goes no further than this loop: the next tick ends it.
const tell = (ask, what, text, more, last) => {
  if (text.length > TEXT_MAX) throw new RangeError(what + " is too long");
  const reply = host(ask, apply(toWellFormed, text, []), more, last);
  if (reply === REPLY.stop) for (;;);
  if (reply === REPLY.tooLong) throw new RangeError(what + " is too long");
  if (reply === REPLY.tooDeep) throw new RangeError(what + " is nested too deeply");
  if (reply === REPLY.noMemory) throw new RangeError("out of memory");
};
${INSPECT}
// What is open: calls and sleeps by their number. Both counts start at 0 in each cell, here and in the host.
let open = { __proto__: null }, next = 0, isRunning = false, acceptsFinish = false;
let seed = { __proto__: null, a: 0, b: 0, c: 0, d: 0 };

const announce = (entry, ask, what, text, more, last) => {
  const id = next;
  open[id] = entry;
  try {
    tell(ask, what, text, more, last);
  } catch (error) {
    delete open[id];
    throw error;
  }
  next = id + 1;
  return id;
};

const failed = (error, code, message) => {
  hidden(error, "name", "ToolError");
  hidden(error, "message", message);
  hidden(error, "code", code);
  return error;
};

// The error of a call is made with the call, so that it knows the line of the call and not that of the answer.
const call = (path, shown, input) => {
  const error = new Error();
  return new Promise((resolve, reject) => {
    const json = input === undefined ? "{}" : stringify(input);
    if (typeof json !== "string") throw new TypeError("The input of " + shown + " is not JSON");
    if (!isRunning) return reject(failed(error, "cell.finished", "The cell has ended: it cannot call " + shown));
    const entry = { __proto__: null, resolve, reject, error };
    announce(entry, ASK.call, "The input of " + shown, json, apply(toWellFormed, path, []), stackOf(error));
  });
};

// What the language itself asks any object for: it must not become a call.
const NO_TOOLS = { __proto__: null, then: true, toJSON: true, toString: true, valueOf: true, constructor: true };
const toolsOf = (prefix, shown) => new Proxy({ __proto__: null }, {
  __proto__: null,
  get: (_, name) => {
    if (typeof name !== "string" || NO_TOOLS[name]) return undefined;
    // Words are for the search, also where a tool has its name.
    if (prefix === "" && name === "search")
      return (input) => (isSearchTool && typeof input !== "string" ? call("search", "tools.search", input) : search(input));
    return (input) => call(prefix + name, shown + name, input);
  },
  set: () => false,
  defineProperty: () => false,
  setPrototypeOf: () => false,
  preventExtensions: () => false,
});
const tools = toolsOf("", "tools.");
${AROUND}
const wait = (ms, wake) => {
  if (!isRunning) return -1;
  return announce({ __proto__: null, wake }, ASK.sleep, "sleep", "", ms);
};
const sleep = (ms) => new Promise((resolve) => {
  if (typeof ms !== "number" || !(ms >= 0 && ms <= SLEEP_MAX))
    throw new RangeError("sleep takes 0 to " + SLEEP_MAX + " milliseconds");
  wait(ms, () => resolve());
});

// Numbers of timers count on over cells, so that an old one never clears a new timer.
let timers = { __proto__: null }, lastTimer = 0;
const setTimeout = (callback, ms, ...values) => {
  if (typeof callback !== "function") throw new TypeError("setTimeout takes a function");
  const after = +ms;
  if (after > SLEEP_MAX) throw new RangeError("setTimeout takes up to " + SLEEP_MAX + " milliseconds");
  const timer = ++lastTimer;
  timers[timer] = wait(after > 0 ? after : 0, () => {
    delete timers[timer];
    try {
      apply(callback, undefined, values);
    } catch (error) {
      new Promise((_, reject) => reject(error)); // Nobody can catch it: it is an unhandled rejection.
    }
  });
  return timer;
};
const clearTimeout = (timer) => {
  if (typeof timer !== "number") return;
  const id = timers[timer];
  delete timers[timer];
  if (id === undefined || open[id] === undefined) return;
  delete open[id];
  tell(ASK.clear, "clearTimeout", "", id);
};

const print = (...values) => {
  let text = "";
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    text += (index > 0 ? " " : "") + (typeof value === "string" ? value : inspect(value));
  }
  tell(ASK.print, "What is printed", text + "\n");
};

const finish = (value) => {
  if (!acceptsFinish) throw new Error("finish() cannot be used in this cell");
  if (!isRunning) return;
  const json = value === undefined ? "null" : stringify(value);
  if (typeof json !== "string") throw new TypeError("The value of finish() is not JSON");
  if (!isRunning) return;
  tell(ASK.finish, "The value of finish()", json);
  isRunning = false;
};

const continueAs = (task, seed) => {
  if (typeof task !== "string" || apply(trim, task, []) === "")
    throw new TypeError("continueAs() takes a task, such as continueAs(\"Write the summary\", { facts })");
  if (!isRunning) return;
  const json = seed === undefined ? undefined : stringify(seed);
  if (seed !== undefined && typeof json !== "string") throw new TypeError("The seed of continueAs() is not JSON");
  if (!isRunning) return;
  const text = '{"task":' + stringify(task) + (json === undefined ? "}" : ',"seed":' + json + "}");
  tell(ASK.continues, "What continueAs() was given", text);
  isRunning = false;
};

const random = () => {
  const draw = () => { // sfc32
    const { a, b, c, d } = seed;
    const sum = (a + b + d) | 0;
    seed = { __proto__: null, a: b ^ (b >>> 9), b: (c + (c << 3)) | 0, c: (((c << 21) | (c >>> 11)) + sum) | 0, d: (d + 1) | 0 };
    return sum >>> 0;
  };
  return ((draw() >>> 5) * 67108864 + (draw() >>> 6)) / 9007199254740992;
};

fixed(global, "tools", tools);
fixed(global, "print", print);
fixed(global, "finish", finish);
fixed(global, "continueAs", continueAs);
fixed(global, "sleep", sleep);
fixed(global, "setTimeout", setTimeout);
fixed(global, "clearTimeout", clearTimeout);
fixed(global, "console", Object.freeze({ log: print, info: print, warn: print, error: print, debug: print }));
hidden(Math, "random", random);
delete global.SharedArrayBuffer;
delete global.Atomics;

// A property of Object.prototype would be met by every object of later cells, also by those of the engine: a setter or a
// then there ends every cell that follows. What is there may still be replaced, on it and on the objects below it.
Object.preventExtensions(Object.prototype);

// An await takes the promises of calls for what they are as long as this is true.
fixed(Promise.prototype, "constructor", Promise);

// A frozen global would make every later declaration fail. A proxy would pass the freezing on.
const sparing = (owner, name) => {
  const native = owner[name];
  hidden(owner, name, { [name](target) {
    if (target === global) throw new TypeError("The global object cannot be frozen");
    return native(target);
  } }[name]);
};
for (const name of ["freeze", "seal", "preventExtensions"]) sparing(Object, name);
sparing(Reflect, "preventExtensions");
const proxied = (target) => {
  if (target === global) throw new TypeError("The global object cannot be the target of a proxy");
};
const SparingProxy = { Proxy: function (target, handler) {
  if (new.target === undefined) throw new TypeError("Constructor Proxy requires 'new'");
  proxied(target);
  return new Proxy(target, handler);
} }.Proxy;
SparingProxy.prototype = undefined;
const { revocable } = Proxy;
hidden(SparingProxy, "revocable", (target, handler) => {
  proxied(target);
  return apply(revocable, Proxy, [target, handler]);
});
hidden(global, "Proxy", SparingProxy);

// Whoever formats stacks is handed the functions in them, those of this text too. A setter that does nothing lets code
// that tries go on.
Error.stackTraceLimit = FRAMES_MAX;
const locked = (key, value) =>
  defineProperty(Error, key, { __proto__: null, get: () => value, set: () => {}, enumerable: false, configurable: false });
locked("stackTraceLimit", FRAMES_MAX);
locked("prepareStackTrace", undefined);

for (const name of ownKeys(global)) base[name] = { __proto__: null, value: ownData(global, name) };

return {
  begin(a, b, c, d, accepts, around) {
    seed = { __proto__: null, a, b, c, d };
    open = { __proto__: null };
    timers = { __proto__: null };
    next = 0;
    acceptsFinish = accepts === 1;
    isRunning = true;
    surround(around);
  },
  deliver(id, json) {
    const { resolve, reject, isRead } = take(id);
    let value;
    try {
      value = isRead ? frozen(parse(json)) : parse(json);
    } catch (error) {
      return reject(error);
    }
    resolve(value);
  },
  fail(id, code, message) {
    const { reject, error } = take(id);
    reject(failed(error, code, message));
  },
  wake(id) {
    const sleeper = take(id);
    if (sleeper !== undefined) sleeper.wake(); // A timer may have been cleared.
  },
  end() {
    isRunning = false;
    open = { __proto__: null };
    timers = { __proto__: null };
    leave();
  },
  variables,
  value(completion) {
    const { value } = completion;
    return value === undefined ? undefined : inspect(value);
  },
  describe,
};
function take(id) {
  const entry = open[id];
  delete open[id];
  return entry;
}
})`;
