import { readdirSync } from "node:fs";

const folder = new URL("./scenarios/", import.meta.url);

export const scenario = (name: string): URL => new URL(`${name}.ts`, folder);

export const scenarios: readonly URL[] = readdirSync(folder)
  .filter((file) => file.endsWith(".ts"))
  .sort()
  .map((file) => new URL(file, folder));
