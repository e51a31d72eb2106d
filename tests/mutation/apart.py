"""Calls functions in forks, one after the other: a planted fault may leave any global of torch changed."""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from tests.fuzz.faithful.apart import ended

LIMIT = 60.0
"""Seconds for one call."""


class Failed(Exception):
    """The call, not the program in it, raised, died or took too long."""


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns in a fork, as JSON gives it back."""
    gc.collect()
    gc.freeze()  # What was here before is none of the program's.
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(writer, function, arguments)
    os.close(writer)
    lines, status = ended(child, reader, LIMIT)
    if not lines:
        raise Failed(f"no answer (signal {os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0})")
    answer = json.loads("".join(lines))
    if "failed" in answer:
        raise Failed(answer["failed"])
    return answer["value"]


def _answer(writer: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.stdout = sys.stderr = os.fdopen(quiet, "w")
    try:
        answer = {"value": function(*arguments)}
    except BaseException:  # It must not leave the fork.
        answer = {"failed": traceback.format_exc()}
    with os.fdopen(writer, "w") as out:
        json.dump(answer, out)
    os._exit(0)


def spread(function: Callable[[Any], Any], work: Sequence[Any], jobs: int) -> Iterator[Any]:
    """What the function returns for each piece of work, as it is done, from so many processes."""
    jobs = max(1, min(jobs, len(work)))
    readers: dict[int, bytes] = {}
    children = []
    for number in range(jobs):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _work(function, work[number::jobs], writer)
        os.close(writer)
        readers[reader] = b""
        children.append(child)
    while readers:
        for reader in select.select(list(readers), [], [])[0]:
            more = os.read(reader, 1 << 16)
            *lines, readers[reader] = (readers[reader] + more).split(b"\n")
            yield from (json.loads(line) for line in lines)
            if not more:
                os.close(reader)
                del readers[reader]
    for child in children:
        if os.waitpid(child, 0)[1]:
            raise Failed("a process died with its work undone")


def _work(function: Callable[[Any], Any], work: Sequence[Any], writer: int) -> NoReturn:
    status = 1
    try:
        with os.fdopen(writer, "w") as out:
            for piece in work:
                print(json.dumps(function(piece)), file=out, flush=True)
        status = 0
    except BaseException:  # It must not leave the fork.
        traceback.print_exc()
    finally:
        os._exit(status)
