"""Reports of earlier versions as reports of this one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from autograd_inspector.views.version_1.report import of_version_1


def of_version_2(report: Any) -> Any:
    """Version 2 had no tables, and was the same else."""
    return report | {"schema": 3}


OLDER: Mapping[int, Callable[[Any], Any]] = MappingProxyType(
    {1: lambda report: of_version_2(of_version_1(report)), 2: of_version_2}
)
"""Version -> what makes one of the present version of it."""
