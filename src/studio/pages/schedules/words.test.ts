import { expect, test } from "vitest";
import { cronInWords, whenOf } from "./words.ts";

test.each([
  ["0 9 * * *", "every day at 09:00"],
  ["30 2,14 * * *", "every day at 02:30 and 14:30"],
  ["*/5 * * * *", "every 5 minutes"],
  ["* * * * *", "every minute"],
  ["15 * * * *", "every hour at minute 15"],
  ["0 */6 * * *", "every 6 hours"],
  ["*/10 9-17 * * 1-5", "every 10 minutes from 09:00 to 17:59, Monday to Friday"],
  ["0 8 * * mon,WED", "every Monday and Wednesday at 08:00"],
  ["0 8 * * 7", "every Sunday at 08:00"],
  ["0 0 1 * *", "on day 1 of each month at 00:00"],
  ["0 0 L * *", "on the last day of each month at 00:00"],
  ["0 12 24 12 *", "every 24 December at 12:00"],
  ["0 30 7 * * 1-5", "Monday to Friday at 07:30"],
  ["@daily", "every day at 00:00"],
])("E6: the cron pattern %s reads as %s", (cron, words) => {
  expect(cronInWords(cron)).toBe(words);
});

test.each([
  "30 0 9 * * *",
  "0 9 13 * 5",
  "0 9 * 1-3 *",
  "5,10 9 * * *",
  "*/7 * * * *",
  "0 9 * * 1#2",
  "nonsense",
  "0 9 * * 5-1",
])("E6: the cron pattern %s has no words and stays as it is", (cron) => {
  expect(cronInWords(cron)).toBeUndefined();
  const on = { kind: "cron", cron, timeZone: "UTC", missed: "once" } as const;
  expect(whenOf({ on })).toBe(`cron ${cron}, UTC`);
});

test.each([
  [60_000, "every minute"],
  [300_000, "every 5 minutes"],
  [5_400_000, "every 1 hour 30 minutes"],
  [86_400_000, "every day"],
  [1_500, "every 1.5 seconds"],
])("E6: an interval of %s ms reads as %s", (everyMs, words) => {
  expect(whenOf({ on: { kind: "interval", everyMs, from: 0, missed: "once" } })).toBe(words);
});
