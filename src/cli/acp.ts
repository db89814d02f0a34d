// `bowline acp`: an agent for editors and other clients of the Agent Client Protocol, over stdin and stdout.
import { Readable } from "node:stream";
import { loadPackage } from "../model/packages.ts";
import { acpAgent } from "./acp/agent.ts";
import { EXIT, type Io, type Output, type Settings } from "./io.ts";
import { openService, untilStopped } from "./service.ts";
import { explain, printable } from "./text.ts";

export async function acp(io: Io, settings: Settings): Promise<number> {
  const sdk = await loadPackage("@agentclientprotocol/sdk", () => import("@agentclientprotocol/sdk"));
  const { stopped, release } = untilStopped(io);
  const { output, giveBack } = takeStdout(io);
  try {
    const { runtime, about, where, isDemo = false } = await openService(io, settings);
    const { user, version, cwd: folder } = io;
    const log = (error: unknown): void => void io.stderr.write(`${explain(error, io.env)}\n`);
    const agent = acpAgent(sdk, { runtime, version, folder, takesImages: !isDemo, user, log });
    try {
      const input = Readable.toWeb(io.stdin) as ReadableStream<Uint8Array>;
      const connection = agent.app.connect(sdk.ndJsonStream(output, input));
      const kept = where === undefined ? "" : `, stored in ${where}`;
      io.stderr.write(`${printable(`Bowline ${version} speaks ACP for ${about}${kept}.`)}\n`);
      await Promise.race([stopped, connection.closed]);
      connection.close();
      await agent.close();
    } finally {
      await runtime.close();
    }
    return EXIT.ok;
  } finally {
    giveBack();
    release();
  }
}

/**
 * Stdout for the protocol only: what an app or a tool prints there goes to stderr, because one line of it would break the
 * protocol. A write settles when the client has read it.
 */
function takeStdout({ stdout, stderr }: { readonly stdout: Output; readonly stderr: Output }) {
  const { write } = stdout;
  stdout.write = stderr.write.bind(stderr) as Output["write"];
  const output = new WritableStream<Uint8Array>({
    write: (bytes) =>
      new Promise((resolve, reject) => {
        write.call(stdout, bytes, "utf8", (error) => (error ? reject(error) : resolve()));
      }),
  });
  return { output, giveBack: () => void (stdout.write = write) };
}
