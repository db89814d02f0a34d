// The studio of another server: this process serves its files, and forwards the API. The browser never has the token of
// the other server.
import { RuntimeError } from "../model/errors.ts";
import { describeThrown } from "../model/json.ts";
import type { HeaderList } from "../server/answer.ts";
import { login, principalOf, requireSameSite, SAFE_HEADERS } from "../server/guard.ts";
import { type Answered, type Listening, type ListenOptions, listen } from "../server/listen.ts";
import { checkedOptions, type ServerOptions } from "../server/options.ts";
import { problemAnswer } from "../server/problem.ts";
import { BASE } from "../server/routes.ts";
import { EVENT_STREAM } from "../server/streams.ts";
import { STUDIO, studioPage } from "../server/studio.ts";
import { UsageError } from "./io.ts";

/** The headers that matter to the API. Cookies and the address of the page stay here. */
const SENT = ["accept", "content-type", "last-event-id"];
/** What Bowline answers with. A page or a script of another server must not run as one of the studio. */
const ANSWERS =
  /^(?:application\/(?:(?:problem\+)?json|octet-stream)|text\/event-stream|image\/(?:png|jpeg|gif|webp))\b/;
const RETURNED = ["content-type", "content-disposition", "retry-after", "x-accel-buffering"];

export function forwarding(
  address: string,
  theirToken: string | undefined,
  options: Pick<ServerOptions, "token" | "hosts">,
): { listen(options: ListenOptions): Promise<Listening> } {
  const base = baseOf(address);
  const checked = checkedOptions(options);
  const streams = new AbortController();

  async function forwarded(request: Request, path: string): Promise<Response> {
    const headers: Record<string, string> = {};
    for (const name of SENT) {
      const value = request.headers.get(name);
      if (value !== null) headers[name] = value;
    }
    if (theirToken !== undefined) headers.authorization = `Bearer ${theirToken}`;
    const signal = AbortSignal.any([request.signal, streams.signal]);
    const body = request.body === null ? {} : { body: request.body, duplex: "half" };
    const init = { method: request.method, headers, signal, redirect: "manual", ...body } as RequestInit;
    const answer = await fetch(base + path, init).catch((error: Error) => {
      const problem = describeThrown(error.cause ?? error);
      return failed(`The server at ${base} does not answer: ${problem}`, "Start it, or check --url.", 503);
    });
    if (answer.status === 401)
      return failed(
        `The server at ${base} refused the token.`,
        "Start the studio again with its token: --token-file.",
        403,
      );
    if (answer.status >= 300 && answer.status < 400)
      return failed(`The server at ${base} answers with a redirect.`, "Give its final address to --url.", 403);
    const type = answer.headers.get("content-type");
    if (type !== null && !ANSWERS.test(type))
      return failed(`The server at ${base} does not answer like Bowline.`, "Check --url.", 403);
    const kept: Record<string, string> = {};
    for (const name of RETURNED) {
      const value = answer.headers.get(name);
      if (value !== null) kept[name] = value;
    }
    const isQuiet = (): boolean => type === EVENT_STREAM || streams.signal.aborted;
    return new Response(answer.body && untilEnd(answer.body, isQuiet), { status: answer.status, headers: kept });
  }

  async function answerOf(request: Request): Promise<Answered["answer"]> {
    const url = new URL(request.url);
    requireSameSite(request, url, checked);
    const { pathname } = url;
    if (request.method === "GET") {
      if (pathname === "/login") return login(request, checked);
      if (pathname === "/" || pathname === STUDIO.slice(0, -1)) return redirect(STUDIO);
      const file = pathname.startsWith(STUDIO) ? (await studioPage())[pathname as `/${string}`] : undefined;
      if (file !== undefined) return new Response(file.body as string, { headers: { "content-type": file.type } });
    }
    if (!pathname.startsWith(`${BASE}/`))
      throw new RuntimeError("server.route", { method: request.method, path: pathname.slice(0, 200) });
    await principalOf(request, checked);
    return forwarded(request, pathname + url.search);
  }

  const answer = async (request: Request): Promise<Answered> => {
    const common: HeaderList = SAFE_HEADERS;
    return { answer: await answerOf(request).catch(problemAnswer), common };
  };
  return { listen: (where) => listen({ answer, endStreams: () => streams.abort() }, checked, where) };
}

/** The same bytes. A body that breaks off ends without an error if `isQuiet`: the reader of an event stream connects again. */
function untilEnd(body: ReadableStream<Uint8Array>, isQuiet: () => boolean): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = await reader.read().catch((error: unknown) => {
          if (isQuiet()) return { value: undefined };
          throw error;
        });
        if (value === undefined) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

const redirect = (to: string): Response => new Response(null, { status: 302, headers: { location: to } });

/** A failure between the two servers, as the studio shows it. A 503 is tried again. */
function failed(title: string, hint: string, status: 403 | 503): Response {
  const retry = status === 503 ? "unchanged" : "never";
  const problem = { type: "urn:bowline:studio.server", title, status, code: "studio.server", hint, retry };
  return Response.json(problem, { status, headers: { "content-type": "application/problem+json" } });
}

function baseOf(address: string): string {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`--url ${JSON.stringify(address)} is no address.`, "Such as --url http://127.0.0.1:4100.");
  const { origin, pathname, username, password, search, hash } = url;
  if (username + password + search + hash !== "")
    throw new UsageError("--url has more than a host and a path.", "Give the token with --token-file.");
  return origin + pathname.replace(/\/+$/, "");
}
