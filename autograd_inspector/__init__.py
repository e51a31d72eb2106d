"""See what autograd recorded: where gradient stops, who spoiled a saved tensor, where optimizer state lives.

PYTEST_DONT_REWRITE: there are no assertions here for pytest to explain; it would warn where we were imported first.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from autograd_inspector.arrival import wait_for_dynamo

if TYPE_CHECKING:
    from autograd_inspector.api.demo import demo
    from autograd_inspector.api.errors import AutogradFindingsError
    from autograd_inspector.api.inspect import inspect
    from autograd_inspector.api.inspect_live import inspect_checkpoint, inspect_graph, inspect_model, inspect_optimizer
    from autograd_inspector.api.merging import merge_reports
    from autograd_inspector.api.preflight import Preflight, PreflightError, PreflightFindingsError, preflight
    from autograd_inspector.api.ranks import RanksReport
    from autograd_inspector.api.report import Report
    from autograd_inspector.model.checkpoint import CheckpointError

    __version__: str

__all__ = [
    "AutogradFindingsError",
    "CheckpointError",
    "Preflight",
    "PreflightError",
    "PreflightFindingsError",
    "RanksReport",
    "Report",
    "__version__",
    "demo",
    "inspect",
    "inspect_checkpoint",
    "inspect_graph",
    "inspect_model",
    "inspect_optimizer",
    "merge_reports",
    "preflight",
]

# Each is imported when it is first asked for: pytest imports this package at every start, for its plugin, and
# a command that only reads a report needs no torch either.
_HOMES = {
    "AutogradFindingsError": "api.errors",
    "CheckpointError": "model.checkpoint",
    "Preflight": "api.preflight",
    "PreflightError": "api.preflight",
    "PreflightFindingsError": "api.preflight",
    "RanksReport": "api.ranks",
    "Report": "api.report",
    "demo": "api.demo",
    "inspect": "api.inspect",
    "inspect_checkpoint": "api.inspect_live",
    "inspect_graph": "api.inspect_live",
    "inspect_model": "api.inspect_live",
    "inspect_optimizer": "api.inspect_live",
    "merge_reports": "api.merging",
    "preflight": "api.preflight",
}

wait_for_dynamo()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value = _version()
    elif name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, "__version__"})


def _version() -> str:
    """The installed version: the build takes it from the front end's package.json, the only place where it is set."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(__name__)
    except PackageNotFoundError:  # A checkout on the path that was not installed.
        return "0+unknown"


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext autograd_inspector`` brings the magics; IPython is imported only here."""
    from autograd_inspector.frontends.notebook.magic import load_ipython_extension as load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext autograd_inspector`` takes everything away again."""
    from autograd_inspector.frontends.notebook.magic import unload_ipython_extension as unload

    unload(shell)
