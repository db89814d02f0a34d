import { journal } from "bowline/hosts/journal";
import { type CrashBackend, postgresBackend } from "bowline/testing";
import { type MutantName, mutated } from "../../postgres/mutants.ts";

const url = process.env.BOWLINE_TEST_POSTGRES ?? "";

/** The same with a store that breaks a rule, by the name that the test has told. */
export default {
  ...postgresBackend(url),
  open({ name: schema, isHastened }) {
    const options = { schema, clock: isHastened === true ? "caller" : "server" } as const;
    return { store: mutated(url, process.env.BOWLINE_TEST_MUTANT as MutantName, options).store, host: journal() };
  },
} satisfies CrashBackend;
