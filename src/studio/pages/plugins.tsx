import type { JSX } from "preact";
import { Page } from "../parts/basics.tsx";

export function PluginsPage({ id }: { readonly id: string }): JSX.Element {
  return <Page title="PluginsPage">{id}</Page>;
}
