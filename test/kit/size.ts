/**
 * How much a test run tries. `npm test` takes small samples of kills, races, mutants and random stories, so that it is
 * run while one works; `npm run test:full` takes the larger ones.
 */
export const isFull: boolean = process.env.BOWLINE_TESTS === "full";

/** The size of a sample in this run. */
export const sample = (quick: number, full: number): number => (isFull ? full : quick);
