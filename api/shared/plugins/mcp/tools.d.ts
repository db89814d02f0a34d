interface Skipped {
  readonly tool: string;
  readonly reason: string;
}
export { Skipped };
