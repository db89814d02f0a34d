// The server that this page came from: requests, their failures, and the feed of facts that keeps the pages fresh.
import { signal } from "@preact/signals";
import { type Client, ClientError, createClient } from "bowline/client";

export const client: Client = createClient({ url: location.origin });

/** The browser has not logged in, or its cookie has expired. */
export const isLoggedOut = signal(false);
/** The connection is lost, and the page tries again. */
export const isAway = signal(false);

/** Why something failed, in words for the person at the page. */
export interface Failure {
  readonly title: string;
  readonly hint: string;
  readonly code: string;
}

/** Every failure passes here, so that a lost login is noticed wherever it shows. */
export function failureOf(error: unknown): Failure {
  if (error instanceof ClientError) {
    if (error.status === 401) isLoggedOut.value = true;
    return { title: error.message, hint: error.hint, code: error.code };
  }
  return { title: String((error as Error)?.message ?? error), hint: "Reload the page.", code: "studio.failed" };
}

// ── The feed ────────────────────────────────────────────────────────────────────────────────────────────────────────

export type Fact = ReturnType<Client["events"]> extends AsyncGenerator<infer F> ? F : never;
const listeners = new Set<(fact: Fact | undefined) => void>();
let following: AbortController | undefined;

/** Calls `listener` with each new fact of all sessions, and with `undefined` after some may have been missed. */
export function onFact(listener: (fact: Fact | undefined) => void): () => void {
  listeners.add(listener);
  if (following === undefined) void follow();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) stop();
  };
}

const tell = (fact?: Fact): void => {
  for (const listener of [...listeners]) listener(fact);
};

function stop(): void {
  following?.abort();
  following = undefined;
}

async function follow(): Promise<void> {
  const { signal } = (following = new AbortController());
  const onConnection = (lost?: ClientError): void => {
    if (signal.aborted) return;
    isAway.value = lost !== undefined;
    if (lost === undefined) tell();
  };
  try {
    for await (const fact of client.events({ after: "latest", signal, onConnection })) tell(fact);
  } catch (error) {
    if (!signal.aborted) failureOf(error);
  }
}

// A browser opens six connections to a server: a tab that nobody sees has none.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") stop();
  else if (listeners.size > 0 && following === undefined) {
    void follow();
    tell();
  }
});
