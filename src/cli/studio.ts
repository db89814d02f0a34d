// `bowline studio`: the studio for an app, for an existing store, for another server, or for a demo.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, type Runtime } from "../index.ts";
import { defined } from "../model/json.ts";
import { serve } from "../server/index.ts";
import type { Listening, ListenOptions } from "../server/listen.ts";
import type { ServerOptions } from "../server/options.ts";
import { STUDIO } from "../server/studio.ts";
import { sqlite } from "../stores/sqlite.ts";
import { addressOf, databaseFileOf, isThere, MEMORY, shownPlace } from "./database-file.ts";
import { existingStore } from "./existing-store.ts";
import { EXIT, type Io, UsageError } from "./io.ts";
import {
  answerUntil,
  type ListenPlace,
  type ListenSettings,
  listenPlaceOf,
  madeToken,
  openBrowser,
  tokenIn,
  userOf,
} from "./listening.ts";
import { pricesIn } from "./look.ts";
import { chooseMode, pluginsOf } from "./mode.ts";
import { chooseModel } from "./model.ts";
import { untilStopped } from "./service.ts";
import { explain, jsonFor, printable } from "./text.ts";

export interface StudioSettings extends ListenSettings {
  /** The address of another server. */
  readonly url?: string | undefined;
  /** The token of that server. */
  readonly token?: string | undefined;
  readonly prices?: string | undefined;
}

/** What the studio shows. */
interface Shown {
  /** For the greeting. */
  readonly about: string;
  /** What a person must know about it. */
  readonly note: string;
  /** The token of the page. Undefined: it needs none. */
  readonly token: string | undefined;
  readonly server: { listen(options: ListenOptions): Promise<Listening> };
  close(): Promise<void>;
}

export async function studio(io: Io, settings: StudioSettings): Promise<number> {
  const place = listenPlaceOf(settings);
  const { stopped, release } = untilStopped(io);
  try {
    const { about, note, token, server, close } = await opened(io, settings, place);
    try {
      await answerUntil(stopped, server, place, token, ({ url, port, loginTo }) => {
        const login = loginTo(STUDIO);
        if (settings.json) io.stdout.write(`${jsonFor(settings, { url, login, token, port })}\n`);
        else
          io.stdout.write(`${printable(`Bowline ${io.version} shows ${about}.`)}\n
  Studio ${login}
  Token  ${token ?? "none: every program on this machine can use it"}\n
${note} Ctrl-C stops it.\n`);
        openBrowser(io, settings, login);
      });
    } finally {
      await close();
    }
    return EXIT.ok;
  } finally {
    release();
  }
}

function opened(io: Io, settings: StudioSettings, place: ListenPlace): Promise<Shown> {
  const { app, db, url, token } = settings;
  if (url !== undefined && (app ?? db) !== undefined)
    throw new UsageError("--url excludes --app and --db.", "The other server has its own store.");
  if (url === undefined && token !== undefined)
    throw new UsageError("--token is for --url.", "For the studio's own token use --token-file.");
  if (url !== undefined) return ofServer(io, settings, url, place);
  if (app !== undefined) return ofApp(io, settings, app, place);
  return ofStore(io, settings, place);
}

/** The studio of a runtime of this process. */
function ofRuntime(
  io: Io,
  settings: StudioSettings,
  { hosts }: ListenPlace,
  runtime: Runtime,
  own: ServerOptions = {},
): Pick<Shown, "server" | "token"> {
  const user = userOf(io, settings, own);
  const onError = (error: unknown): void => void io.stderr.write(`${explain(error, io.env)}\n`);
  return { token: user.token, server: serve(runtime, { hosts, ...own, studio: true, ...user, onError }) };
}

async function ofApp(io: Io, settings: StudioSettings, app: string, place: ListenPlace): Promise<Shown> {
  const { runtime, server } = await (await import("./app.ts")).loadApp(io, app, settings.db);
  const note = "The app runs here: turns, jobs and schedules.";
  return {
    about: app,
    note,
    ...ofRuntime(io, settings, place, runtime, server),
    close: () => runtime.close(),
  };
}

/** An existing store, or the demo where there is none. */
async function ofStore(io: Io, settings: StudioSettings, place: ListenPlace): Promise<Shown> {
  const { db } = settings;
  const file = databaseFileOf(io, db);
  if (file.path === MEMORY)
    throw new UsageError(`${MEMORY} has nothing to look at.`, "Name a file: --db <file>. Without --db: a demo.");
  const prices = pricesIn(io, settings.prices);
  const { model, models } = await chooseModel(io.env);
  const plugins = await pluginsOf(chooseMode(io.env));
  if (addressOf(io, db) === undefined && file.isDefault && !isThere(file)) return ofDemo(io, settings, place);
  const store = await existingStore(io, db, {});
  const runtime = await createRuntime({ store, prices, model, models, plugins, recover: "never" });
  return {
    about: await shownPlace(io, db),
    note: "It only looks: it answers waits and cancels work, and messages wait for a worker that runs turns.",
    ...ofRuntime(io, settings, place, runtime),
    close: () => runtime.close(),
  };
}

async function ofDemo(io: Io, settings: StudioSettings, place: ListenPlace): Promise<Shown> {
  const { demoAgent, populate } = await import("./studio-demo.ts");
  const folder = mkdtempSync(join(tmpdir(), "bowline-studio-demo-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const open = () => sqlite(join(folder, "demo.db"));
  try {
    await populate(open);
    const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
      sleep(ms, undefined, signal && { signal }).catch(() => {});
    const runtime = await createRuntime({ store: open(), ...demoAgent({ now: Date.now, sleep: pause }) });
    return {
      about: "a demo, because this folder has no conversations yet: a week of a shop's support desk",
      note: "Its model is a script, all else is real. Nothing of it is kept.",
      ...ofRuntime(io, settings, place, runtime),
      close: () => runtime.close().finally(remove),
    };
  } catch (error) {
    remove();
    throw error;
  }
}

async function ofServer(io: Io, settings: StudioSettings, url: string, { hosts }: ListenPlace): Promise<Shown> {
  const { token: given, tokenFile, noToken } = settings;
  if (given !== undefined && tokenFile !== undefined)
    throw new UsageError("--token and --token-file exclude each other.", "Leave one of them out.");
  const theirs = tokenFile === undefined ? given : tokenIn(io, tokenFile);
  const token = noToken ? undefined : madeToken();
  const { forwarding } = await import("./studio-forward.ts");
  return {
    about: `the server at ${url}`,
    note: "Requests go to that server.",
    token,
    server: forwarding(url, theirs, defined({ token, hosts })),
    close: async () => {},
  };
}
