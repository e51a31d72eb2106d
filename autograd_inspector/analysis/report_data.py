"""What views show: a capture, what the rules concluded from it, and the graph that is drawn of it."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.gradients.origins import GradientOrigin, gradient_origins
from autograd_inspector.analysis.memory.checkpointing import checkpoint_savings
from autograd_inspector.analysis.merged_graph.merge import graph_of
from autograd_inspector.analysis.merged_graph.version_edges import version_edges
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.checkpoint_saving import CheckpointSaving
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.graph import Graph, VersionEdge
from autograd_inspector.model.placement import Placement
from autograd_inspector.model.rule_page import RulePage
from autograd_inspector.model.steps_history import History
from autograd_inspector.model.vitals import Vitals

SCHEMA = 3
"""Version of the JSON form; a reader knows the earlier ones, and refuses later ones."""


class ReportData(Struct, frozen=True, dict=True):
    """The records of one inspection (``capture``) and its findings (``findings``, most severe first)."""

    capture: Capture
    findings: tuple[Finding, ...] = ()
    ignored: int = 0
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA
    pages: tuple[RulePage, ...] = ()
    """The documentation pages of the rules that reported a finding."""

    @cached_property
    def graph(self) -> Graph:
        """Ops joined with the autograd nodes they created; built on first use."""
        return graph_of(self.capture)

    @cached_property
    def version_edges(self) -> tuple[VersionEdge, ...]:
        """Who modified what a node of the graph had saved for backward."""
        return version_edges(self.capture, self.graph)

    @cached_property
    def gradient_origins(self) -> dict[int, GradientOrigin]:
        """Parameter -> the losses that its gradient came from in its last optimizer step."""
        return gradient_origins(self.capture)

    @cached_property
    def checkpoint_savings(self) -> tuple[CheckpointSaving, ...]:
        """What activation checkpointing would free, of each module and of siblings together; the largest first.

        Counted from the saved tensors of the graph of one step, the one that holds the most.
        """
        return checkpoint_savings(self.capture)

    @property
    def placement(self) -> Placement:
        """One row per parameter: the devices and dtypes of the parameter, its gradient and its optimizer state."""
        return self.capture.placement

    @property
    def history(self) -> History:
        """One entry per training step, including steps whose records are folded."""
        return self.capture.history

    @property
    def vitals(self) -> Vitals:
        """Gradient norms, updates, activations and memory over the steps; empty without ``values=True``."""
        return self.capture.vitals
