import fc from "fast-check";
import { expect, test } from "vitest";
import type { Preview } from "../../model/event.ts";
import { asEffectName, asSessionId, asTurnId, nodeId } from "../../model/ids.ts";
import { joined, Keys, LastText, newest, restOf } from "./previews.ts";

const text = (delta: string, attempt = 1): Preview => ({
  fact: false,
  sessionId: asSessionId("s"),
  turnId: asTurnId("t"),
  key: { effect: asEffectName("r1.model"), generation: 1, attempt },
  kind: "text",
  delta,
});
const said = (previews: readonly Preview[]): string =>
  previews.map((event) => (event.kind === "text" ? `${event.key.attempt}${event.delta}` : event.kind)).join();

const anyPreviews = fc.array(
  fc
    .record({ delta: fc.string({ maxLength: 4 }), attempt: fc.nat(2) })
    .map(({ delta, attempt }) => text(delta, attempt)),
  { maxLength: 12 },
);

test("S11 for every known part of the previews, the reader gets exactly the rest", () => {
  fc.assert(
    fc.property(anyPreviews, fc.nat(12), (events, at) => {
      const [known, all] = [new Keys().own(events.slice(0, at)), new Keys().own(events)];
      const rest = restOf(known, all);
      expect(rest).toBeDefined();
      expect(
        joined(new Keys().own([...known, ...rest!]).filter((event) => event.kind !== "text" || event.delta !== "")),
      ).toEqual(joined([...all].filter((event) => event.kind !== "text" || event.delta !== "")));
    }),
  );
});

test("S11 if the previews do not extend the known part, there is no rest", () => {
  expect(restOf([text("ab")], [text("ac")])).toBeUndefined();
  expect(restOf([text("a"), text("b", 2)], [text("a")])).toBeUndefined();
  expect(restOf([text("a", 1)], [text("a", 2)])).toBeUndefined();
  expect(restOf([text("a"), text("b", 2)], [text("aa"), text("b", 2)])).toBeUndefined();
});

test("S11 the newest previews are those that fit, and of a text that does not its end, never half a character", () => {
  const all = [text("first"), text("second", 2)];
  expect(newest(all, 10_000)).toMatchObject({ previews: all, isCut: false });
  const { length } = JSON.stringify(all[1]);
  expect(newest(all, length)).toMatchObject({ previews: [all[1]], isCut: true });
  const [cut] = newest([text("😀".repeat(1_000))], 1_001).previews;
  expect(said([cut!])).toMatch(/^1(😀)+$/u);
  expect(newest([text("x")], 0)).toEqual({ previews: [], chars: 0, isCut: true });
});

test("S11 a reader gets the missing part of an answer when its turn ends in another process, and nothing twice", () => {
  const restAfter = (answer: string, ...shown: readonly Preview[]) => {
    const last = new LastText();
    for (const event of shown) last.add(event);
    const message = { id: nodeId("t", 0), role: "assistant", parts: [] } as const;
    const rest = last.missingFrom(asSessionId("s"), asTurnId("t"), { kind: "answered", message, text: answer });
    return rest?.kind === "text" ? [rest.key.effect, rest.delta, rest.key.generation] : undefined;
  };
  const resumed = (event: Preview): Preview => ({ ...event, key: { ...event.key, generation: 2 } });
  const retracted: Preview = { ...text(""), kind: "retracted" };
  expect(restAfter("I waited.", text("I "), text("waited."))).toBeUndefined();
  expect(restAfter("I waited.", text("I "))).toEqual(["r1.model", "waited.", 1]);
  expect(restAfter("I waited.", text("I sl"), text("I ", 2))).toEqual(["r1.model", "waited.", 1]);
  expect(restAfter("I waited.", text("I "), retracted)).toEqual(["answer", "I waited.", 1]);
  expect(restAfter("I waited.", text("Let me see."))).toEqual(["answer", "I waited.", 1]);
  expect(restAfter("", text(""))).toBeUndefined();
  // Readers drop what an earlier run of the turn has shown: the rest belongs to the latest run.
  expect(restAfter("I waited.", text("I "), resumed(retracted))).toEqual(["answer", "I waited.", 2]);
  expect(restAfter("I waited.", text("I "), resumed(text("I ")))).toEqual(["r1.model", "waited.", 2]);
});
