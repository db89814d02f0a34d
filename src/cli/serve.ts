// `bowline serve`: an agent over HTTP, with a chat page.
import { chatPage } from "../server/chat-page.ts";
import { serve as serveRuntime } from "../server/index.ts";
import { STUDIO } from "../server/studio.ts";
import { EXIT, type Io } from "./io.ts";
import { answerUntil, type ListenSettings, listenPlaceOf, openBrowser, userOf } from "./listening.ts";
import { openService, untilStopped } from "./service.ts";
import { explain, jsonFor, printable } from "./text.ts";

export interface ServeSettings extends ListenSettings {
  /** Whether the studio is there too. */
  readonly studio: boolean;
}

export async function serve(io: Io, settings: ServeSettings): Promise<number> {
  const place = listenPlaceOf(settings);
  const { stopped, release } = untilStopped(io);
  try {
    const { runtime, about, where, server: own } = await openService(io, settings);
    try {
      const user = userOf(io, settings, own);
      const { token } = user;
      const server = serveRuntime(runtime, {
        hosts: place.hosts,
        page: await chatPage(),
        ...own,
        studio: settings.studio || own?.studio,
        ...user,
        onError: (error) => void io.stderr.write(`${explain(error, io.env)}\n`),
      });
      const isStudio = settings.studio || own?.studio === true;
      await answerUntil(stopped, server, place, token, ({ url, port, loginTo }) => {
        const login = loginTo("/");
        const studio = isStudio ? loginTo(STUDIO) : undefined;
        if (settings.json) io.stdout.write(`${jsonFor(settings, { url, login, studio, token, port, db: where })}\n`);
        else {
          const kept = where === undefined ? "" : `, stored in ${where}`;
          io.stdout.write(`${printable(`Bowline ${io.version} serves ${about}${kept}.`)}\n
  Chat   ${login}
  API    ${url}/v1
  Token  ${token ?? (own?.authorize === undefined ? "none: every program on this machine can use it" : "checked by the app")}
${studio === undefined ? "" : `  Studio ${studio}\n`}
Ctrl-C stops it. Turns that still run continue at the next start, or in a worker.\n`);
        }
        openBrowser(io, settings, login);
      });
    } finally {
      await runtime.close();
    }
    return EXIT.ok;
  } finally {
    release();
  }
}
