// Data of a page: loaded when the page opens, again when facts come, and kept on the screen while it loads again.
import { useEffect, useRef, useState } from "preact/hooks";
import { type Fact, type Failure, failureOf, onFact } from "./server.ts";

export interface Loaded<T> {
  /** Undefined until the first answer. Stays while the data is loaded again. */
  readonly data: T | undefined;
  /** Why the last try failed. */
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  reload(): void;
}

export interface LoadOptions {
  /** Loads again after such a fact. Default: never. */
  readonly when?: ((fact: Fact) => boolean) | undefined;
  /** Loads again after so many milliseconds, for what has no facts. */
  readonly everyMs?: number | undefined;
}

/** Facts come in bursts: one load answers all of them. */
const JOINED_MS = 250;
/** No fact reports that a worker takes a turn, so the data is loaded again so long after the last fact. */
const TAKEN_MS = 2_000;

/** Loads data for a page. `key` names what is loaded: another key drops the old data. */
export function useLoad<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { when, everyMs }: LoadOptions = {},
): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; failure?: Failure; isLoading: boolean }>({
    key,
    isLoading: true,
  });
  const latest = useRef({ load, when });
  latest.current = { load, when };
  const again = useRef<() => void>(() => {});

  useEffect(() => {
    const leaving = new AbortController();
    let joined: ReturnType<typeof setTimeout> | undefined; // After a fact.
    let taken: ReturnType<typeof setTimeout> | undefined; // After the last fact.
    let repeated: ReturnType<typeof setTimeout> | undefined;
    let run = 0;
    const now = async (): Promise<void> => {
      clearTimeout(joined);
      clearTimeout(repeated);
      joined = undefined;
      const mine = ++run;
      setState((old) => (old.key === key ? { ...old, isLoading: true } : { key, isLoading: true }));
      try {
        const data = await latest.current.load(leaving.signal);
        if (mine === run && !leaving.signal.aborted) setState({ key, data, isLoading: false });
      } catch (error) {
        if (mine !== run || leaving.signal.aborted) return;
        const failure = failureOf(error);
        setState((old) => ({ ...(old.key === key ? old : { key }), failure, isLoading: false }));
      }
      // A hidden tab asks for nothing. When it is shown again, the feed begins with `undefined`.
      const repeat = (): void => void (document.visibilityState === "hidden" ? undefined : now());
      if (everyMs !== undefined && mine === run && !leaving.signal.aborted) repeated = setTimeout(repeat, everyMs);
    };
    again.current = () => void now();
    void now();
    const drop = onFact((fact) => {
      if (fact === undefined) void now();
      else if (latest.current.when?.(fact) === true) {
        joined ??= setTimeout(() => void now(), JOINED_MS);
        clearTimeout(taken);
        taken = setTimeout(() => void now(), TAKEN_MS);
      }
    });
    return () => {
      leaving.abort();
      for (const timer of [joined, taken, repeated]) clearTimeout(timer);
      drop();
    };
  }, [key, everyMs]);

  const isSame = state.key === key;
  return {
    data: isSame ? state.data : undefined,
    failure: isSame ? state.failure : undefined,
    isLoading: isSame ? state.isLoading : true,
    reload: () => again.current(),
  };
}

export interface Pages<T> extends Omit<Loaded<readonly T[]>, "data"> {
  /** All pages so far. Undefined until the first one is there. */
  readonly items: readonly T[] | undefined;
  /** Loads the next page, if there is one. */
  more(): void;
}

/** The longest page that the server gives. */
const PAGE_MAX = 1_000;

/** Loads a list page by page: `load` gets the cursor of the last item. A reload keeps as many pages as there were. */
export function usePages<T extends { readonly cursor: string }>(
  key: string,
  load: (
    page: { readonly after: string | undefined; readonly max: number },
    signal: AbortSignal,
  ) => Promise<readonly T[]>,
  size: number,
  options: LoadOptions = {},
): Pages<T> {
  const wanted = useRef({ key, pages: 1 });
  if (wanted.current.key !== key) wanted.current = { key, pages: 1 };
  const loaded = useLoad<{ readonly items: readonly T[]; readonly isWhole: boolean }>(
    key,
    async (signal) => {
      const items: T[] = [];
      for (const most = wanted.current.pages * size; items.length < most; ) {
        const max = Math.min(PAGE_MAX, most - items.length);
        const found = await load({ after: items.at(-1)?.cursor, max }, signal);
        items.push(...found);
        if (found.length < max) return { items, isWhole: true };
      }
      return { items, isWhole: false };
    },
    options,
  );
  const { data, failure, isLoading, reload } = loaded;
  return {
    items: data?.items,
    failure,
    isLoading,
    reload,
    more: () => {
      if (data === undefined || data.isWhole || isLoading || data.items.length < wanted.current.pages * size) return;
      wanted.current.pages += 1;
      reload();
    },
  };
}

/** Runs what a button does: one run at a time, and its failure is shown beside the button. */
export function useAction(): {
  readonly isBusy: boolean;
  readonly failure: Failure | undefined;
  run(action: () => Promise<unknown>): Promise<boolean>;
} {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const busy = useRef(false);
  return {
    isBusy,
    failure,
    run: async (action) => {
      if (busy.current) return false;
      busy.current = true;
      setBusy(true);
      setFailure(undefined);
      try {
        await action();
        return true;
      } catch (error) {
        setFailure(failureOf(error));
        return false;
      } finally {
        busy.current = false;
        setBusy(false);
      }
    },
  };
}
