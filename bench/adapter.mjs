// The adapter for the peers' harness, which drives the built package.
import { createRuntime, defineTool } from "../dist/index.js";
import { memory } from "../dist/stores/memory.js";
import { sqlite } from "../dist/stores/sqlite.js";
import { openWith } from "./opener.mjs";

// biome-ignore format: the harness reads this line as text and looks for single quotes.
export const meta = { name: 'bowline', dir: 'bench', entry: 'bowline', durable: 'node:sqlite WAL, every step' };

// `BOWLINE_SYNC=full` is the harness's way to ask for a sync on every write.
const durability = process.env.BOWLINE_SYNC === "full" ? "power-all" : "process";
const openBuilt = openWith({ createRuntime, defineTool, memory, sqlite });

export const open = (opening) => openBuilt({ durability, ...opening });
