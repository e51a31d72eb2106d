"""Files are written whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from autograd_inspector.views.whole import write_whole


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    """Neither half a file nor a leftover, whenever writing stops: here the disk is full half-way."""
    path = tmp_path / "r.json"
    path.write_text("before")

    def half(self, data):
        with self.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "after" * 1000)
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]


def test_a_reader_never_meets_half_a_file(tmp_path):
    """Writers that replace one file again and again: every read finds one of the whole texts."""
    path = tmp_path / "r.json"
    texts = [letter * 200_000 for letter in "ab"]
    write_whole(path, texts[0])
    done = threading.Event()

    def write(text):
        while not done.is_set():
            write_whole(path, text)

    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    for writer in writers:
        writer.start()
    found = {path.read_text() for _ in range(200)}
    done.set()
    for writer in writers:
        writer.join()
    assert found <= set(texts)
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]


def test_modes_links_and_devices(tmp_path):
    """A new file has the mode that any new file has, a link stays one, and a device is written as it is."""
    plain, path, link = tmp_path / "plain", tmp_path / "r.json", tmp_path / "link.json"
    plain.write_text("")
    write_whole(path, "text")
    assert path.stat().st_mode == plain.stat().st_mode
    link.symlink_to(path)
    write_whole(link, b"bytes")
    assert (link.is_symlink(), path.read_text()) == (True, "bytes")
    write_whole(Path(os.devnull), "text")
    assert not Path(os.devnull).is_file()
