"""Tries programs in processes of their own: some kill torch all by themselves, or never end."""

from __future__ import annotations

import json
import os
import select
import signal
import traceback
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NoReturn

from .drawing import program_of
from .oracle import TRIED, Difference
from .running import run
from .searching import tried

LIMIT = 120.0
"""Seconds for one program, and for making a difference small."""


def tried_apart(seeds: Sequence[int]) -> None:
    """Check the programs of those seeds; raises Difference, also for one that dies under the inspector only."""
    left = list(seeds)
    while left:
        lines, status = _child(left)
        done = [json.loads(line) for line in lines if line.endswith("\n")]
        for entry in done:
            TRIED.update(entry.get("tried", {}))
        difference = next((entry["difference"] for entry in done if "difference" in entry), None)
        if difference is not None:
            raise Difference(difference)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            return
        died = left[len(done)]
        if not _dies_plainly(died):
            signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            raise Difference(
                f"seed {died}, after {len(done)} programs in its process: it dies or hangs under the inspector (signal "
                f"{signalled}), and not without"
            )
        TRIED["that kill the process by themselves"] += 1
        left = left[len(done) + 1 :]


def _child(seeds: Sequence[int]) -> tuple[list[str], int]:
    """What a fork has written, a line a program, and how it ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _report(seeds, writer)
    os.close(writer)
    return ended(child, reader, LIMIT)


def ended(child: int, reader: int, limit: float) -> tuple[list[str], int]:
    """What a fork wrote until it ended, and how; one that says nothing for too long is killed."""
    text = b""
    try:
        while select.select([reader], [], [], limit)[0]:
            more = os.read(reader, 1 << 16)
            if not more:
                break
            text += more
        else:
            os.kill(child, signal.SIGKILL)
    finally:
        os.close(reader)
    return text.decode().splitlines(keepends=True), os.waitpid(child, 0)[1]


def _report(seeds: Sequence[int], writer: int) -> NoReturn:
    for seed in seeds:
        before = Counter(TRIED)
        try:
            tried(seed)
            entry: dict[str, object] = {"tried": TRIED - before}
        except BaseException as error:  # It must not leave the fork.
            is_difference = isinstance(error, Difference)
            entry = {"difference": str(error) if is_difference else traceback.format_exc()}
        os.write(writer, (json.dumps(entry) + "\n").encode())
        if "difference" in entry:
            break
    os._exit(0)


def _dies_plainly(seed: int) -> bool:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            run(program_of(Random(seed)), inspected=False)
        finally:
            os._exit(0)
    os.close(writer)
    return not os.WIFEXITED(ended(child, reader, LIMIT)[1])
