/** Keys meant for the widget stay in it: of a host's shortcuts "d d" deletes the cell, and arrows leave the slider. */

/** JupyterLab's and Notebook's shortcuts do not look beyond it; Notebook's hear a key before the widget does. */
const SILENT = "data-lm-suppress-shortcuts";

export function trapFocusKeys(root: HTMLElement): () => void {
  const first = (event: KeyboardEvent) => {
    const [target, ...above] = event.composedPath();
    if (above.includes(root)) (target as Element).toggleAttribute(SILENT, isPlainKey(event));
  };
  globalThis.addEventListener("keydown", first, true);
  root.addEventListener("keydown", (event) => {
    if (isPlainKey(event)) event.stopPropagation();
  });
  return () => globalThis.removeEventListener("keydown", first, true);
}

/** Shift+Enter still runs the cell, and Ctrl+S saves. */
function isPlainKey(event: KeyboardEvent): boolean {
  const combined = event.ctrlKey || event.metaKey || event.altKey;
  return !combined && !(event.shiftKey && event.key === "Enter");
}
