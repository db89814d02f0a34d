import type { StoreLaw } from "../../src/testing/law.ts";
import { lineLaws } from "../../src/testing/store-laws/lines.ts";
import { liveLaws } from "../../src/testing/store-laws/live.ts";
import { triggerLaws } from "../../src/testing/store-laws/triggers.ts";
import { turnLaws } from "../../src/testing/store-laws/turns.ts";

/** The capabilities that a law is about, as they stand in the title of its test. */
export function capabilitiesOf(law: StoreLaw): string {
  if (triggerLaws.includes(law)) return "D5 J7";
  if (liveLaws.includes(law)) return "D5 S11";
  if (turnLaws.includes(law)) return "D5 E4";
  return lineLaws.includes(law) ? "D5 J4" : "D5";
}
