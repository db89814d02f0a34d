/** An answer that the session remembers. */
interface RememberedAnswer {
  readonly id: string;
  readonly tool: string;
  /** The arguments of the call, as JSON; shortened. */
  readonly arguments: string;
  /** The reason for asking; shortened. */
  readonly question: string;
  readonly approved: boolean;
  /** The reason of the person who did not approve it; shortened. */
  readonly reason?: string;
  /** The name that the app gave for the person who answered. */
  readonly by?: string;
  /** When it was answered, in milliseconds since 1970. */
  readonly at: number;
  /** When the answer expires. Omitted if it never does. */
  readonly until?: number;
}
export { RememberedAnswer };
