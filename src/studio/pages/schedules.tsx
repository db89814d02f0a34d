import type { JSX } from "preact";
import { Page } from "../parts/basics.tsx";

export function SchedulesPage({ id }: { readonly id: string }): JSX.Element {
  return <Page title="SchedulesPage">{id}</Page>;
}
