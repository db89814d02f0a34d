import { EXIT, type Io, type Settings } from "./io.ts";
import { openService, untilStopped } from "./service.ts";
import { printable } from "./text.ts";

/**
 * `bowline worker`: runs turns, jobs and schedules until SIGTERM or Ctrl-C, and then releases running turns for other
 * processes.
 */
export async function worker(io: Io, settings: Settings): Promise<number> {
  const { stopped, release } = untilStopped(io);
  try {
    const { runtime, about, where } = await openService(io, settings);
    const stop = new AbortController();
    void stopped.then(() => stop.abort()); // The signal may have come while the runtime was opened.
    const over = runtime.run({ signal: stop.signal });
    const kept = where === undefined ? "" : `, stored in ${where}`;
    io.stdout.write(
      `${printable(`Bowline ${io.version} runs turns, jobs and schedules of ${about}${kept}. Ctrl-C stops it.`)}\n`,
    );
    await over;
    return EXIT.ok;
  } finally {
    release();
  }
}
