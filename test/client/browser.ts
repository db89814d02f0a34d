/** A stand-in for a browser: as much of a document as the chat page uses. It refuses to take text as HTML. */
import { createClient } from "bowline/client";

type Listener = (event: Event_) => void;
interface Event_ {
  readonly key?: string;
  preventDefault(): void;
}

export class Element_ {
  readonly tag: string;
  id = "";
  className = "";
  value = "";
  title = "";
  href = "";
  type = "";
  hidden = false;
  disabled = false;
  scrollTop = 0;
  scrollHeight = 0;
  clientHeight = 0;
  parentNode: Element_ | null = null;
  readonly attributes: Record<string, string> = {};
  readonly listeners = new Map<string, Listener[]>();
  children: (Element_ | string)[] = [];

  constructor(tag: string) {
    this.tag = tag;
  }
  get textContent(): string {
    return this.children.map((child) => (typeof child === "string" ? child : child.textContent)).join("");
  }
  set textContent(text: string) {
    this.children = text === "" ? [] : [text];
  }
  set innerHTML(_: string) {
    throw new Error("Text must not become HTML.");
  }
  get firstChild() {
    return this.children[0];
  }
  get lastChild() {
    return this.children.at(-1);
  }
  get nextSibling(): Element_ | null {
    const all = this.parentNode?.children ?? [];
    return (all[all.indexOf(this) + 1] as Element_ | undefined) ?? null;
  }
  append(...children: (Element_ | string)[]): void {
    for (const child of children) {
      if (child instanceof Element_) child.remove();
      if (child instanceof Element_) child.parentNode = this;
      this.children.push(child);
    }
  }
  replaceChildren(...children: Element_[]): void {
    for (const child of this.children) if (child instanceof Element_) child.parentNode = null;
    this.children = [];
    this.append(...children);
  }
  insertBefore(child: Element_, before: Element_ | null): void {
    child.remove();
    child.parentNode = this;
    this.children.splice(before === null ? this.children.length : this.children.indexOf(before), 0, child);
  }
  remove(): void {
    if (this.parentNode !== null) this.parentNode.children = this.parentNode.children.filter((each) => each !== this);
    this.parentNode = null;
  }
  setAttribute(name: string, value: string): void {
    this.attributes[name] = value;
  }
  focus(): void {}
  readonly classList = { toggle: () => true, remove: () => {} };
  addEventListener(kind: string, listener: Listener): void {
    this.listeners.set(kind, [...(this.listeners.get(kind) ?? []), listener]);
  }
  fire(kind: string, more: object = {}): void {
    for (const listener of this.listeners.get(kind) ?? []) listener({ preventDefault: () => {}, ...more });
  }
  /** This element and all below it. */
  *all(): Iterable<Element_> {
    yield this;
    for (const child of this.children) if (child instanceof Element_) yield* child.all();
  }
}

export class Browser {
  readonly #window = new Element_("window");
  readonly document = Object.assign(new Element_("document"), {
    body: new Element_("body"),
    visibilityState: "visible",
    createElement: (tag: string) => new Element_(tag),
    getElementById: (id: string) => this.#byId(id),
  });
  readonly #elements = new Map<string, Element_>();
  readonly location: { readonly origin: string; hash: string };

  constructor(origin: string, html: string, hash = "") {
    for (const [, tag = "", id = "", rest = ""] of html.matchAll(/<(\w+)[^>]*?\bid="(\w+)"([^>]*)>/g)) {
      const element = Object.assign(new Element_(tag), { id, hidden: /\bhidden\b/.test(rest) });
      this.#elements.set(id, element);
    }
    const window = this.#window;
    this.location = {
      origin,
      get hash() {
        return hash;
      },
      set hash(value: string) {
        hash = value === "" ? "" : `#${value.replace(/^#/, "")}`;
        window.fire("hashchange");
      },
    };
  }

  #byId(id: string): Element_ {
    const found = this.#elements.get(id);
    if (found === undefined) throw new Error(`The page has no element ${id}.`);
    return found;
  }
  get(id: string): Element_ {
    return this.#byId(id);
  }

  /** Runs the script of the page. The cookie of a browser becomes a header. */
  run(script: string, headers: Record<string, string> = {}): void {
    const code = script.replace('import { createClient } from "/client.js";', "");
    const made = (options: Parameters<typeof createClient>[0]) => createClient({ ...options, headers });
    const names = ["createClient", "document", "location", "addEventListener", "requestAnimationFrame"];
    const listen = (kind: string, listener: Listener): void => this.#window.addEventListener(kind, listener);
    new Function(...names, code)(made, this.document, this.location, listen, (draw: () => void) => setTimeout(draw, 1));
  }

  hide(isHidden: boolean): void {
    this.document.visibilityState = isHidden ? "hidden" : "visible";
    this.document.fire("visibilitychange");
  }
  say(words: string): void {
    this.get("words").value = words;
    this.get("words").fire("keydown", { key: "Enter" });
  }
  /** What the conversation shows. */
  shown(): readonly string[] {
    return this.get("talk").children.map(
      (each) => `${(each as Element_).className}: ${(each as Element_).textContent}`,
    );
  }
  click(text: string): boolean {
    for (const id of this.#elements.keys())
      for (const each of this.get(id).all())
        if (each.tag === "button" && each.textContent === text && !each.disabled) {
          each.fire("click");
          return true;
        }
    return false;
  }
}
