import { retryable, ToolError } from "../../plugin.ts";
import { TEXTS } from "./texts.ts";

const CODES = {
  "workspace.outside": "denied",
  "workspace.path": "arguments",
  "workspace.missing": "failed",
  "workspace.kind": "failed",
  "workspace.permission": "denied",
  "workspace.changed": "failed",
  "workspace.limit": "limit",
  "workspace.edit": "arguments",
  "workspace.pattern": "arguments",
  "workspace.command": "denied",
  "workspace.io": "failed",
} as const;
type Code = keyof typeof CODES;

/** A refusal of a workspace tool, in words for the model. */
export class Refusal extends ToolError {
  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(code, message, { class: CODES[code], ...options });
  }
}

/** A path for a message: on one line and of bounded length. */
export const shown = (path: string): string => JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);

const PASSING = new Set(["EMFILE", "ENFILE", "EAGAIN", "EBUSY", "EINTR", "ENOMEM"]);

/**
 * Turns a system error into a refusal, because its own message has descriptor paths that a model does not understand.
 */
export function explained(error: unknown, path: string): Error {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error as Error; // Not a system error.
  const at = shown(path);
  const refuse = (why: Code, message: string) => new Refusal(why, message, { cause: error });
  switch (code) {
    case "ENOENT":
      return refuse("workspace.missing", TEXTS.missing(at));
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return refuse("workspace.permission", TEXTS.noAccess(at, code));
    case "ENOTDIR":
      return refuse("workspace.kind", TEXTS.partIsFile(at));
    case "EISDIR":
      return refuse("workspace.kind", TEXTS.isFolder(at));
    case "ENXIO":
      return refuse("workspace.kind", TEXTS.special(at));
    case "ELOOP":
      return refuse("workspace.changed", TEXTS.replaced(at));
    case "ENAMETOOLONG":
      return refuse("workspace.path", TEXTS.nameTooLong(at));
    default:
      return PASSING.has(code)
        ? retryable(refuse("workspace.io", TEXTS.busy(at, code)))
        : refuse("workspace.io", TEXTS.unusable(at, code));
  }
}
