/** The browser of the machine, for tests of pages. `scripts/chromium.mjs` installs it in CI. */
import { programAt } from "./programs.ts";

/** Where Debian and others have it, or in `PATH`. */
const PLACES = [
  ...["chromium", "chromium-browser", "google-chrome"],
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

export const findChromium = (): string | undefined => programAt(...PLACES);

export const CHROMIUM_ABSENT = "There is no Chromium: install the package `chromium`.";
