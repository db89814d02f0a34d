#!/usr/bin/env node
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";

// Must run before other files are loaded. The next start then takes a third of the time.
nodeModule.enableCompileCache?.();
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const { program } = await import("./program.ts");
await program(process.argv.slice(2), version);
