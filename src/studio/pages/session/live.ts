// The live view of a session, its older nodes, and what is known of its turns.
import type { ClientView, EndedTurn } from "bowline/client";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { client, type Failure, failureOf, isAway } from "../../server.ts";
import type { Node, TurnRecord } from "../../types.ts";

export interface Live {
  /** Undefined until the first answer. Stays when the connection is lost. */
  readonly view: ClientView | undefined;
  readonly failure: Failure | undefined;
  reload(): void;
}

/** Follows a session while the tab is shown, and draws at most once in a frame. */
export function useLive(id: string): Live {
  const [state, setState] = useState<{ readonly view?: ClientView; readonly failure?: Failure }>({});
  const [run, setRun] = useState(0);
  useEffect(() => {
    if (id === "") return;
    let leaving: AbortController | undefined;
    let latest: ClientView | undefined;
    let frame = 0;
    let isLost = false;
    const draw = (): void => {
      frame = 0;
      if (latest !== undefined) setState({ view: latest });
    };
    const follow = async (): Promise<void> => {
      const { signal } = (leaving = new AbortController());
      const onConnection = (lost?: unknown): void => {
        if (signal.aborted) return;
        isLost = lost !== undefined;
        isAway.value = isLost;
      };
      try {
        for await (const view of client.view(id, { signal, onConnection })) {
          // The messages of a turn that has ended come with the next view. Until then what it has shown stays.
          if (view.isBehind && view.turns.some(({ kind }) => kind === "ended")) continue;
          latest = view;
          if (frame === 0) frame = requestAnimationFrame(draw);
        }
      } catch (error) {
        if (signal.aborted) return;
        const failure = failureOf(error);
        setState(({ view }) => ({ ...(view === undefined ? {} : { view }), failure }));
      }
    };
    // A browser opens six connections to a server: a tab that nobody sees has none.
    const change = (): void => {
      if (document.visibilityState === "hidden") {
        leaving?.abort();
        leaving = undefined;
      } else if (leaving === undefined) void follow();
    };
    change();
    document.addEventListener("visibilitychange", change);
    return () => {
      document.removeEventListener("visibilitychange", change);
      cancelAnimationFrame(frame);
      leaving?.abort();
      if (isLost) isAway.value = false; // Nobody tries again here. The feed of facts still does.
    };
  }, [id, run]);
  return { view: state.view, failure: state.failure, reload: () => setRun((n) => n + 1) };
}

// ── Older nodes ─────────────────────────────────────────────────────────────────────────────────────────────────────

const PAGE = 200;

export interface Older {
  /** Newest first. */
  readonly nodes: readonly Node[];
  readonly isWhole: boolean;
  readonly failure: Failure | undefined;
  more(): void;
}

/** The nodes before the active frame, page by page. `first`: the first message of the frame. */
export function useOlder(id: string, view: ClientView | undefined): Older {
  const frame = view?.read?.frame;
  const first = view?.read?.messages[0]?.id;
  const [state, setState] = useState<{ readonly key: string } & Omit<Older, "more">>();
  const key = `${frame} ${first}`;
  const mine = state?.key === key ? state : { key, nodes: [], isWhole: frame === undefined, failure: undefined };
  const latest = useRef(mine);
  latest.current = mine;
  const busy = useRef("");
  const more = (): void => {
    const { nodes, isWhole } = latest.current;
    if (isWhole || frame === undefined || busy.current === key) return;
    busy.current = key;
    const before = nodes.at(-1)?.id ?? first;
    const query = { max: PAGE, ...(before === undefined ? {} : { before }) };
    client
      .request("sessionHistory", { path: { id }, query })
      .then(
        (found) => ({ nodes: [...nodes, ...found], isWhole: found.length < PAGE, failure: undefined }),
        (error: unknown) => ({ nodes, isWhole: false, failure: failureOf(error) }),
      )
      .then((found) => {
        if (busy.current !== key) return;
        busy.current = "";
        setState({ key, ...found });
      });
  };
  // One page at once, so that the conversation before the frame is in sight.
  useEffect(() => {
    if (frame !== undefined) more();
  }, [key]);
  return { ...mine, more };
}

// ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const TURNS = 200;

/** The records of turns, loaded from the latest on as far as items ask for them. */
export interface Turns {
  get(id: string): TurnRecord | undefined;
  /** Loads records until this one is among them. */
  want(id: string): void;
  /** Grows with what is known. */
  readonly version: number;
}

export function useTurns(session: string, view: ClientView | undefined): Turns {
  const [, draw] = useState(0);
  const turns = useMemo(() => new TurnRecords(session, () => draw((n) => n + 1)), [session]);
  const ended = view?.read?.turns;
  useEffect(() => {
    if (ended !== undefined) turns.renew();
  }, [turns, ended, view?.turns.findLast((turn): turn is EndedTurn => turn.kind === "ended")?.id]);
  return turns;
}

class TurnRecords implements Turns {
  readonly #known = new Map<string, TurnRecord>();
  readonly #wanted = new Set<string>();
  #after: string | undefined;
  #isWhole = false;
  #isBusy = false;
  version = 0;
  readonly #session: string;
  readonly #changed: () => void;

  constructor(session: string, changed: () => void) {
    this.#session = session;
    this.#changed = changed;
  }

  get(id: string): TurnRecord | undefined {
    return this.#known.get(id);
  }

  want(id: string): void {
    if (this.#known.has(id)) return;
    this.#wanted.add(id);
    if (this.#after !== undefined) void this.#next();
  }

  /** Loads the latest records again. */
  renew(): void {
    void this.#load(undefined);
  }

  async #next(): Promise<void> {
    if (this.#isBusy) return;
    for (;;) {
      const missing = [...this.#wanted].find((id) => !this.#known.has(id));
      if (missing === undefined) return;
      if (!(await (this.#isWhole ? this.#find(missing) : this.#load(this.#after)))) return;
    }
  }

  /** A turn of the session that this one was forked from is not in its list. */
  async #find(id: string): Promise<boolean> {
    this.#isBusy = true;
    try {
      const { outcome, ...turn } = await client.request("getTurn", { path: { id } });
      const code = outcome !== undefined && "code" in outcome ? { code: outcome.code } : {};
      this.#known.set(id, { ...turn, ...(outcome === undefined ? {} : { outcome: outcome.kind }), ...code });
      this.version++;
      this.#changed();
    } catch {
      this.#wanted.delete(id);
    } finally {
      this.#isBusy = false;
    }
    return true;
  }

  async #load(after: string | undefined): Promise<boolean> {
    this.#isBusy = true;
    try {
      const query = { session: this.#session, max: TURNS, ...(after === undefined ? {} : { after }) };
      const found = await client.request("listTurns", { query });
      for (const turn of found) this.#known.set(turn.id, turn);
      if (after !== undefined || this.#after === undefined) {
        this.#after = found.at(-1)?.cursor;
        this.#isWhole = found.length < TURNS;
      }
      this.version++;
      this.#changed();
      return true;
    } catch {
      return false; // The conversation is whole without them.
    } finally {
      this.#isBusy = false;
      if (after === undefined) void this.#next();
    }
  }
}
