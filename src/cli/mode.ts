import type { Plugin } from "../index.ts";
import { type Io, UsageError } from "./io.ts";

/** How the model acts: by the provider's own tool calls, or by writing code. */
export type Mode = "tools" | "code";

export const isMode = (word: string | undefined): word is Mode => word === "tools" || word === "code";

/** The mode of `--mode`, else of BOWLINE_MODE, else tools. */
export function chooseMode(env: Io["env"], wanted?: string): Mode {
  const name = wanted ?? (env.BOWLINE_MODE || "tools");
  if (isMode(name)) return name;
  throw new UsageError(`There is no mode ${JSON.stringify(name)}.`, "There are code and tools.");
}

/** The plugins of a mode. Those of code mode are loaded only when they are used, because the sandbox loads slowly. */
export async function pluginsOf(mode: Mode): Promise<readonly Plugin[]> {
  if (mode === "tools") return [];
  const [{ codeMode }, { code }] = await Promise.all([
    import("../protocols/code/index.ts"),
    import("../plugins/code/index.ts"),
  ]);
  return [codeMode, code];
}

/** The mode in which a turn began, by the id of its protocol. */
export const modeOf = (protocol: string): Mode => (protocol.startsWith("bowline/tool-calls") ? "tools" : "code");

export const MODE_WORDS: { readonly [M in Mode]: string } = {
  code: "Code mode: the model writes TypeScript, and its variables stay.",
  tools: "Tools mode: the model acts by tool calls.",
};
