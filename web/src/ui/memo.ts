import { Component, type ComponentType, type FunctionComponent, h, type VNode } from 'preact';

/** Drawn again only where `isSame` says that what it shows has changed. */
export function memo<P extends object>(
  view: FunctionComponent<P>,
  isSame: (before: P, after: P) => boolean,
): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(after: Readonly<P>): boolean {
      return !isSame(this.props as P, after as P);
    }
    override render(): VNode {
      return h(view as FunctionComponent<object>, this.props);
    }
  };
}
