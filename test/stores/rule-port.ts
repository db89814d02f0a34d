import type { SessionId } from "../../src/model/ids.ts";
import { NO_USAGE } from "../../src/model/usage.ts";
import { MemoryPort } from "../../src/stores/memory/port.ts";
import type { Port } from "../../src/stores/rules/port.ts";
import { type Read, type Rule, runNow } from "../../src/stores/rules/rule.ts";
import { SESSION, type Table } from "../../src/stores/tables.ts";

const SESSION_ROW = {
  ...{ revision: 0, turns: 0, head: null, headIndex: null, usage: NO_USAGE, generation: 0, turn: null, owner: null },
  ...{ process: null, until: 0, written: 0, wake: null, parked: null },
  ...{ ownedBy: null, tags: null, activity: 0, words: null },
};

/** A port with these sessions in it. */
export function portWith(...sessions: readonly SessionId[]): MemoryPort {
  const port = new MemoryPort();
  for (const id of sessions) runNow(iterate(port.add(SESSION, { ...SESSION_ROW, id })));
  return port;
}
export function* iterate<T>(read: Read<T>): Rule<T> {
  return yield* read;
}

/** The port with some members replaced. */
export const replacing = (port: MemoryPort, own: Partial<Port>): Port =>
  new Proxy(port, {
    get(target, name) {
      if (name in own) return own[name as keyof Port];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

export const rowsOf = <Row extends object>(port: MemoryPort, table: Table<Row>): readonly Row[] =>
  [...port.table(table).cells.values()].map(({ row }) => row);
