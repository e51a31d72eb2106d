"""Every colour of ours, once: on light pages and on dark ones. Pages, pictures and the widget take them from here.

``scripts/colours.py`` writes the widget's as a style sheet.
"""

from __future__ import annotations

from msgspec import Struct


class Colour(Struct, frozen=True):
    """``hosts``: variables that come before it, in the page of whoever has one of them."""

    light: str
    dark: str
    hosts: tuple[str, ...] = ()

    def css(self, *, dark: bool) -> str:
        """As a value in a style sheet for pages that are light, or dark."""
        return self._hosted(self.dark if dark else self.light)

    @property
    def either(self) -> str:
        """The same as one value, which follows the ``color-scheme`` around it."""
        return self._hosted(f"light-dark({self.light}, {self.dark})")

    def _hosted(self, value: str) -> str:
        for variable in reversed(self.hosts):
            value = f"var({variable}, {value})"
        return value


def _of_hosts(light: str, dark: str, jupyterlab: str, vscode: str) -> Colour:
    return Colour(light, dark, (f"--jp-{jupyterlab}", f"--vscode-{vscode}"))


PAGE: dict[str, Colour] = {
    "text": _of_hosts("#1f2328", "#e6edf3", "ui-font-color1", "editor-foreground"),
    "quiet": _of_hosts("#59636e", "#9da7b3", "ui-font-color2", "descriptionForeground"),
    "back": _of_hosts("#ffffff", "#16191d", "layout-color1", "editor-background"),
    "raise": _of_hosts("#f6f8fa", "#20242a", "layout-color2", "sideBar-background"),
    "line": _of_hosts("#d1d9e0", "#3a4149", "border-color2", "panel-border"),
    "code-back": _of_hosts("#f6f8fa", "#20242a", "cell-editor-background", "textCodeBlock-background"),
    "desk": Colour("#ffffff", "#0e1013"),
    "brand": Colour("#0b62b8", "#79b8ff"),
    "error": Colour("#b3261e", "#ff9a92"),
    "warning": Colour("#8a5a00", "#f0bf5c"),
    "info": Colour("#0b62b8", "#8cc2ff"),
    "good": Colour("#1a6e36", "#7ed69a"),
    "error-back": Colour("#fdeceb", "#45201e"),
    "warning-back": Colour("#fff4dc", "#40310f"),
    "info-back": Colour("#e8f1fb", "#17304a"),
    "good-back": Colour("#e5f5ea", "#16351f"),
    "select": Colour("#dbeafe", "#1f3b5c"),
    "mark": Colour("#ffe58f", "#6b5410"),
    "parameters": Colour("#3f7fca", "#5b9ae6"),
    "gradients": Colour("#d0852b", "#e0a04f"),
    "state": Colour("#7d58b8", "#a583dd"),
    "saved": Colour("#3a8f6b", "#5cb892"),
}
"""What stands around the graph: text, severities, kinds of bytes."""

GRAPH: dict[str, Colour] = {
    "paper": _of_hosts("#ffffff", "#15191f", "layout-color0", "editor-background"),
    "ink": Colour("#1f2933", "#e4e9ef"),
    "label": Colour("#566370", "#a7b3bf"),
    "gradient": Colour("#3f74b5", "#6ea3dd"),
    "data": Colour("#9aa5b1", "#66717d"),
    "idle": Colour("#8a95a1", "#7d8894"),
    "hot": Colour("#a8188f", "#f58be0"),
    "heat": Colour("#f08a24", "#f08a24"),
    "frame-0": Colour("#f5f7fa", "#1b2027"),
    "frame-1": Colour("#fcfdfe", "#171b21"),
    "frame-line": Colour("#c3ccd6", "#3a4450"),
    "head": Colour("#e4eaf1", "#29313b"),
    "region": Colour("#b8860b", "#c9a03a"),
    "module-fill": Colour("#dfeaf7", "#1d3049"),
    "module-line": Colour("#5b8cc4", "#4f7db3"),
    "op-fill": Colour("#eff5fc", "#1a2636"),
    "op-line": Colour("#7ea6d4", "#47709f"),
    "still-fill": Colour("#eff1f3", "#20262d"),
    "still-line": Colour("#b3bcc6", "#4d5763"),
    "output-fill": Colour("#d5e3fb", "#1b3a6b"),
    "output-line": Colour("#1f4fa8", "#9cc1ff"),
    "function-fill": Colour("#f0e7fa", "#2a1f36"),
    "function-line": Colour("#8e63b8", "#a98ccc"),
    "step-fill": Colour("#fbe9e0", "#35241a"),
    "step-line": Colour("#b9683a", "#d99a6c"),
    "autograd-fill": Colour("#ffffff", "#15191f"),
    "autograd-line": Colour("#5b8cc4", "#4f7db3"),
    "parameter-fill": Colour("#dff2e4", "#173021"),
    "parameter-line": Colour("#4c9a66", "#4d9a69"),
    "frozen-fill": Colour("#f1f4f2", "#1e2622"),
    "frozen-line": Colour("#9db3a4", "#55665c"),
    "buffer-fill": Colour("#e2f3f3", "#14302f"),
    "buffer-line": Colour("#3f9696", "#5fb5b3"),
    "input-fill": Colour("#ffffff", "#15191f"),
    "input-line": Colour("#7c8896", "#8592a0"),
    "gradient-fill": Colour("#e6f4ea", "#172d20"),
    "gradient-line": Colour("#3d8b55", "#7ccb93"),
    "healed-fill": Colour("#f4f5f6", "#20252b"),
    "healed-line": Colour("#8a95a1", "#7d8894"),
}
"""Boxes and what joins them; a box of a kind is filled with ``<kind>-fill`` and has the outline ``<kind>-line``."""

SCHEMES: dict[str, dict[str, Colour]] = {
    "safe": {
        "error": Colour("#a84300", "#ff9a56"),
        "warning": Colour("#7a5b00", "#f2d54a"),
        "info": Colour("#0060a8", "#6cc4f5"),
        "error-back": Colour("#fdeee3", "#43230c"),
        "warning-back": Colour("#fdf5d0", "#3a320a"),
        "info-back": Colour("#e3f1fb", "#0f3049"),
    },
    "monochrome": {
        "error": Colour("#111111", "#ffffff", ("--jp-ui-font-color0",)),
        "warning": Colour("#3a3a3a", "#dddddd", ("--jp-ui-font-color1",)),
        "info": Colour("#3a3a3a", "#dddddd", ("--jp-ui-font-color1",)),
        "error-back": Colour("#eeeeee", "#333333", ("--jp-layout-color2",)),
        "warning-back": Colour("#eeeeee", "#333333", ("--jp-layout-color2",)),
        "info-back": Colour("#eeeeee", "#333333", ("--jp-layout-color2",)),
    },
}
"""Other colours for severities, where the user's settings ask for them: Okabe and Ito's, or none at all."""
