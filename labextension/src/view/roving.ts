/** A toolbar is one stop of Tab: arrows, Home and End move within it, as the ARIA pattern has it. */

const ITEMS = "button, summary, input, select";

export function roving(bar: HTMLElement): void {
  const items = () =>
    [...bar.querySelectorAll<HTMLElement>(ITEMS)].filter(
      (item) => !item.closest(".agi-menu-items") && item.offsetParent !== null,
    );
  const stop = (at: HTMLElement) => {
    for (const item of bar.querySelectorAll<HTMLElement>(ITEMS)) {
      if (!item.closest(".agi-menu-items")) item.tabIndex = item === at ? 0 : -1;
    }
  };
  const [first] = bar.querySelectorAll<HTMLElement>(ITEMS);
  if (first) stop(first);
  bar.addEventListener("focusin", (event) => {
    const item = event.target as HTMLElement;
    if (item.matches(ITEMS) && !item.closest(".agi-menu-items")) stop(item);
  });
  bar.addEventListener("keydown", (event) => {
    const all = items();
    const at = all.indexOf(event.target as HTMLElement);
    if (at < 0 || !moves(event)) return;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[(to + all.length) % all.length]!.focus();
  });
}

/** In a text field arrows move the cursor until it is at an end. */
function moves(event: KeyboardEvent): boolean {
  const field = event.target as HTMLInputElement;
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return false;
  if (field.tagName === "SELECT") return event.key === "ArrowLeft" || event.key === "ArrowRight";
  if (field.tagName !== "INPUT") return true;
  const { selectionStart: start, selectionEnd: end, value } = field;
  if (event.key === "ArrowRight") return start === value.length;
  return event.key === "ArrowLeft" && start === 0 && end === 0;
}
