/** Something that is not as it must be. */
interface Finding {
  readonly item: string;
  readonly problem: string;
}
interface CheckOptions {
  /** How many to find before giving up; 100 unless given. */
  readonly max?: number;
  /** Compares every index with its table too, which takes much longer. */
  readonly deep?: boolean;
}
export { CheckOptions, Finding };
