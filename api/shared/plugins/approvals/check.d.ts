type Scalar = string | number | boolean | null;
/** Tests of one argument; all of them must pass. */
interface ArgumentTest {
  readonly gt?: number | undefined;
  readonly gte?: number | undefined;
  readonly lt?: number | undefined;
  readonly lte?: number | undefined;
  /** The value is one of these. */
  readonly in?: readonly Scalar[] | undefined;
  /** A regular expression that matches the text from beginning to end. */
  readonly matches?: string | undefined;
  /** A text that the value contains. */
  readonly contains?: string | undefined;
  /** Whether the argument is present. */
  readonly exists?: boolean | undefined;
}
export { ArgumentTest, Scalar };
