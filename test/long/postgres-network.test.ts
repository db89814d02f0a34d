import { expect, test } from "vitest";
import { describePostgres } from "../kit/shared-postgres.ts";
import { type CutDay, cutAt, delayed, frozen, statements, stranded, WHENS } from "../postgres/network.ts";

describePostgres("a network that fails", () => {
  test("E7 D1 D2 a cut at every statement, before it, once it is sent and once it is answered, is noticed by nobody", async () => {
    const { cuts, clean } = await statements();
    expect(clean.wrong).toEqual([]);
    const days: CutDay[] = [];
    for (const cut of cuts) for (const when of WHENS) days.push(await cutAt(cut, when, clean));
    const wrong = days.filter((day) => day.wrong.length > 0);
    for (const when of WHENS) {
      const some = days.filter((day) => day.when === when);
      const met = some.filter(({ isMet }) => isMet).length;
      console.log(
        `cut ${when.padEnd(8)}  ${some.length} statements, ${met} met, ${some.filter((day) => day.wrong.length > 0).length} wrong`,
      );
    }
    expect(wrong).toEqual([]);
    expect(days.filter(({ isMet }) => isMet).length).toBeGreaterThan(days.length * 0.9);
  }, 1_800_000);

  test("E7 D2 D5 half-open connections and a network that is away past the lease, twenty times", async () => {
    for (let n = 0; n < 20; n++) {
      expect(await stranded()).toEqual({ outcome: "answered", calls: 1, takeovers: 0 });
      expect(await frozen()).toEqual({ outcome: "answered", calls: 2, late: [], commits: 1 });
    }
    console.log("half-open: 20 stranded and 20 frozen past the lease, 0 wrong");
  }, 300_000);

  test.each([10, 50, 200])(
    "E7 a round trip of %i ms makes a turn slow, and nothing else",
    async (ms) => {
      const started = performance.now();
      const { wrong } = await delayed(ms);
      console.log(`round trip ${ms} ms: the day took ${Math.round(performance.now() - started)} ms`);
      expect(wrong).toEqual([]);
    },
    120_000,
  );
});
