"""Reports of earlier versions as reports of this one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from autograd_inspector.views.version_1.report import of_version_1

OLDER: Mapping[int, Callable[[Any], Any]] = MappingProxyType({1: of_version_1})
"""Version -> what makes one of the present version of it."""
