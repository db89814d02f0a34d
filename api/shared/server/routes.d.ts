/** The right that a caller needs. `public`: none. */
type Action = "public" | "read" | "send" | "answer" | "manage";
export { Action };
