// The studio for a browser: `serve(runtime, { studio: true })` serves it at `/studio/`.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "./options.ts";

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Bowline Studio</title>
<link rel="icon" href="/studio/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/studio/studio.css">
<script type="module" src="/studio/studio.js"></script>
</head>
<body>
<div id="app"></div>
<noscript>The studio needs JavaScript.</noscript>
</body>
</html>
`;

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="none" stroke="#4d86c4" stroke-width="2.5" d="M3 14V6a5 5 0 0 1 10 0c0 3-3 5-5 3s0-5 3-4"/></svg>`;

export const STUDIO = "/studio/";
let loaded: Promise<Page> | undefined;

/** The files of the studio by path. A process reads them once. After a failure it tries again. */
export function studioPage(): Promise<Page> {
  loaded ??= load().catch((error: unknown) => {
    loaded = undefined;
    throw error;
  });
  return loaded;
}

async function load(): Promise<Page> {
  const [script, style] = import.meta.url.endsWith(".ts") ? await fromSources() : await built();
  return {
    [STUDIO]: { type: "text/html; charset=utf-8", body: HTML },
    [`${STUDIO}studio.js`]: { type: "text/javascript; charset=utf-8", body: script },
    [`${STUDIO}studio.css`]: { type: "text/css; charset=utf-8", body: style },
    [`${STUDIO}icon.svg`]: { type: "image/svg+xml", body: ICON },
  };
}

type Files = readonly [script: string, style: string];

async function filesIn(folder: URL): Promise<Files> {
  const read = (name: string): Promise<string> => readFile(new URL(name, folder), "utf8");
  return Promise.all([read("studio.js"), read("studio.css")]);
}

/** The build puts the studio beside the folder of this file. */
const built = (): Promise<Files> => filesIn(new URL("../studio/", import.meta.url));

/** For a clone of the repository without a build. */
async function fromSources(): Promise<Files> {
  const folder = await mkdtemp(join(tmpdir(), "bowline-studio-"));
  try {
    const script = new URL("../../scripts/studio.mjs", import.meta.url).href;
    const { buildStudio } = (await import(script)) as { buildStudio(folder: string): Promise<void> };
    await buildStudio(folder);
    return await filesIn(pathToFileURL(`${folder}/`));
  } finally {
    await rm(folder, { recursive: true });
  }
}
