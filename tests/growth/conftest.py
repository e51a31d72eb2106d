"""Growth is counted in Python's own steps: what records in C is not counted, so Python records here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograd_inspector.capture.native.putting_in import pure_python


@pytest.fixture(autouse=True)
def _python_records() -> Iterator[None]:
    with pure_python():
        yield
