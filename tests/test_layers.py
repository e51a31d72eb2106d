"""The one-way flow: capture -> model -> rules -> views, read off the import statements."""

import ast
import re
from pathlib import Path

import pytest

import autograd_inspector

PACKAGE = Path(autograd_inspector.__file__).parent
NAME = PACKAGE.name
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports_of(path):
    """Every module that a file imports, anywhere in it, by its full name."""
    package = [NAME, *path.relative_to(PACKAGE).parent.parts]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from package import name` may import a module of that name.
            found += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return found


def layer_of(module):
    """``rules`` of ``autograd_inspector.rules.ag201_saved_tensor_modified.rule``; "" when it is not ours."""
    parts = module.split(".")
    return parts[1] if parts[0] == NAME and len(parts) > 1 else ""


def files_of(layer):
    return [path for path in MODULES if path.relative_to(PACKAGE).parts[0] == layer]


def identifier(path):
    return path.relative_to(PACKAGE).as_posix()


def test_the_layers_exist():
    """The tests below look at something."""
    assert all(files_of(layer) for layer in ("capture", "source", "model", "rules", "views"))


def test_the_reader_of_imports_sees_every_form(tmp_path):
    """Plain, aliased, relative, inside functions: all are found."""
    source = (
        "import torch.nn as nn\nfrom torch import Tensor\ndef f():\n    from ..model import op\n    import os, re\n"
    )
    path = PACKAGE / "rules" / "imagined.py"
    found = imports_of(type("File", (), {"relative_to": path.relative_to, "read_text": lambda *_, **__: source})())
    assert {"torch.nn", "torch", f"{NAME}.model.op", "os", "re"} <= set(found)


@pytest.mark.parametrize("path", MODULES, ids=identifier)
def test_torch_is_imported_only_where_tensors_are_touched(path):
    """Only capture/ and integrations/ import torch, and the door that takes a live tensor or optimizer."""
    parts = path.relative_to(PACKAGE).parts
    if parts[0] not in {"capture", "integrations"} and parts != ("api", "inspect_live.py"):
        assert [name for name in imports_of(path) if name.split(".")[0] == "torch"] == []


LOW = {"arrival", "interrupts", "messages", "own_files", "raised"}
"""What waits for Dynamo; whether a signal handler raised it; what an exception says, and keeps; our own code."""
SEES = {
    "source": set(),
    "model": set(),
    "capture": {"model", "source"},
    "edits": {"model", "source"},
    "analysis": {"model", "source"},
    "advice": {"analysis", "model", "source"},
    "rules": {"advice", "analysis", "model"},
    "views": {"analysis", "model"},
    "kernel": {"views", "rules", "analysis", "model"},
    "api": {"kernel", "views", "rules", "edits", "analysis", "capture", "model"},
    "integrations": {"api", "kernel", "views", "capture", "model"},
    "frontends": {"integrations", "api", "kernel", "views", "rules", "capture", "model"},
}
"""Room -> the rooms whose modules it may import, TYPE_CHECKING blocks included.

What advice writes for the user in the program's own expressions is made from their syntax, so it sees source/.
"""


@pytest.mark.parametrize("layer", SEES)
def test_a_room_sees_only_what_is_before_it(layer):
    """What flows one way is imported one way: a room knows those that the data passed before it."""
    strangers = {
        f"{identifier(path)} imports {name}"
        for path in files_of(layer)
        for name in imports_of(path)
        if layer_of(name) and layer_of(name) not in SEES[layer] | LOW | {layer, "__version__"}
    }
    assert strangers == set()


def test_no_rule_imports_another():
    """What two rules share lies in analysis/ or advice/."""
    shared = {"catalogue", "causes", "order", "unread"}
    strangers = set()
    for path in files_of("rules"):
        own = path.relative_to(PACKAGE / "rules").parts[0].removesuffix(".py")
        for name in imports_of(path):
            other = name.split(".")[2:3]
            if layer_of(name) == "rules" and other and own not in shared | {"__init__"} and other[0] != own:
                strangers.add(f"{identifier(path)} imports {name}")
    assert strangers == set()


def names_of(paths):
    """Module name -> file."""
    named = {".".join((NAME, *path.relative_to(PACKAGE).with_suffix("").parts)): path for path in paths}
    return {name.removesuffix(".__init__"): path for name, path in named.items()}


def leads_of(paths):
    """Module -> the modules that it imports."""
    names = names_of(paths)
    leads = {name: {other for other in imports_of(path) if other in names} - {name} for name, path in names.items()}
    # A package is imported with each of its modules: only what names it and nothing in it asks for its own code.
    return {
        name: {other for other in found if not any(inner.startswith(f"{other}.") for inner in found)}
        for name, found in leads.items()
    }


def circles(leads):
    """Groups of which each can be reached from each other one."""
    reached = {}
    for name in leads:
        seen, todo = set(), [name]
        while todo:
            for other in leads.get(todo.pop(), set()) - seen:
                seen.add(other)
                todo.append(other)
        reached[name] = seen
    return {frozenset(other for other in reached[name] if name in reached.get(other, ())) for name in leads} - {
        frozenset()
    }


def rooms_of(leads, depth):
    """The same, of the folders that many levels deep, and of the modules that lie no deeper."""
    rooms = {}
    for name, found in leads.items():
        room = ".".join(name.split(".")[: depth + 1])
        rooms.setdefault(room, set()).update(".".join(other.split(".")[: depth + 1]) for other in found)
    return {room: found - {room, NAME} for room, found in rooms.items() if room != NAME}


def test_no_modules_import_each_other():
    """No circle anywhere, imports inside functions and for type checkers alone included."""
    assert circles(leads_of(MODULES)) == set()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_no_rooms_import_each_other(depth):
    """At any depth: the data passes a room once."""
    assert circles(rooms_of(leads_of(MODULES), depth)) == set()


def test_circles_are_found():
    """Of two, of three, and of rooms whose modules are in none."""
    assert circles({"a": {"b"}, "b": {"a"}, "c": {"a"}}) == {frozenset("ab")}
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == {frozenset("abc")}
    apart = {f"{NAME}.x.one": {f"{NAME}.y.one"}, f"{NAME}.y.two": {f"{NAME}.x.two"}, f"{NAME}.y.one": set()}
    assert circles(apart) == set()
    assert circles(rooms_of(apart, 1)) == {frozenset({f"{NAME}.x", f"{NAME}.y"})}


FRONT = PACKAGE.parent / "labextension" / "src"


def test_no_modules_of_the_front_end_import_each_other():
    """Of TypeScript either, types included."""
    files = {path.with_suffix("").as_posix(): path for path in FRONT.rglob("*.ts")}
    leads = {name: set() for name in files}
    for name, path in files.items():
        for link in re.findall(r"""(?:from|import)\s*\(?\s*["'](\.[^"']+)["']""", path.read_text(encoding="utf-8")):
            target = (path.parent / link).resolve().as_posix()
            leads[name] |= {target, f"{target}/index"} & set(files)
    assert sum(map(len, leads.values())) > len(files)
    assert circles(leads) == set()
