import { definePlugin, type ProseProjector } from "bowline/protocol";
import { says, scripted, thinks } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { eventsOf, only } from "../kit/reading.ts";
import { onEvent } from "../kit/telemetry.ts";
import { open } from "../kit/worlds.ts";

/** Hides what stands in braces. */
const text = (raw: string): string => raw.replace(/\{[^}]*\}?/g, "");
const braces: ProseProjector = {
  text,
  stream: () => {
    let isHidden = false;
    const push = (delta: string): string => {
      let shown = "";
      for (const letter of delta) {
        if (letter === "{") isHidden = true;
        if (!isHidden) shown += letter;
        if (letter === "}") isHidden = false;
      }
      return shown;
    };
    return { push, end: () => "" };
  },
};
const hides = (projector: ProseProjector) =>
  definePlugin({ id: "acme/hides", setup: () => ({ proseProjector: projector }) });

const SAID = says("A", "{se", "cret", "} and", " B{x}.");

async function seen(projector: ProseProjector, reply = SAID) {
  const traced: string[] = [];
  const trace = ({ name }: { readonly name: string }) => void traced.push(name);
  await using world = await open(scripted(reply), { plugins: [hides(projector)], telemetry: onEvent(trace) });
  const events = await eventsOf(world.session.turn("Go."));
  const { messages } = await world.session.read();
  const [committed] = only(events, "committed");
  return {
    deltas: only(events, "text").map(({ delta }) => delta),
    outcome: committed !== undefined && "outcome" in committed ? committed.outcome : undefined,
    parts: messages.at(-1)?.parts,
    traced,
  };
}

describe("what a person sees of a reply", () => {
  test("P6 comes as it streams, is the text of the outcome, and is kept beside what was said", async () => {
    const { deltas, outcome, parts } = await seen(braces);
    expect(deltas).toEqual(["A", " and", " B."]);
    expect(outcome).toMatchObject({ kind: "answered", text: "A and B." });
    expect(parts).toEqual([{ kind: "text", text: "A{secret} and B{x}.", shown: "A and B." }]);
  });

  test("P6 is not kept where it is all that was said, and reasoning is not touched", async () => {
    const { parts, deltas } = await seen(braces, thinks("{hm}", says("A.")));
    expect(parts).toEqual([
      { kind: "reasoning", text: "{hm}", made: { route: "scripted/test" } },
      { kind: "text", text: "A." },
    ]);
    expect(deltas).toEqual(["A."]);
  });

  test("P6 comes at once, at the end, from a projector that can read whole texts only", async () => {
    expect((await seen({ text })).deltas).toEqual(["A and B."]);
  });

  test("P6 is the text as it was said where the projector throws or gives no text: the reply is paid for", async () => {
    const throws = (): never => {
      throw new Error("Oh.");
    };
    const { deltas, outcome, traced } = await seen({ text: throws, stream: () => ({ push: throws, end: throws }) });
    expect(deltas.join("")).toBe("A{secret} and B{x}.");
    expect(outcome).toMatchObject({ kind: "answered", text: "A{secret} and B{x}." });
    expect(traced).toContain("prose.failed");
    expect((await seen({ text: () => 1 as never })).outcome).toMatchObject({ text: "A{secret} and B{x}." });
  });

  test("P6 what fills the slot must be a projector", async () => {
    await expect(open(scripted(), { plugins: [hides((() => "") as never)] })).rejects.toMatchObject({
      code: "plugin.invalid",
    });
  });
});
