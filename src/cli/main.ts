#!/usr/bin/env node
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";

// Before anything else is loaded, or it has no effect: the next start is then three times as quick.
nodeModule.enableCompileCache?.();
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const { program } = await import("./program.ts");
await program(process.argv.slice(2), version);
