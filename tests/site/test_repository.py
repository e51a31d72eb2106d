"""What stands around the code: the conda recipe, templates, hooks, pins."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import autograd_inspector
from scripts.compat import COMBINATIONS, CORE

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
RECIPE = yaml.safe_load((ROOT / ".conda/recipe.yaml").read_text("utf-8"))
CONDA_NAMES = {"torch": "pytorch", "graphviz": "python-graphviz"}
"""Where conda calls a package otherwise."""


def conda(requirement):
    """`torch>=2.10,<3` as the recipe writes it."""
    name, ranges = re.fullmatch(r"([\w-]+)(.*)", requirement).groups()
    return f"{CONDA_NAMES.get(name, name)} {ranges}".strip()


def test_the_recipe_asks_for_what_the_wheel_asks_for():
    """Version, Python, ranges, the command: as pyproject has them."""
    project = PYPROJECT["project"]
    assert RECIPE["context"]["version"] == autograd_inspector.__version__
    assert {conda(one) for one in project["dependencies"]} == set(RECIPE["requirements"]["run"]) - {
        f"python {project['requires-python']}",
        "graphviz",
    }
    assert {conda(one) for one in PYPROJECT["build-system"]["requires"]} <= set(RECIPE["requirements"]["host"])
    [command] = RECIPE["build"]["python"]["entry_points"]
    assert command == "autograd-inspect = " + project["scripts"]["autograd-inspect"]


def test_the_recipe_is_one_of_rattler_build():
    """rattler-build's own parser takes it, where it is installed."""
    build = pytest.importorskip("rattler_build", reason="pip install py-rattler-build (83 MB)")
    recipe = build.Stage0Recipe.from_yaml((ROOT / ".conda/recipe.yaml").read_text("utf-8"))
    [variant] = recipe.render()
    assert "autograd-inspector" in repr(variant)


def test_the_hooks_are_valid():
    """pre-commit takes its file, and each hook runs something that exists here."""
    path = ROOT / ".pre-commit-config.yaml"
    subprocess.run([sys.executable, "-m", "pre_commit", "validate-config", path], check=True)
    entries = [hook["entry"] for repo in yaml.safe_load(path.read_text("utf-8"))["repos"] for hook in repo["hooks"]]
    assert [name for entry in entries for name in re.findall(r"scripts/[\w.]+", entry)] == ["scripts/rule_table.py"]


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_a_template_is_a_form(path):
    """Name, description and fields with ids of their own, of the kinds that code hosts know."""
    form = yaml.safe_load(path.read_text("utf-8"))
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert form["name"]
    assert form["description"]
    assert {field["type"] for field in fields} <= {"input", "textarea", "dropdown", "checkboxes"}
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_each_extra_is_pinned():
    """What an extra asks for has a version in constraints.txt, so that two set-ups are the same."""
    pins = (ROOT / "constraints.txt").read_text("utf-8")
    pinned = {re.sub(r"[-_.]+", "-", name).lower() for name in re.findall(r"^([\w.-]+)==", pins, re.MULTILINE)}
    extras = PYPROJECT["project"]["optional-dependencies"]
    wanted = {re.match(r"[\w.-]+", one)[0].lower() for one in [*extras["docs"], *extras["test"], *extras["lab"]]}
    assert wanted - pinned - {"psutil"} == set()
    assert "://" not in pins


def test_what_compat_tries_is_in_range():
    """Each combination lies in the ranges of the project, the oldest torch among them; its tests exist."""
    classifiers = " ".join(PYPROJECT["project"]["classifiers"])
    assert all(f":: {one.python}" in classifiers for one in COMBINATIONS)
    versions = [tuple(map(int, one.torch.split("."))) for one in COMBINATIONS]
    [lowest] = re.findall(r"torch>=([\d.]+)", " ".join(PYPROJECT["project"]["dependencies"]))
    assert min(versions)[:2] == tuple(map(int, lowest.split(".")))
    assert [path for path in CORE if not (ROOT / path).exists()] == []
