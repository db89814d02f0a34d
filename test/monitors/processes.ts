// Which processes of a monitor's command there are, by a word in their environment that no other command has.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export interface Found {
  readonly pid: number;
  readonly group: number;
  /** The command has not begun: its shell waits to be told to. */
  readonly isGate: boolean;
  /** The process that started it is stopped, so that it waits with it. */
  readonly isHeldUp: boolean;
  /** The run of the monitor that it belongs to, as `<job>/<generation>/<its own>`. */
  readonly run: string;
}

/** The name of that word. */
export const WORD = "TEST_COMMAND";

/** All processes that live and have `word` in their environment, by pid. */
export function processesOf(word: string): readonly Found[] {
  return readdirSync("/proc").flatMap((pid): readonly Found[] => {
    if (!/^\d+$/.test(pid)) return [];
    const environment = read(pid, "environ").split("\0");
    if (!environment.includes(`${WORD}=${word}`)) return [];
    const [state = "X", parent = "", group] = statOf(pid);
    if (state === "Z" || state === "X") return [];
    const run = environment.find((each) => each.startsWith(MARK))?.slice(MARK.length) ?? "";
    const isGate = read(pid, "cmdline").includes(GATE);
    return [{ pid: Number(pid), group: Number(group), isGate, isHeldUp: statOf(parent)[0] === "T", run }];
  });
}

/** The runs whose command has begun and has processes left, each once. */
export const runsOf = (word: string): readonly string[] => [
  ...new Set(processesOf(word).flatMap(({ isGate, run }) => (isGate ? [] : [run]))),
];

/** Fails when a command is left. A shell that waits ends by itself when its process does: that takes a moment. */
export async function gone(word: string): Promise<void> {
  assert.deepEqual(runsOf(word), []);
  const left = (): readonly Found[] => processesOf(word).filter(({ isHeldUp }) => !isHeldUp);
  for (const end = performance.now() + GATE_MS; left().length > 0; await sleep(5))
    assert.ok(performance.now() < end, `These are left: ${JSON.stringify(left())}`);
}
const GATE_MS = 2_000;

const MARK = "BOWLINE_MONITOR=";
/** What only the shell says that waits. */
const GATE = "read -r go <&3";

/** Its state, its parent and its group. The name in brackets may contain anything. */
function statOf(pid: string): readonly string[] {
  const stat = read(pid, "stat");
  return stat === "" ? [] : stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function read(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return ""; // It has ended meanwhile.
  }
}
