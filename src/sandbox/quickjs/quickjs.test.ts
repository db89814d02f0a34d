import { afterAll, describe, test } from "vitest";
import { sandboxLaws } from "../../testing/sandbox-laws.ts";
import { quickjs } from "./index.ts";

const sandbox = quickjs({ workers: 1 });
afterAll(() => sandbox.close());

describe("every sandbox", () => {
  for (const { law, check } of sandboxLaws)
    test(`P8 quickjs: ${law}`, () => check(sandbox, () => quickjs({ workers: 1 })));
});
