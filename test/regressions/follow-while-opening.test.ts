import { sqlite } from "bowline/stores/sqlite";
import { expect, test } from "vitest";
import { within } from "../kit/reading.ts";
import { file, slowly } from "../kit/stores.ts";
import { running } from "../kit/worlds.ts";

const inFile = () => sqlite(file(), { durability: "process" });

// The runtime opens the session for its input. A handle that came meanwhile belonged to no session, and waited for ever.
test.each([
  ["at once", inFile],
  ["later", () => slowly(inFile())],
] as const)(
  "E3 a turn that is followed while its session is opened has its result, in a store that answers %s",
  async (_, store) => {
    await using runtime = await running({ store: store() });
    for (const id of ["a", "b"]) {
      await runtime.sessions.create({ id });
      const { turnId } = await runtime.sessions.send(id, "Hi.");
      const handles = Array.from({ length: 3 }, () => runtime.sessions.follow(turnId));
      const results = await within(Promise.all(handles.map((handle) => handle.result())), 5_000);
      expect(results.map(({ outcome }) => outcome.kind)).toEqual(["answered", "answered", "answered"]);
    }
  },
);
