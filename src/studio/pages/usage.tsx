import type { JSX } from "preact";
import { Page } from "../parts/basics.tsx";

export function UsagePage({ id }: { readonly id: string }): JSX.Element {
  return <Page title="UsagePage">{id}</Page>;
}
