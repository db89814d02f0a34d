/** What the store needs of a `pg` pool. A caller's pool may be any object with these methods. */
interface Pool {
  connect(): Promise<Client>;
  /** `connect` has its own timeout. */
  readonly isTimed?: boolean;
}
interface Client {
  query(statement: Statement): Promise<Answered>;
  release(broken?: Error | boolean): void;
  on?(event: "error", listener: () => void): unknown;
  /** Sends statements without waiting for earlier answers. */
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
