"""What a front end asks of the hub, and the answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import comm
import msgspec
from msgspec.structs import replace

from autograd_inspector.kernel.hub.entries import culprits
from autograd_inspector.kernel.hub.hub import Hub
from autograd_inspector.kernel.hub.messages import REQUESTS, Answer, Live, Progress, Refusal, Request
from autograd_inspector.kernel.options import Options
from autograd_inspector.kernel.widget import ReportWidget, widget_of
from autograd_inspector.views.exports import writer_of

Send = Callable[[msgspec.Struct], None]
_LARGE = 3_000
"""Nodes from which on an answer may take half a second."""
_LONGEST = 2_000_000
"""Bytes of a source file."""


def listen(hub: Hub) -> None:
    """Answer front ends from now on, in whatever thread their messages arrive."""

    def opened(front: Any, _message: Any) -> None:
        _RequestHandler(hub, front)

    comm.get_comm_manager().register_target(REQUESTS, opened)


class _RequestHandler:
    """Answers one front end."""

    def __init__(self, hub: Hub, opened: Any) -> None:
        self.hub = hub
        self._comm = opened
        self._sending = threading.Lock()
        opened.on_msg(self._asked)

    def _asked(self, message: Any) -> None:
        answered(self.hub, message["content"]["data"], self._send)

    def _send(self, message: msgspec.Struct) -> None:
        with self._sending:
            self._comm.send(msgspec.to_builtins(message))


def answered(hub: Hub, asked: Any, send: Send) -> None:
    """Answer one request, or say in one line why not."""
    try:
        request = msgspec.convert(asked, Request)
    except msgspec.ValidationError as error:
        number = asked.get("id") if isinstance(asked, dict) else None
        send(Refusal("refusal", number if isinstance(number, int) else -1, f"not understood: {error}"))
        return
    try:
        send(_ACTIONS[request.action](hub, request, send))
    except Exception as error:  # noqa: BLE001 - the front end shows it; a traceback would go nowhere
        send(Refusal("refusal", request.id, str(error).partition("\n")[0] or type(error).__name__))


def _list(hub: Hub, request: Request, _send: Send) -> Answer:
    return Answer("answer", request.id, list=hub.listing())


def _show(hub: Hub, request: Request, send: Send) -> Answer:
    (identity,) = request.captures
    report = hub.captures.report(identity)
    nodes = len(report.graph.nodes)
    if nodes >= _LARGE:
        send(Progress("progress", request.id, f"encoding {nodes:,} nodes"))
    with hub.captures.lock:
        return Answer("answer", request.id, widget_of(report).model_id)


def _compare(hub: Hub, request: Request, send: Send) -> Answer:
    if len(request.captures) != 2:  # noqa: PLR2004 - a comparison is of two
        raise ValueError("choose two captures to compare")
    first, second = request.captures
    before, after = hub.captures.report(first), hub.captures.report(second)
    send(Progress("progress", request.id, "comparing two captures"))
    with hub.captures.lock:
        if (first, second) not in hub.comparisons:
            name = hub.captures.name_of(first)
            hub.comparisons[first, second] = ReportWidget(after, compare=before, name=name)
        return Answer("answer", request.id, hub.comparisons[first, second].model_id)


def _rename(hub: Hub, request: Request, _send: Send) -> Answer:
    for identity in request.captures:
        hub.captures.rename(identity, request.name)
    return Answer("answer", request.id)


def _pin(hub: Hub, request: Request, _send: Send) -> Answer:
    for identity in request.captures:
        hub.captures.pin(identity, on=request.on)
    return Answer("answer", request.id)


def _delete(hub: Hub, request: Request, _send: Send) -> Answer:
    hub.captures.delete(request.captures)
    return Answer("answer", request.id)


def _clear(hub: Hub, request: Request, _send: Send) -> Answer:
    hub.captures.clear()
    return Answer("answer", request.id)


def _export(hub: Hub, request: Request, send: Send) -> Answer:
    (identity,) = request.captures
    report = hub.captures.report(identity)
    write = writer_of(request.format)
    send(Progress("progress", request.id, f"writing {request.format.upper()}"))
    return Answer("answer", request.id, write(report))


def _source(hub: Hub, request: Request, _send: Send) -> Answer:
    """Only files that a capture names: a front end may not read others through us."""
    reports = hub.captures.reports()
    named = {f.filename for report in reports for site in report.capture.sites for f in site.frames if f.cell is None}
    if request.path not in named:
        raise ValueError("no capture refers to this file")
    file = Path(request.path)
    if file.stat().st_size > _LONGEST:
        raise ValueError("this file is too large to show")
    return Answer("answer", request.id, file.read_text(encoding="utf-8", errors="replace"))


def _every(hub: Hub, request: Request, _send: Send) -> Answer:
    if hub.watch is None:
        raise ValueError("run `%load_ext autograd_inspector` in this kernel first")
    if request.on:
        hub.watch.begin(Options(values=hub.values))
    else:
        hub.watch.stop()
    hub.tell_settings()
    return Answer("answer", request.id)


def _configure(hub: Hub, request: Request, _send: Send) -> Answer:
    if request.keep is not None:
        hub.captures.limit(request.keep)
    if request.values is not None:
        hub.values = request.values
    hub.tell_settings()
    return Answer("answer", request.id)


def _live(hub: Hub, request: Request, _send: Send) -> Answer:
    progress = None if hub.watch is None else hub.watch.progress()
    if progress is None:
        return Answer("answer", request.id)
    live = Live(hub.watch.label, *progress)
    return Answer("answer", request.id, live=replace(live, marks=culprits(*hub.watch.certain())))


def _stop(hub: Hub, request: Request, _send: Send) -> Answer:
    if hub.watch is None or not hub.watch.stop_recording():
        raise ValueError("no recording is running")
    return Answer("answer", request.id)


_ACTIONS: dict[str, Callable[[Hub, Request, Send], Answer]] = {
    "list": _list,
    "show": _show,
    "compare": _compare,
    "rename": _rename,
    "pin": _pin,
    "delete": _delete,
    "clear": _clear,
    "export": _export,
    "source": _source,
    "every": _every,
    "configure": _configure,
    "live": _live,
    "stop": _stop,
}
