// Icons, drawn on a grid of 16 px with one line width. They repeat a text, so screen readers skip them.
import type { JSX } from "preact";

const PATHS = {
  sessions: "M2.5 3.5h11v7h-6l-3 3v-3h-2z",
  turn: "M2.5 4h7M4.5 8h8M2.5 12h5",
  waits:
    "M8 2.5v0M4 13V9.5a1 1 0 0 1 2 0V4a1 1 0 0 1 2 0v4M8 4.5a1 1 0 0 1 2 0V8m0-2a1 1 0 0 1 2 0v4.5c0 2-1 3-3 3H7.5C6 13.5 5 13 4 11",
  jobs: "M2.5 5.5h11v7h-11zM6 5.5v-2h4v2M2.5 9h11",
  schedules: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v3.2l2.2 1.3",
  agents: "M8 2.5v3M8 5.5 4 9.5M8 5.5l4 4M2.5 9.5h3v3h-3zM10.5 9.5h3v3h-3zM6.5 2h3v2h-3z",
  usage: "M2.5 13.5h11M4.5 11V8M8 11V3.5M11.5 11V6",
  plugins: "M6 2.5v3M10 2.5v3M4 5.5h8v3a4 4 0 0 1-8 0zM8 12.5v1.5",
  health: "M2 8.5h3l1.5-4 3 7 1.5-3h3",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3l3.2 3.2",
  send: "M2.5 8h10M8.5 4l4 4-4 4",
  stop: "M4.5 4.5h7v7h-7z",
  fork: "M5 3v10M5 9c0-3 6-1.5 6-5M5 2.5v0M11 2.5v0",
  retry: "M13 8a5 5 0 1 1-1.5-3.6M13 2.5v3h-3",
  close: "M4 4l8 8M12 4l-8 8",
  down: "M4 6.5l4 4 4-4",
  theme: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  play: "M5 3.5v9l7-4.5z",
  check: "M3 8.5l3.5 3.5L13 5",
  plus: "M8 3v10M3 8h10",
  attachment: "M10.5 5.5 6 10a1.4 1.4 0 0 0 2 2l5-5a2.8 2.8 0 0 0-4-4L4 8a4.2 4.2 0 0 0 0 .5",
} as const;
export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { readonly name: IconName }): JSX.Element => (
  <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path
      d={PATHS[name]}
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
    />
  </svg>
);

/** The knot that Bowline is named after. */
export const Logo = (): JSX.Element => (
  <svg class="logo" viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
    <path
      d="M3 14V6a5 5 0 0 1 10 0c0 3-3 5-5 3s0-5 3-4"
      fill="none"
      stroke="currentColor"
      stroke-width="2.2"
      stroke-linecap="round"
    />
  </svg>
);
