import type { JSX } from "preact";
import { Page } from "../parts/basics.tsx";

export function JobsPage(): JSX.Element {
  return <Page title="Jobs">…</Page>;
}

export function JobPage({ id }: { readonly id: string }): JSX.Element {
  return <Page title="Job">{id}</Page>;
}
