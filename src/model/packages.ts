import { RuntimeError } from "./errors.ts";
import { describeThrown } from "./json.ts";

/**
 * Loads an optional package, a peer dependency that only some apps install. Throws `package.unavailable` with the command
 * that installs it: Node's own error names neither the feature nor the command.
 */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const problem = isAbsent(name, error) ? "is not installed" : `does not load: ${describeThrown(error)}`;
    throw new RuntimeError("package.unavailable", { package: name, problem }, { cause: error });
  }
}

/** A package that is installed without one of its dependencies fails with the same code and the name of the dependency. */
function isAbsent(name: string, error: unknown): boolean {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") && String(message).includes(`'${name}'`);
}
