/** Damage: where it is, and what is wrong. */
interface Finding {
  readonly item: string;
  readonly problem: string;
}
interface CheckOptions {
  /** How many findings to stop at; 100 unless given. */
  readonly max?: number;
  /** Compares every index with its table too, which takes much longer. */
  readonly deep?: boolean;
}
export { CheckOptions, Finding };
