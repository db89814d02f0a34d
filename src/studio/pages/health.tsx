import type { JSX } from "preact";
import { Page } from "../parts/basics.tsx";

export function HealthPage({ id }: { readonly id: string }): JSX.Element {
  return <Page title="HealthPage">{id}</Page>;
}
