"""Here a failure of the inspector is a failure of the test."""

import pytest


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """Strict: what the inspector would warn of is raised."""
    monkeypatch.setenv("AUTOGRAD_INSPECTOR_STRICT", "1")
