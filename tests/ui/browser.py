"""The browser that the system has: none is downloaded."""

from __future__ import annotations

import shutil

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


def browser() -> str | None:
    """Where it is."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)
