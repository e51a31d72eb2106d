"""Compiles the functions in C for the Python that builds the wheel, where it has a compiler; without one all is Python.

Hatchling runs this for each wheel, and for ``pip install -e .``, where the compiled file stays beside its source.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from hashlib import sha256
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("autograd_inspector/capture/native")
SWITCH = "AUTOGRAD_INSPECTOR_PURE_PYTHON"


class NativeHook(BuildHookInterface[Any]):
    """A wheel with the compiled file is for this Python and this platform; one without is for all."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the interface is hatchling's
        """Compile before the files are gathered."""
        target = Path(self.root) / FOLDER / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
        reason = unfit() or compiled(Path(self.root) / FOLDER, target)
        if reason:
            target.unlink(missing_ok=True)
            self.app.display_info(f"autograd_inspector: recording stays in Python: {reason}")
            return
        build_data["artifacts"].append(f"/{(FOLDER / target.name).as_posix()}")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def unfit() -> str:
    """Why this Python is not compiled for; "" where it is."""
    if os.environ.get(SWITCH, "0") not in {"", "0"}:
        return f"{SWITCH} is set"
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "it is compiled for CPython with its lock only"
    return "" if sysconfig.get_config_var("LDSHARED") else "no compiler is known for this platform"


def compiled(folder: Path, target: Path) -> str:
    """Compile the files there into this one at once, so that no process finds half of it; why it failed, or ""."""
    linker = shlex.split(os.environ.get("LDSHARED") or sysconfig.get_config_var("LDSHARED"))
    if "CC" in os.environ:
        linker[:1] = shlex.split(os.environ["CC"])
    elif shutil.which(linker[0]) is None:
        linker[0] = "cc"
    options = [*shlex.split(sysconfig.get_config_var("CCSHARED") or ""), "-O2", "-fvisibility=hidden"]
    made = target.with_name(f"{target.name}.{os.getpid()}")
    sources = sorted(folder.glob("*.[ch]"))
    # By which a process knows that a source is another one now.
    digest = sha256(b"".join([source.read_bytes() for source in sources])).hexdigest()
    files = [str(source) for source in sources if source.suffix == ".c"]
    command = [*linker, *options, f"-I{sysconfig.get_path('include')}", f'-DSOURCE="{digest}"', *files, "-o", str(made)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603
        if done.returncode:
            return f"{command[0]} failed ({next(iter(done.stderr.splitlines()), done.returncode)})"
        made.replace(target)
    except (OSError, subprocess.SubprocessError) as failure:
        return str(failure)
    finally:
        made.unlink(missing_ok=True)
    return ""
