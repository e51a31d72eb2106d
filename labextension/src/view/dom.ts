/** Elements without markup: text is text, whatever the program called its things. */

export type Child = Node | string | number | null | undefined | false;

interface Props {
  class?: string;
  on?: Record<string, (event: Event) => void>;
  [attribute: string]: unknown;
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(props.on!)) {
        made.addEventListener(event, handler);
      }
    } else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...present(children));
  return made;
}

/** What has the focus, also where a host keeps widgets in shadow trees of their own. */
export const focused = (near: Node): Element | null =>
  (near.getRootNode() as Document | ShadowRoot).activeElement;

export function fill(host: Element, ...children: Child[]): void {
  host.replaceChildren(...present(children));
}

function present(children: Child[]): (Node | string)[] {
  return children
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === "number" ? String(child) : (child as Node | string)));
}

/** A button that says what it does; `pressed` makes it a switch. */
export function button(
  text: Child,
  onclick: (event: Event) => void,
  props: Props & { pressed?: boolean } = {},
): HTMLButtonElement {
  const { pressed, class: classes, ...rest } = props;
  return el(
    "button",
    {
      type: "button",
      class: `agi-button ${classes ?? ""}`.trim(),
      "aria-pressed": pressed === undefined ? undefined : String(pressed),
      on: { click: onclick },
      ...rest,
    },
    text,
  );
}

/** A switch; `changed` is told its new state. */
export function toggle(
  text: string,
  changed: (on: boolean) => void,
  on = false,
): HTMLButtonElement {
  const made = button(
    text,
    () => {
      const now = made.getAttribute("aria-pressed") !== "true";
      made.setAttribute("aria-pressed", String(now));
      changed(now);
    },
    { pressed: on },
  );
  return made;
}

/** What a sentence has where an element goes. */
export const HOLE = "\0";

/** A sentence with an element in it, wherever its language has it. */
export function around(sentence: string, child: Child): Child[] {
  const [before, after] = sentence.split(HOLE);
  return [before, child, after];
}

/** A dotted name, which may break after its dots. */
export const dotted = (name: string) => breakable(name.split(/(?<=[._])/));

/** Source that may go on below after a bracket or a comma, or before an attribute: views/code_breaks.py. */
const code = (text: string) =>
  breakable(text.split(/(?<=[([{,])(?=[^\s)\]}])|(?<=\S)(?=\.[^\W\d])/));

function breakable(parts: string[]): DocumentFragment {
  const made = document.createDocumentFragment();
  parts.forEach((part, n) => {
    if (n) made.append(document.createElement("wbr"));
    made.append(part);
  });
  return made;
}

/** A line of source, with the expression that ran marked. */
export function source(text: string, expression = ""): HTMLElement {
  const at = expression ? text.indexOf(expression) : -1;
  if (at < 0 || expression === text) return el("code", { class: "agi-source" }, code(text));
  const end = at + expression.length;
  return el(
    "code",
    { class: "agi-source" },
    code(text.slice(0, at)),
    el("mark", {}, code(expression)),
    code(text.slice(end)),
  );
}

/** A sentence in which `code` stands between backticks. */
export function prose(text: string): DocumentFragment {
  const made = document.createDocumentFragment();
  const parts = text.split("`");
  parts.forEach((part, n) => {
    const code = n % 2 === 1 && n < parts.length - 1;
    made.append(code ? el("code", {}, part) : n % 2 === 1 ? `\`${part}` : part);
  });
  return made;
}
