import { expect, test } from "vitest";
import { describePostgres } from "../kit/shared-postgres.ts";
import { cutAt, delayed, frozen, statements, stranded, WHENS } from "./network.ts";

describePostgres("a network that fails", () => {
  test("E7 D1 D2 a connection that is cut at a statement is noticed by nobody", async () => {
    const { cuts, clean } = await statements();
    expect(clean.wrong).toEqual([]);
    const some = cuts.filter(({ text }) => /^COMMIT$|^WITH s AS|SET claim|SELECT n, seq, changed/.test(text));
    expect(some.length).toBeGreaterThan(3);
    for (const [nth, cut] of some.entries()) {
      const { isMet, wrong } = await cutAt(cut, WHENS[nth % WHENS.length]!, clean);
      expect({ ...cut, isMet, wrong }).toEqual({ ...cut, isMet: true, wrong: [] });
    }
  }, 60_000);

  test.concurrent("E7 D2 silent connections are closed, and the turn continues over others", async () => {
    expect(await stranded()).toEqual({ outcome: "answered", calls: 1, takeovers: 0 });
  });

  test.concurrent("E7 D5 a worker that gets no answer past its lease loses the turn, and begins nothing more", async () => {
    expect(await frozen()).toEqual({ outcome: "answered", calls: 2, late: [], commits: 1 });
  });

  test("E7 a slow network makes a turn slow, and nothing else", async () => {
    const { wrong } = await delayed(4);
    expect(wrong).toEqual([]);
  });
});
