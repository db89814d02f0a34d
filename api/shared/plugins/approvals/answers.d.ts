/** An answer that the session remembers. */
interface RememberedAnswer {
  readonly id: string;
  readonly tool: string;
  /** The arguments of the call, as JSON; shortened. */
  readonly arguments: string;
  /** The reason for asking; shortened. */
  readonly question: string;
  readonly approved: boolean;
  /** Why it was not approved; shortened. */
  readonly reason?: string;
  /** Who answered, as the app named them. */
  readonly by?: string;
  /** When it was answered, in milliseconds since 1970. */
  readonly at: number;
  /** Until when it holds; left out where it holds as long as the session lives. */
  readonly until?: number;
}
export { RememberedAnswer };
