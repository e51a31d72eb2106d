"""The promises are about the inspector as users run it: its own failures are warnings, not exceptions."""

import pytest


@pytest.fixture(autouse=True)
def as_users_run_it(monkeypatch):
    """Not strict."""
    monkeypatch.delenv("AUTOGRAD_INSPECTOR_STRICT", raising=False)
