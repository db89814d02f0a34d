import { createRuntime, type Provider, type Runtime, type RuntimeOptions, type Session, type Store } from "bowline";
import { memory } from "bowline/stores/memory";
import { echo } from "../stories/kit.ts";

/** A promise that the test settles. */
export const signalOf = (): PromiseWithResolvers<void> => Promise.withResolvers<void>();

/** What waits for itself never ends: it fails here, by name, instead of running into the test's own time limit. */
export async function within<T>(what: PromiseLike<T>, ms = 1_500): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It did not end within ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([what, late]);
  } finally {
    clearTimeout(timer);
  }
}

export const passed = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

type Options = Partial<Omit<RuntimeOptions, "model" | "models">> & {
  readonly model?: Provider;
  readonly models?: RuntimeOptions["models"];
};

/** A runtime whose model repeats what it is told, unless the test brings one. */
export const running = ({ model = echo(), store = memory(), models, ...rest }: Options = {}): Promise<Runtime> =>
  createRuntime({ ...rest, store, model, ...(models === undefined ? {} : { models }) });

/** Two runtimes on one store. Only the first is closed: closing one closes the store they share. */
export async function twoOn(
  store: Store,
  options: Options = {},
  other: Options = options,
): Promise<AsyncDisposable & { readonly one: Runtime; readonly two: Runtime }> {
  const one = await running({ ...options, store });
  const two = await running({ ...other, store });
  return { one, two, [Symbol.asyncDispose]: () => one.close() };
}

/** The nodes on a session's path, oldest first, in short. */
export async function nodesOf(store: Store, session: Pick<Session, "id">): Promise<readonly string[]> {
  const segments = [...(await store.view(session.id))].reverse();
  return segments.flatMap(({ entries }) =>
    entries.map((entry) => {
      if (entry.kind === "plugin") return `${entry.plugin} ${entry.type} ${JSON.stringify(entry.body)}`;
      if (entry.kind === "frame") return `frame ${entry.reason}`;
      const words = entry.message.parts.map((part) => (part.kind === "text" ? part.text : part.kind)).join("");
      return `${entry.message.role}: ${words}`;
    }),
  );
}

/** What nobody listened to, while `act` runs. The test runner would count it against whatever test runs then. */
export async function unheard(act: () => Promise<void>): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (reason) => found.push(reason));
  try {
    await act();
    await passed(20);
  } finally {
    process.removeAllListeners("unhandledRejection");
    for (const listener of others) process.on("unhandledRejection", listener);
  }
  return found;
}

/** The same store, whose answers come later: what the memory store hides by answering at once shows here. */
export function slowly(store: Store, ticks = 3): Store {
  const late = (of: object): object =>
    new Proxy(of, {
      get(target, key) {
        const found: unknown = Reflect.get(target, key);
        if (typeof found === "object" && found !== null) return late(found);
        if (typeof found !== "function") return found;
        return async (...given: readonly unknown[]) => {
          for (let tick = 0; tick < ticks; tick++) await undefined;
          const answer: unknown = await found.apply(target, given);
          for (let tick = 0; tick < ticks; tick++) await undefined;
          return answer;
        };
      },
    });
  return late(store) as Store;
}

/** For what must hold on either kind of store: `test.each(STORES)("… on a store that answers %s", async (_, store) => …)`. */
export const STORES: readonly (readonly [string, () => Store])[] = [
  ["at once", memory],
  ["later", () => slowly(memory())],
];
