import { expect, test } from "vitest";
import { memory } from "../../src/stores/memory.ts";
import type { Store } from "../../src/stores/store.ts";
import type { StoreLaw } from "../../src/testing/law.ts";

/** The same store, with some of its methods replaced. */
export const over = (store: Store, own: Partial<Store>): Store =>
  new Proxy(store, {
    get(target, key) {
      const found: unknown = Reflect.get(Object.hasOwn(own, key) ? own : target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });

/** The laws that a store breaks. */
export async function broken(laws: readonly StoreLaw[], make: () => Store): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { law, check } of laws)
    try {
      await check(make());
    } catch {
      found.push(law);
    }
  return found;
}

/** Rules of a store, each broken in its own way. */
export type Mutants = { readonly [rule: string]: (inner: Store) => Partial<Store> };

/** Tests that the laws are broken wherever a rule is. */
export function eachIsMissed(name: string, laws: readonly StoreLaw[], mutants: Mutants): void {
  test.each(Object.entries(mutants))(`${name} are broken where %s`, async (_, mutant) => {
    const found = await broken(laws, () => {
      const inner = memory();
      return over(inner, mutant(inner));
    });
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThan(laws.length / 2); // It is the rule that is missed, not the store.
  });
}
