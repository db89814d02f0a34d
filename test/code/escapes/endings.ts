// Attacks on the end of a cell, on timers and on time.

import { type Attack, done, threw } from "./attack.ts";

export const ENDINGS: readonly Attack[] = [
  {
    name: "the first value finishes a cell",
    cells: ["finish(1); finish(2); await tools.echo(3); finish(4)"],
    expect: { state: "done", finish: 1, calls: 0 },
  },
  {
    name: "nothing is called after finish",
    cells: ["finish(1); const e = await tools.echo(2).catch((error) => error); print(e.code)"],
    expect: { state: "done", finish: 1, calls: 0, printed: "cell.finished\n" },
  },
  {
    name: "finish is refused where it is not accepted",
    cells: ["try { finish(1) } catch (error) { print(error.message) } 2"],
    refusesFinish: true,
    expect: { ...done("2"), printed: /cannot be used/ },
  },
  {
    name: "finish in a microtask after the end of the code still counts while calls are open",
    cells: ["tools.echo(1).then(() => finish('late')); 5"],
    expect: { state: "done", finish: "late" },
  },
  {
    name: "a timer that would finish after the end of the cell is gone",
    cells: ["setTimeout(() => { print('late'); finish(9) }, 10); 5", "await sleep(20); 6"],
    expect: { ...done("6"), printed: "" },
  },
  {
    name: "a promise of an earlier cell cannot finish that cell",
    cells: [
      "let go; new Promise((resolve) => (go = resolve)).then(() => { print('ran'); finish('late') }); 1",
      "go(); await sleep(1); 2",
    ],
    refusesFinish: true,
    expect: { state: "done", value: "2", unhandled: /cannot be used/ },
  },
  {
    name: "finish with a thenable gives its fields",
    cells: ["finish({ then() { throw 1 }, a: 1 })"],
    expect: { state: "done", finish: { a: 1 } },
  },
  {
    name: "finish with what is no JSON is a TypeError, and the cell goes on",
    cells: ["for (const each of [1n, () => 1, Symbol()]) try { finish(each) } catch (error) { print(error.name) }\n3"],
    expect: { ...done("3"), printed: "TypeError\nTypeError\nTypeError\n" },
  },
  {
    name: "finish in the toJSON of a finish wins",
    cells: ["finish({ toJSON() { finish('inner'); return 'outer' } })"],
    expect: { state: "done", finish: "inner" },
  },
  {
    name: "finish with __proto__ keys is only data",
    cells: ['finish(JSON.parse(\'{"__proto__":{"polluted":1}}\'))'],
    expect: { state: "done", finish: JSON.parse('{"__proto__":{"polluted":1}}') },
  },
  {
    name: "a throw after finish is told, and changes nothing",
    cells: ["finish(1); throw new Error('after')"],
    expect: { state: "done", finish: 1, unhandled: /after/ },
  },
  {
    name: "timers with odd times run at once or are refused",
    cells: [
      "let n = 0; for (const ms of [-1, NaN, undefined, null, '3', {}, -Infinity, 0.1]) setTimeout(() => n++, ms);\nfor (const ms of [Infinity, 1e12, 1n, Symbol()]) try { setTimeout(() => n++, ms) } catch { n += 10 }\nawait sleep(5); n",
    ],
    expect: done("48"),
  },
  {
    name: "sleeps with odd times are refused",
    cells: [
      "(await Promise.allSettled([-1, NaN, Infinity, '1', 1n, {}, undefined, 1e12].map(sleep))).map((each) => each.status === 'rejected').join()",
    ],
    expect: done(/^"true(,true){7}"$/),
  },
  {
    name: "clearing what is no timer clears nothing",
    cells: [
      "let n = 0; const t = setTimeout(() => n++, 1); tools.echo(1); for (const each of [-1, 0, NaN, t + 1, t + 0.5, '1', 'constructor', '__proto__', null, {}, 1e308]) clearTimeout(each); await sleep(2); n",
    ],
    expect: { ...done("1"), calls: 1 },
  },
  {
    name: "a timer cleared twice, by itself and in another cell clears no other",
    cells: [
      "let n = 0; const old = setTimeout(() => { clearTimeout(old); n++ }, 1); await sleep(2); clearTimeout(old); n",
      "const other = setTimeout(() => n++, 1); clearTimeout(old); await sleep(2); n",
    ],
    expect: done("2"),
  },
  {
    name: "an error in a timer is an unhandled rejection",
    cells: ["setTimeout(() => { throw new Error('timed') }, 0); await sleep(1); 1"],
    expect: { ...done("1"), unhandled: /timed/ },
  },
  { name: "a string is no timer", cells: ["setTimeout('print(1)', 0)"], expect: threw(/TypeError/) },
  {
    name: "time stands still while a cell computes",
    cells: [
      "const a = Date.now(); for (let i = 0; i < 1e5; i++); [Date.now() - a, new Date().toISOString(), new Date().getTimezoneOffset()].join()",
    ],
    expect: done('"0,2030-01-01T00:00:00.000Z,0"'),
  },
  {
    name: "the zone and language of the host do not show",
    cells: [
      "[new Date(0).toString(), new Date(0).toLocaleString(), (1234.5).toLocaleString(), 'ä'.localeCompare('z', 'sv') > 0].join('|')",
    ],
    expect: done('"Thu Jan 01 1970 00:00:00 GMT+0000|01/01/1970, 12:00:00 AM|1234.5|true"'),
  },
  {
    name: "random numbers are those of the cell's seed",
    cells: ["[Math.random(), Math.random()].map((each) => each.toFixed(6)).join()"],
    expect: done('"0.675508,0.247940"'),
  },
];
