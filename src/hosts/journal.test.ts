import { describe, test } from "vitest";
import { later } from "../../test/stores/later.ts";
import { memory } from "../stores/memory.ts";
import { amnesiac } from "../testing/amnesiac.ts";
import { hostLaws } from "../testing/host-laws.ts";
import { journal } from "./journal.ts";

describe.concurrent("journal", () => {
  for (const { law, check } of hostLaws) {
    test(`D5 journal: ${law}`, () => check({ host: journal, store: memory }));
    test(`D5 journal, on a store that takes its time: ${law}`, () =>
      check({ host: journal, store: () => later(memory()) }));
    test(`D5 a host without a memory: ${law}`, () => check({ host: amnesiac, store: () => later(memory()) }));
  }
});
