import { text as textOf } from "node:stream/consumers";
import type { Agent } from "./agent.ts";
import { EXIT, type Io, type Settings, UsageError } from "./io.ts";
import { openAgent, reopenAgent } from "./open.ts";
import { asidePrinter, isGood, jsonPrinter, livePrinter, plainPrinter } from "./print.ts";
import { finishLeft, LEFT, takeTurn } from "./turn.ts";
import { byNobody, NOT_SENT, Questions } from "./waits.ts";

/**
 * `bowline run <text>`: one turn, in a new session or in the one of `--session`. With `-` the text is read from stdin.
 */
export async function run(io: Io, settings: Settings, words: readonly string[]): Promise<number> {
  const text = words.length === 1 && words[0] === "-" ? await textOf(io.stdin) : words.join(" ");
  if (text.trim() === "") throw new UsageError("The text is empty.", 'Say what: bowline run "What is 21*2?"');
  let agent = await openAgent(io, settings, settings.session);
  if (agent === undefined) return EXIT.ok;
  let code = await finish(agent, io, settings);
  if (code === undefined) {
    if (agent.wanted !== undefined) agent = await reopenAgent(agent, io, settings, agent.wanted);
    code = await answer(agent, text.trim(), io, settings);
  }
  if (code !== EXIT.interrupted) await agent.close();
  return code;
}

const isLive = (io: Io, { json }: Settings): boolean => io.stdout.isTTY === true && !json;

/** Finishes the unfinished turns of the session. Returns the exit code if one of them does not end. */
async function finish(agent: Agent, io: Io, settings: Settings): Promise<number | undefined> {
  const questions = new Questions(agent, byNobody(agent, io, settings));
  const aside = () => (isLive(io, settings) ? livePrinter(io, settings) : asidePrinter(io, settings));
  const finished = await finishLeft(agent, aside, io, questions);
  if (finished === "waiting") io.stderr.write(NOT_SENT);
  return finished === "finished" ? undefined : LEFT[finished];
}

async function answer(agent: Agent, text: string, io: Io, settings: Settings): Promise<number> {
  const questions = new Questions(agent, byNobody(agent, io, settings));
  const print = isLive(io, settings) ? livePrinter : settings.json ? jsonPrinter : plainPrinter;
  const printer = print(io, settings);
  const taken = await takeTurn(agent, text, printer, io, questions);
  if (taken === "left" || taken === "waiting") return LEFT[taken];
  return taken !== "refused" && isGood(taken) ? EXIT.ok : EXIT.failed;
}
