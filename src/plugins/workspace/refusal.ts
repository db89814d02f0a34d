import { retryable, ToolError } from "../../index.ts";

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

/** An error of the system as a refusal. Its own message would name descriptor paths that mean nothing to the model. */
export function explained(error: unknown, path: string): Error {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error as Error; // Not an error of the system.
  const at = shown(path);
  const refuse = (why: Code, message: string) => new Refusal(why, message, { cause: error });
  switch (code) {
    case "ENOENT":
      return refuse("workspace.missing", `There is no ${at}.`);
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return refuse("workspace.permission", `The system permits no access to ${at} (${code}).`);
    case "ENOTDIR":
      return refuse("workspace.kind", `A part of ${at} is no folder.`);
    case "EISDIR":
      return refuse("workspace.kind", `${at} is a folder.`);
    case "ENXIO":
      return refuse("workspace.kind", `${at} is no regular file.`);
    case "ELOOP":
      return refuse("workspace.changed", `${at} was replaced by a link meanwhile.`);
    case "ENAMETOOLONG":
      return refuse("workspace.path", `A name in ${at} is too long.`);
    default:
      return PASSING.has(code)
        ? retryable(refuse("workspace.io", `${at} is busy (${code}).`))
        : refuse("workspace.io", `${at} cannot be used (${code}).`);
  }
}
