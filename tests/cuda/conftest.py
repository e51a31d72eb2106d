"""Without a CUDA device none of these tests runs."""

from __future__ import annotations

import pytest
import torch


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip them in one line where there is no device."""
    if torch.cuda.is_available():
        return
    for item in items:
        if "tests/cuda/" in item.path.as_posix():
            item.add_marker(pytest.mark.skip(reason="torch sees no CUDA device"))


@pytest.fixture
def device() -> torch.device:
    """The device of a test, whose memory holds nothing of the tests before."""
    torch.cuda.empty_cache()
    torch.manual_seed(0)
    return torch.device("cuda")
