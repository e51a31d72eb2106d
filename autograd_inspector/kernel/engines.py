"""Engines of ipyparallel: kernels without a front end, whose outputs another kernel shows.

An engine sends its report as data, as one more media type of the output; the kernel that shows it merges those of all
engines (frontends/notebook/engines.py).
"""

from __future__ import annotations

import sys
import zlib
from base64 import b64decode, b64encode
from typing import Any

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.views.archive import encode
from autograd_inspector.views.notebook.saved import CAPTURE

PART = "application/vnd.autograd-inspector.engine+json"


def engine_id() -> int:
    """Which engine this process is, -1 where it is none."""
    module = sys.modules.get("ipyparallel.engine.kernel")
    ipython = sys.modules.get("IPython")
    if module is None or ipython is None:
        return -1
    kernel = getattr(ipython.get_ipython(), "kernel", None)
    return int(kernel.engine_id) if isinstance(kernel, module.IPythonParallelKernel) else -1


def sent_by_engine(report: ReportData, bundle: dict[str, Any]) -> dict[str, Any]:
    """A report's bundle, in an engine with the report itself."""
    engine = engine_id()
    if engine < 0:
        return bundle
    text = b64encode(zlib.compress(encode(report).encode())).decode()
    return {kind: data for kind, data in bundle.items() if kind != CAPTURE} | {PART: {"engine": engine, "text": text}}


def read_part(part: Any) -> tuple[int, bytes]:
    """The engine, and its report's JSON; raises ValueError, or zlib.error, for what is no such part."""
    try:
        return int(part["engine"]), zlib.decompress(b64decode(part["text"]))
    except (TypeError, KeyError) as error:
        raise ValueError(f"not the report of an engine: {error}") from None
