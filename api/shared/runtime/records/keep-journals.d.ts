/** How long the journals of ended turns are kept. A journal is removed soon after one of these limits is exceeded. */
interface KeepJournals {
  /** Default: 7. */
  readonly days?: number | undefined;
  /** How many turns of one session keep theirs. Default: 200. */
  readonly perSession?: number | undefined;
  /** The size of all journals of the store. The memory store does not count bytes. Default: 1 GiB. */
  readonly bytes?: number | undefined;
}
export { KeepJournals };
