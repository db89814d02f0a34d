import type { JSX } from "preact";
import { Page } from "../parts/basics.tsx";

export function WaitsPage({ id }: { readonly id: string }): JSX.Element {
  return <Page title="WaitsPage">{id}</Page>;
}
