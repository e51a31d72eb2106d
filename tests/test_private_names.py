"""Every name that torch calls private is declared in capture/torch_private, and only there: read off the source."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed.distributed_c10d
import torch.distributed.tensor
import torch.utils.checkpoint
from torch import nn
from torch.nn.modules import _functions

import autograd_inspector
from autograd_inspector.capture import session  # noqa: F401 - what it imports declares the names
from autograd_inspector.capture.torch_private import distributed, resolving
from autograd_inspector.model.torch_names import SAVES_INPUTS

PACKAGE = Path(autograd_inspector.__file__).parent
HOME = PACKAGE / "capture" / "torch_private"
SPELLED = PACKAGE / "model" / "torch_names.py"
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if HOME not in path.parents and path != SPELLED]
PRIVATE = re.compile(r"_[A-Za-z]\w*")

OTHERS = {
    "_repr_mimebundle_": "IPython",
    "_value_": "enum",
    "_optimizers": "accelerate",
    "_attributes": "ast",
    "_actions": "argparse",
}
"""Private attributes of objects of other libraries."""


def declared():
    return {re.split(r"[.:]", path)[-1] for path in resolving.TABLE}


def torchs():
    """The private names that torch's own objects have."""
    owners = [
        torch,
        torch._C,
        torch.Tensor,
        torch.UntypedStorage,
        torch.overrides,
        torch.autograd,
        torch.autograd.graph,
        torch.utils.checkpoint,
        torch.distributed.distributed_c10d,
        torch.distributed.tensor.DTensor,
        torch._C._FunctionBase,
        torch._C._functions.ExpBackward0,
        nn.Module,
        torch.optim.Optimizer,
        _functions,
    ]
    found = {name for owner in owners for name in (*dir(owner), *getattr(owner, "__annotations__", {}))}
    return {name for name in found if PRIVATE.fullmatch(name) and not name.startswith("__")}


def names_of_modules(tree):
    """(what a file calls torch's modules and their contents, what it calls other modules and its own classes)."""
    torchs, others = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                (torchs if first == "torch" else others).add(alias.asname or first)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            torchs |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            others.add(node.name)
    return torchs, others


def imports_of(tree):
    """``torch._C.DisableTorchFunction`` of ``from torch._C import DisableTorchFunction``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_private(name):
    return PRIVATE.fullmatch(name) is not None and not name.startswith("__")


def undeclared(source):
    """The private names of torch's that a file of the package uses by itself."""
    tree = ast.parse(source)
    known, strings = declared(), torchs()
    modules, others = names_of_modules(tree)
    found = {name for name in imports_of(tree) if name.startswith("torch.") and any(map(is_private, name.split(".")))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            root = ast.unparse(node).split(".")[0]
            elsewhere = root in {"self", "cls", *others} or node.attr in OTHERS or node.attr in known
            if root in modules or not elsewhere:
                found.add(ast.unparse(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in strings:
            found.add(repr(node.value))
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_private_names_of_torch_come_from_their_tables(path):
    """No file imports one or reads one of a module; what is read of objects inline has a declared name."""
    assert undeclared(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    "source",
    [
        "from torch._C import DisableTorchFunction",
        "from torch.overrides import _push_mode",
        "import torch._dynamo",
        "import torch\nswitch = torch._C._set_grad_enabled",
        "from torch import nn\nnn.Module._made_up",
        "def f(tensor):\n    return tensor._local_scalar_dense",
        "def f(tensor):\n    return getattr(tensor, '_base', None)",
    ],
)
def test_a_name_of_its_own_in_a_file_is_seen(source):
    """Imported, read of a module, read of an object, or spelled."""
    assert undeclared(source)


def test_what_is_no_name_of_torchs_is_left_alone():
    """The package's own private names, and those of other modules."""
    assert undeclared("import sys\nclass A:\n    def f(self):\n        return self._base, sys._getframe()") == set()


def test_every_declared_name_is_there():
    """A name that this torch lacks is told by the declaration; one that is misspelt would always be told."""
    importlib.import_module("torch._dynamo.eval_frame")
    importlib.import_module(distributed.ZERO)
    missing = {path for path, name in resolving.TABLE.items() if name.missing}
    assert missing <= {f"torch.utils.checkpoint:{SAVES_INPUTS}"}
    assert list(resolving.notes()) == []


def test_no_name_is_declared_twice():
    """Its use, its fallback and its note stand in one place."""
    code = (
        "from autograd_inspector.capture.torch_private import resolving\n"
        "seen, declare = [], resolving._declare\n"
        "resolving._declare = lambda name: (seen.append(name.path), declare(name))[1]\n"
        "import autograd_inspector.capture.session, autograd_inspector.capture.gathering\n"
        "import autograd_inspector.capture.existing, autograd_inspector.capture.checkpoint_files.opening\n"
        "print(*sorted({path for path in seen if seen.count(path) > 1}), len(seen) > 50)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]
