"""What holds for all tests."""

import gc
import os
import sys

import pytest
import torch

from tests.forked import python
from tests.forked.kernels import MODULES, write_spec

# Programs run in forks, where the threads of torch's pool are not there, and are waited for.
os.environ.setdefault("OMP_NUM_THREADS", "1")
torch.set_num_threads(1)

_LONGEST = {
    *("test_missing_names.py", "test_programs.py", "test_closing.py", "test_mutants.py", "test_warning_places.py"),
    *("test_variants.py", "test_differential.py", "test_depth.py", "test_several_ranks.py", "test_placement.py"),
    *("test_healthy.py", "test_twins.py", "test_practised.py", "test_repairs.py", "test_trainers.py"),
}
"""Files that are begun first: with one of them left at the end, the other processes would wait for it."""


def pytest_collection_modifyitems(items):
    """Put those first, and leave all others in their order."""
    items.sort(key=lambda item: item.path.name not in _LONGEST)


@pytest.fixture(scope="module", autouse=True)
def _only_what_a_module_makes_is_looked_through():
    """Collecting garbage looks at what this module's tests make, not at every library that others have imported."""
    gc.collect()
    gc.freeze()
    _forget_accelerate()


def _forget_accelerate():
    """Accelerate's state is one for the process: a test that accumulates gradients leaves others without a step."""
    if "accelerate" in sys.modules:
        state = sys.modules["accelerate.state"]
        state.AcceleratorState._reset_state(reset_partial_state=True)
        state.GradientState._reset_state()


@pytest.fixture(scope="session")
def _specs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jupyter")
    write_spec(folder / "kernels" / "python3", python(MODULES))
    return folder


@pytest.fixture
def quick_kernels(_specs, monkeypatch):
    """Kernels named python3 are forks: they need not import torch."""
    monkeypatch.setenv("JUPYTER_PATH", str(_specs), prepend=os.pathsep)
