/**
 * Returns a function to await between the parts of long work. It lets other code run when this process has worked for a
 * while, because a synchronous store would block it.
 */
export function resting(): () => Promise<void> {
  let restedAt = performance.now();
  return async () => {
    if (performance.now() - restedAt < AFTER_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    restedAt = performance.now();
  };
}

const AFTER_MS = 5;
