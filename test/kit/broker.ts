/** What all test files of a run share. The process that runs them makes it when the first file asks (`global-setup.ts`). */
import { connect } from "node:net";
import { text } from "node:stream/consumers";

/** `postgres`: the URL of a server. `build`: the folder of the package, built from the sources. */
export type Shared = "postgres" | "build";

/** The variable with the port, on the loopback, of the process that runs all tests. Programs that tests start inherit it. */
export const BROKER = "BOWLINE_TEST_BROKER";

export type Answer = { readonly value: string } | { readonly error: string };

const asked = new Map<Shared, Promise<string>>();

export function shared(what: Shared): Promise<string> {
  const found = asked.get(what) ?? ask(what);
  asked.set(what, found);
  return found;
}

async function ask(what: Shared): Promise<string> {
  const port = Number(process.env[BROKER]);
  if (!port) throw new Error(`What tests share is for tests only: ${BROKER} is not set.`);
  const socket = connect(port, "127.0.0.1");
  socket.write(what);
  const answer = JSON.parse(await text(socket)) as Answer;
  if ("error" in answer) throw new Error(answer.error);
  return answer.value;
}
