import { text as textOf } from "node:stream/consumers";
import { type Agent, openAgent } from "./agent.ts";
import { EXIT, type Io, type Settings, UsageError } from "./io.ts";
import { asidePrinter, isGood, jsonPrinter, livePrinter, plainPrinter } from "./print.ts";
import { finishLeft, LEFT, takeTurn } from "./turn.ts";
import { byNobody, NOT_SENT, Questions } from "./waits.ts";

/** `bowline run <text>`: one turn, in a new session unless one is named. With `-` the text is read from stdin. */
export async function run(io: Io, settings: Settings, words: readonly string[]): Promise<number> {
  const text = words.length === 1 && words[0] === "-" ? await textOf(io.stdin) : words.join(" ");
  if (text.trim() === "") throw new UsageError("There is nothing to run.", 'Say what: bowline run "What is 21*2?"');
  const agent = await openAgent(io, settings, settings.session);
  if (agent === undefined) return EXIT.ok;
  const code = await answer(agent, text.trim(), io, settings);
  if (code !== EXIT.interrupted) await agent.close();
  return code;
}

async function answer(agent: Agent, text: string, io: Io, settings: Settings): Promise<number> {
  const questions = new Questions(agent, byNobody(agent, io, settings));
  const isLive = io.stdout.isTTY === true && !settings.json;
  const aside = () => (isLive ? livePrinter(io) : asidePrinter(io, settings.verbose));
  const finished = await finishLeft(agent, aside, io, questions);
  if (finished === "waiting") io.stderr.write(NOT_SENT);
  if (finished !== "finished") return LEFT[finished];
  const printer = isLive ? livePrinter(io) : settings.json ? jsonPrinter(io) : plainPrinter(io, settings.verbose);
  const taken = await takeTurn(agent, text, printer, io, questions);
  if (taken === "left" || taken === "waiting") return LEFT[taken];
  return taken !== "refused" && isGood(taken) ? EXIT.ok : EXIT.failed;
}
