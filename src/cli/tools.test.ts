import { expect, test } from "vitest";
import { timeIn } from "./tools.ts";

test("the clock returns the time of a zone, with midnight as 00", () => {
  const now = new Date("2026-03-01T15:04:05Z");
  const tokyo = {
    time: "00:04:05",
    weekday: "Monday",
    date: "2 March 2026",
    timeZone: "Asia/Tokyo",
    offset: "GMT+09:00",
  };
  expect(timeIn("Asia/Tokyo", now)).toEqual(tokyo);
  expect(timeIn(undefined, now).timeZone).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
});

test("the clock refuses a zone that is none", () => {
  expect(() => timeIn("Atlantis", new Date())).toThrow("There is no time zone “Atlantis”.");
});
