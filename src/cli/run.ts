import { text as textOf } from "node:stream/consumers";
import { openAgent } from "./agent.ts";
import { EXIT, type Io, type Settings, UsageError } from "./io.ts";
import { isGood, jsonPrinter, livePrinter, plainPrinter } from "./print.ts";
import { takeTurn } from "./turn.ts";

/** `bowline run <text>`: one turn. The text `-` is read from stdin. */
export async function run(io: Io, settings: Settings, words: readonly string[]): Promise<number> {
  const text = words.length === 1 && words[0] === "-" ? await textOf(io.stdin) : words.join(" ");
  if (text.trim() === "") throw new UsageError("There is nothing to run.", 'Say what: bowline run "What is 21*2?"');
  const agent = await openAgent(io, settings);
  const printer = settings.json
    ? jsonPrinter(io)
    : io.stdout.isTTY
      ? livePrinter(io)
      : plainPrinter(io, settings.verbose);
  const taken = await takeTurn(agent.session, text.trim(), printer, io);
  if (taken === "left") return EXIT.interrupted;
  await agent.close();
  return taken !== "refused" && isGood(taken) ? EXIT.ok : EXIT.failed;
}
