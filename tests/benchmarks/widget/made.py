"""Writes what another tool makes of a graph: ``python -m tests.benchmarks.widget.made dot|torchvista NAME PATH``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from .programs import SIZES, captured, program


def main(what: str, name: str, path: Path) -> None:
    if what == "dot":
        graph = captured(*SIZES[name]).graph
        nodes = "".join(f'{node.id} [label="{node.id}"]\n' for node in graph.nodes)
        # A step reads every parameter: with those edges dot draws for minutes.
        steps = {node.id for node in graph.nodes if node.kind == "step"}
        edges = "".join(f"{edge.source} -> {edge.target}\n" for edge in graph.edges if edge.target not in steps)
        path.write_text(f"digraph {{\nnode [shape=box]\n{nodes}{edges}}}\n")
        return
    from torchvista import trace_model

    subject = program(*SIZES[name])
    started = time.perf_counter()
    trace_model(subject.module, (subject.example,), export_format="html", export_path=str(path))
    (path.parent / "seconds").write_text(str(time.perf_counter() - started))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
