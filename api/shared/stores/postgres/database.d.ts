/** The store's view of a pool of `pg`; one that is handed in may be any that has these. */
interface Pool {
  connect(): Promise<Client>;
}
interface Client {
  query(statement: Statement): Promise<Answered>;
  release(broken?: Error | boolean): void;
  on?(event: "error", listener: () => void): unknown;
  /** Statements are sent without waiting for the answers to those before. */
  readonly pipeline?: boolean;
}
interface Answered {
  readonly rows: unknown[];
  readonly rowCount: number | null;
}
interface Statement {
  readonly text: string;
  readonly name?: string;
  readonly values?: readonly unknown[];
  readonly types?: {
    getTypeParser(oid: number, format?: string): unknown;
  };
  readonly query_timeout?: number;
}
export { Pool };
