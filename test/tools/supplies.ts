import { defineToolProvider, type Tool, type ToolManifest, type ToolProvider } from "bowline/plugin";

export interface Supply extends ToolProvider {
  /** How often it was listed, and what was loaded, in order. */
  readonly seen: { lists: number; loads: string[]; watches: number; unwatched: number };
  /** Offers these from now on, and says so. */
  change(...tools: readonly Tool[]): void;
  /** Says that the list has changed. */
  tell(): void;
}

type Parts = Partial<Pick<ToolProvider, "list" | "load" | "watch">>;

/** A source of tools whose list the test changes; `parts` break it. */
export function supplies(id: string, tools: readonly Tool[] = [], parts: Parts = {}): Supply {
  let offered = tools;
  const watchers = new Set<() => void>();
  const seen: Supply["seen"] = { lists: 0, loads: [], watches: 0, unwatched: 0 };
  const tell = (): void => {
    for (const watcher of watchers) watcher();
  };
  const provider = defineToolProvider({
    id,
    list(signal) {
      seen.lists++;
      return parts.list === undefined ? offered.map(manifestOf) : parts.list(signal);
    },
    load(name, signal) {
      seen.loads.push(name);
      return parts.load === undefined ? offered.find((tool) => tool.name === name) : parts.load(name, signal);
    },
    watch(changed) {
      seen.watches++;
      watchers.add(changed);
      return () => {
        seen.unwatched++;
        watchers.delete(changed);
      };
    },
    ...(parts.watch === undefined ? {} : { watch: parts.watch }),
  });
  return {
    ...provider,
    seen,
    tell,
    change(...next) {
      offered = next;
      tell();
    },
  };
}

const manifestOf = ({ name, description, availability, audience, bindings, examples }: Tool): ToolManifest =>
  JSON.parse(JSON.stringify({ name, description, availability, audience, bindings, examples }));
