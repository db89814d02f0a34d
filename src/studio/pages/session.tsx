import type { JSX } from "preact";
import { Page } from "../parts/basics.tsx";

export function SessionPage({ id }: { readonly id: string }): JSX.Element {
  return <Page title="SessionPage">{id}</Page>;
}
