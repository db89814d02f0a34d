import type { JSX } from "preact";
import { Page } from "../parts/basics.tsx";

export function TurnPage({ id }: { readonly id: string }): JSX.Element {
  return <Page title="TurnPage">{id}</Page>;
}
