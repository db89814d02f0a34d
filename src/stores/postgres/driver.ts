import type pg from "pg";
import { loadPackage } from "../../model/packages.ts";

export type Driver = typeof pg;

/** Loads the optional package pg. Called on first use, so that the module loads without pg. */
export async function loadDriver(): Promise<Driver> {
  const { default: driver } = await loadPackage("pg", () => import("pg"));
  return driver;
}

/**
 * A client that closes its socket when it fails to connect. The driver's own client leaves the socket open when it
 * fails first, for example because a password is missing. The socket would keep the process alive and occupy a
 * connection until the server's authentication timeout of 60 s.
 */
export const closingClient = (driver: Driver): typeof pg.Client =>
  class extends driver.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | void {
      if (callback === undefined)
        return new Promise((resolve, reject) => this.connect((error) => (error ? reject(error) : resolve(this))));
      super.connect((error: Error) => {
        if (error) (this as unknown as ClientInternals).connection.stream.destroy();
        callback(error);
      });
    }
  };

/** Fields of the driver's client that its types leave out. */
interface ClientInternals {
  readonly connection: { readonly stream: { destroy(): void } };
}
