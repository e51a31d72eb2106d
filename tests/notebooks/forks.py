"""A plugin of pytest: kernels are forks that have imported what tutorials import, and so is the Python they start."""

import os
import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from tests.forked import executable, python
from tests.forked.kernels import MODULES, write_spec

LIBRARIES = ("lightning.pytorch", "transformers.trainer", "peft", "trl.trainer.sft_trainer")
STACK = ExitStack()


def pytest_configure(config):
    """Processes that pytest spreads the tutorials over have it from the first, in the environment."""
    if hasattr(config, "workerinput"):
        return
    modules = (*MODULES, *(name for name in LIBRARIES if find_spec(name.partition(".")[0])))
    folder = Path(STACK.enter_context(tempfile.TemporaryDirectory()))
    write_spec(folder / "kernels" / "python3", python(modules), executable(modules))
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("JUPYTER_PATH"))))


def pytest_unconfigure(config):
    """The folder of the kernels goes with the tests."""
    STACK.close()
