"""What holds for all tests."""

import gc
import os

import pytest

from tests.forked import python
from tests.forked.kernels import MODULES, write_spec


@pytest.fixture(scope="module", autouse=True)
def _only_what_a_module_makes_is_looked_through():
    """Collecting garbage looks at what this module's tests make, not at every library that others have imported."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def _specs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jupyter")
    write_spec(folder / "kernels" / "python3", python(MODULES))
    return folder


@pytest.fixture
def quick_kernels(_specs, monkeypatch):
    """Kernels named python3 are forks: they need not import torch."""
    monkeypatch.setenv("JUPYTER_PATH", str(_specs), prepend=os.pathsep)
