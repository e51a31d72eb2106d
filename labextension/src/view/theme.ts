/** Whether the host is dark: JupyterLab and VS Code say so; elsewhere the page's background, then the system, decides. */

export function isDark(host: Element): boolean {
  const { dataset, classList } = document.body;
  if (dataset.jpThemeLight) return dataset.jpThemeLight === "false";
  if (dataset.vscodeThemeKind) return !dataset.vscodeThemeKind.includes("light");
  if (classList.contains("dark") || host.closest(".dark, [data-theme=dark]")) return true;
  if (classList.contains("light") || host.closest(".light, [data-theme=light]")) return false;
  return globalThis.matchMedia?.("(prefers-color-scheme: dark)").matches ?? false;
}

/** Marks the root with the host's theme, and keeps it so. */
export function followTheme(root: HTMLElement): () => void {
  const apply = () => root.setAttribute("data-theme", isDark(root) ? "dark" : "light");
  apply();
  const observer = new MutationObserver(apply);
  const attributes = ["data-jp-theme-light", "data-vscode-theme-kind", "class", "data-theme"];
  observer.observe(document.body, { attributes: true, attributeFilter: attributes });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: attributes });
  const system = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
  system?.addEventListener?.("change", apply);
  return () => {
    observer.disconnect();
    system?.removeEventListener?.("change", apply);
  };
}
