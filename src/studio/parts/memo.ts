// `preact/compat` has this, too, with 4 KB of what the studio does not need.
import { Component, type ComponentChildren, type FunctionComponent, type VNode } from "preact";

/** A component that is drawn again only when one of its properties changed. */
export function memo<P extends object>(draw: (props: P) => ComponentChildren): FunctionComponent<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const now = this.props as P;
      return (Object.keys(next) as (keyof P)[]).some((name) => next[name] !== now[name]);
    }
    override render(): ComponentChildren {
      return draw(this.props as P);
    }
  } as unknown as (props: P) => VNode;
}
