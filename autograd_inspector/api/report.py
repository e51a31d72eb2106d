"""The report: a capture and what the rules conclude from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from autograd_inspector.analysis.compiled_code import compiled_notes
from autograd_inspector.analysis.report_data import SCHEMA, ReportData
from autograd_inspector.api.patches import patch_of, patch_of_edits, patched_files
from autograd_inspector.api.programs import Programs
from autograd_inspector.capture.lines.gutter import text_of
from autograd_inspector.edits.written import written
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.excerpt import excerpts_of
from autograd_inspector.model.rule_page import page_of
from autograd_inspector.model.sound import fault_in
from autograd_inspector.rules import CATALOGUE, findings_of, unignored
from autograd_inspector.views.archive import ReportFormatError, decode, encode, storable, with_tables
from autograd_inspector.views.columnar.resting import at_rest
from autograd_inspector.views.older_schemas import OLDER
from autograd_inspector.views.whole import write_whole

if TYPE_CHECKING:
    from autograd_inspector.api.ranks import RanksReport
    from autograd_inspector.kernel.widget import ReportWidget

__all__ = ["SCHEMA", "Report", "ReportFormatError", "report_of"]

ColorBy = Literal["gradient", "device"]


class Report(ReportData, frozen=True, dict=True):
    """The recording of one inspection (``capture``), its ``findings`` (most severe first), and its output formats."""

    def to_text(self, *, width: int = 100, color: bool = False, order: Literal["model", "bytes"] = "model") -> str:
        """The whole report as text; ``color`` adds ANSI colours for a terminal.

        ``width``: columns, at least 20. ``order`` of the placement table: as in the model, or the largest first. Raises
        ValueError for other values.
        """
        from autograd_inspector.views.text.report import to_text

        return to_text(self, width=width, color=color, order=order)

    def to_json(self) -> str:
        """The whole report as JSON that :meth:`from_json` reads."""
        return encode(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Report:
        """Read a report from JSON, also from an earlier version; raises ReportFormatError if it is not a report."""
        return decode(text, cls, SCHEMA, lambda report: fault_in(report.capture), OLDER, with_tables)

    def patched(self, codes: Iterable[str] | None = None, *, unsafe: bool = True) -> dict[str, str]:
        """File name -> its new text, with the edits that fix the findings; no file is written.

        ``codes`` selects findings by rule (AG201, or AG2 for all of that group); by default errors and warnings.
        ``unsafe=False`` omits edits that may change what the program does. If edits overlap, the edits of the first
        finding are used. A notebook cell is listed under its file name in the kernel. Files without edits are omitted.
        """
        return patched_files(self.findings, None if codes is None else tuple(codes), unsafe=unsafe)

    def to_patch(self, codes: Iterable[str] | None = None, *, unsafe: bool = True) -> str:
        """The same as one unified diff for `git apply` and `patch -p1`; "" if there is nothing to change."""
        return patch_of(self.patched(codes, unsafe=unsafe))

    def to_dot(self, *, boxes: int = 40, color_by: ColorBy = "gradient") -> str:
        """The collapsed graph in the DOT language, with about ``boxes`` boxes at most.

        ``color_by`` chooses the colour of a box: "gradient", whether gradients flow there, or "device", where its
        tensors are. Raises ValueError for other values, and for fewer than one box.
        """
        from autograd_inspector.views.picture.dot import to_dot

        source: str = to_dot(self, boxes=boxes, color_by=color_by).source
        return source

    def to_svg(self, *, boxes: int = 40, color_by: ColorBy = "gradient") -> str:
        """The collapsed graph as SVG; raises GraphvizMissingError if `dot` is not installed."""
        from autograd_inspector.views.picture.dot import to_dot
        from autograd_inspector.views.picture.render import svg_of

        return svg_of(to_dot(self, boxes=boxes, color_by=color_by))

    def render(self, path: str | os.PathLike[str], *, boxes: int = 40, color_by: ColorBy = "gradient") -> Path:
        """Draw the collapsed graph into a file; the suffix sets the format: .svg, .png, .pdf."""
        from autograd_inspector.views.picture.dot import to_dot
        from autograd_inspector.views.picture.render import render

        return render(to_dot(self, boxes=boxes, color_by=color_by), Path(path))

    def to_html(self, path: str | os.PathLike[str] | None = None, *, interactive: bool = False) -> str:
        """The whole report as one static HTML page, also written to ``path``; ``interactive=True`` includes the widget.

        Neither page loads anything from the network. Raises WidgetNotBuiltError for an interactive page in a checkout
        without the built widget.
        """
        from autograd_inspector.views.html.page import to_interactive_html
        from autograd_inspector.views.html.report import to_html

        page = to_interactive_html(self) if interactive else to_html(self)
        if path is not None:
            write_whole(Path(path), page)
        return page

    def widget(self, *, compare: Report | None = None, name: str = "") -> ReportWidget:
        """The interactive widget; ``compare`` shows another report next to this one, labelled with ``name``.

        Raises WidgetNotBuiltError in a checkout without the built widget.
        """
        from autograd_inspector.kernel.widget import ReportWidget

        return ReportWidget(self, compare=compare, name=name)

    def gather(self, *, timeout: float = 60.0, group: Any = None, captures: bool = False) -> RanksReport:
        """One report of all ranks of a torch.distributed process group; call it on every rank.

        ``placement`` has a column per rank; the column of a rank without parameters is empty. Placement and findings
        are sent as JSON over the group's store (by default the store of the default group): no tensor, no pickle, no
        collective. Without a process group, this is the report of rank 0. Raises TimeoutError on every rank that took
        part, with the ranks that did not respond within ``timeout`` seconds; the group remains usable.

        ``captures``: the whole report of each rank is sent, too, and kept in ``reports``, so that the widget can switch
        between the ranks. Pass the same on every rank; it costs the memory of all reports on each of them.
        """
        from autograd_inspector.api.ranks import gather

        return gather(self, timeout=timeout, group=group, read=Report.from_json if captures else None)

    def _display_(self) -> ReportWidget | str:
        """What marimo shows for a report."""
        from autograd_inspector.views.assets import WidgetNotBuiltError

        try:
            return self.widget()
        except WidgetNotBuiltError:
            return self.to_text()

    def __repr__(self) -> str:
        from autograd_inspector.views.summary import headline

        return f"<Report: {headline(self)}>"

    def _ipython_display_(self) -> None:
        """As the outputs of a notebook cell: what any viewer shows, and below it the widget, where there is one.

        Raises NotImplementedError outside of a notebook: there IPython prints its prompt, and then the bundle.
        """
        from autograd_inspector.kernel.display import display_apart
        from autograd_inspector.kernel.shell import shell_in_kernel

        if shell_in_kernel() is None:
            raise NotImplementedError
        display_apart(self._repr_mimebundle_())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The same as one bundle: who asks shows one of its media types.

        IPython in a terminal prints the text, as wide as the terminal is, in colours.
        """
        from autograd_inspector.kernel.display import terminal, view_of
        from autograd_inspector.kernel.engines import sent_by_engine
        from autograd_inspector.views.notebook.bundle import bundle_of, chosen
        from autograd_inspector.views.text.encodable import encodable

        shown = terminal()
        if shown is not None:
            text = encodable(self.to_text(width=shown.width, color=shown.color), shown.encoding)
            return chosen({"text/plain": text}, include, exclude)
        return chosen(sent_by_engine(self, bundle_of(self, lambda: view_of(self))), include, exclude)


def report_of(
    capture: Capture, *, ignore: tuple[str, ...] = (), progress: Callable[[int, int], None] | None = None
) -> Report:
    """Apply the rules to a capture; ``progress`` is told how many have been applied, and of how many."""
    capture = storable(capture)
    programs = Programs()
    findings, notes = findings_of(capture, progress, lambda problem: written(problem, programs))
    text = cache(text_of)  # Findings of one program share its files.
    kept = tuple(
        replace(
            finding,
            excerpts=excerpts_of(finding.locations, text),
            patch=patch_of_edits(finding.edits, programs),
            alternatives=tuple(
                replace(other, patch=patch_of_edits(other.edits, programs)) for other in finding.alternatives
            ),
        )
        for finding in unignored(findings, ignore)
    )
    pages = tuple(page_of(rule, CATALOGUE[rule].page) for rule in dict.fromkeys(finding.rule for finding in kept))
    return Report(
        at_rest(capture),
        kept,
        len(findings) - len(kept),
        (*capture.notes, *compiled_notes(capture), *notes),
        pages=pages,
    )
