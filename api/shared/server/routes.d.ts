/** What a caller must be allowed to do. `public`: anybody may ask. */
type Action = "public" | "read" | "send" | "answer" | "manage";
export { Action };
