/** How test files and the process that runs them speak of the server they share. */

/** Where that process tells the URL: a port of the loopback. Programs that tests start inherit it. */
export const BROKER = "BOWLINE_TEST_POSTGRES";

/** What it says, once it has started the server or failed to. */
export type Told = { readonly url: string } | { readonly error: string };
