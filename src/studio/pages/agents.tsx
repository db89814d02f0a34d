import type { JSX } from "preact";
import { Page } from "../parts/basics.tsx";

export function AgentsPage({ id }: { readonly id: string }): JSX.Element {
  return <Page title="AgentsPage">{id}</Page>;
}
