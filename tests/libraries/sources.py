"""Fetches source distributions from the package index that pip is set up with, and unpacks them."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.version import Version

from .catalogue import Library


def cache() -> Path:
    """Where everything is put; nothing of it belongs to the project."""
    base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "autograd-inspector-libraries"


def unpacked(library: Library) -> Path:
    """The folder of the library's source distribution, downloaded on first use."""
    place = cache() / library.name
    if not place.is_dir():
        archive = _downloaded(library)
        partial = place.with_suffix(".partial")
        with tarfile.open(archive) as tar:
            tar.extractall(partial, filter="data")
        partial.rename(place)
    (root,) = place.iterdir()
    return root


def installed(needs: tuple[str, ...]) -> Path:
    """A folder with the packages that this environment lacks."""
    site = cache() / "site"
    site.mkdir(parents=True, exist_ok=True)
    missing = [name for name in needs if not _there(name, site)]
    if missing:
        subprocess.run(
            [*_pip(), "install", "--quiet", "--no-deps", "--target", str(site), *missing], check=True, timeout=900
        )
    return site


def _there(name: str, site: Path) -> bool:
    module = {"scikit-learn": "sklearn", "pillow": "PIL"}.get(name, name.replace("-", "_"))
    return (site / module).exists() or (site / f"{module}.py").exists() or importlib.util.find_spec(module) is not None


def _pip() -> list[str]:
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]


def _index() -> str:
    """The index that pip asks: its configuration's, else its own default."""
    index = os.environ.get("PIP_INDEX_URL")
    if index:
        return index.rstrip("/")
    answer = subprocess.run([*_pip(), "config", "get", "global.index-url"], capture_output=True, text=True, check=False)
    if answer.returncode == 0 and answer.stdout.strip():
        return answer.stdout.strip().rstrip("/")
    from pip._internal.models.index import PyPI

    return str(PyPI.simple_url).rstrip("/")


def _here(name: str) -> str:
    """The version that is installed, "" for none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _rank(filename: str, wanted: str) -> tuple[bool, bool, Version]:
    """The wanted version first, releases before the others, the newest before older ones."""
    release = Version(filename.removesuffix(".tar.gz").rpartition("-")[2])
    return str(release) == wanted, not release.is_prerelease, release


def _downloaded(library: Library) -> Path:
    """The source distribution of the version that is installed here, else the newest; pip would build it first."""
    url = f"{_index()}/{library.name.replace('_', '-')}/"
    request = urllib.request.Request(url, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        files = json.load(answer)["files"]
    sources = [file for file in files if file["filename"].endswith(".tar.gz") and not file.get("yanked")]
    if not sources:
        raise SystemExit(f"{library.name} has no source distribution")
    chosen = max(sources, key=lambda file: _rank(file["filename"], _here(library.name)))
    archive = cache() / chosen["filename"]
    archive.parent.mkdir(parents=True, exist_ok=True)
    if not archive.exists():
        with urllib.request.urlopen(urllib.parse.urljoin(url, chosen["url"]), timeout=300) as answer:
            partial = archive.with_suffix(".partial")
            partial.write_bytes(answer.read())
            partial.rename(archive)
    return archive
