"""The inspector's own failures surface here instead of becoming a note."""

import pytest


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGRAD_INSPECTOR_STRICT", "1")
