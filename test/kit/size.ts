/** How much of a sample a run takes: `npm test` the quick one, `npm run test:full` the full one. */
export const isFull: boolean = process.env.BOWLINE_TESTS === "full";

export const sample = (quick: number, full: number): number => (isFull ? full : quick);
