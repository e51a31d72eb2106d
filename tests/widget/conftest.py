from __future__ import annotations

import pytest

from autograd_inspector import Report

from . import programs


@pytest.fixture(scope="session")
def broken() -> Report:
    return programs.broken()


@pytest.fixture(scope="session")
def detached() -> Report:
    return programs.detached()


@pytest.fixture(scope="session")
def large() -> Report:
    """More than 3,000 nodes."""
    return programs.deep(blocks=440)
