"""Who is told of the hub's comm, and when."""

from __future__ import annotations

import comm
import pytest

from autograd_inspector.kernel.hub.channel import Channel
from autograd_inspector.kernel.hub.hub import Hub
from autograd_inspector.kernel.hub.messages import HUB


class Pipe:
    """A comm that notes what goes through it."""

    def __init__(self, target_name, *, primary):
        assert not primary, "it would tell everybody at once"
        self.target_name, self.comm_id, self.sent, self.closed = target_name, "hub", [], lambda _: None

    def on_close(self, callback):
        self.closed = callback

    def open(self, data):
        self.sent.append(("open", data["type"]))

    def send(self, data):
        self.sent.append(("message", data["type"]))

    def close(self):
        self.sent.append(("close", ""))


class Manager:
    """The kernel's list of comms, which a page asks for."""

    def __init__(self):
        self.comms = []

    def register_comm(self, made):
        self.comms.append(made)


@pytest.fixture
def comms(monkeypatch):
    manager = Manager()
    monkeypatch.setattr(comm, "create_comm", Pipe)
    monkeypatch.setattr(comm, "get_comm_manager", lambda: manager)
    return manager.comms


def channel(pages):
    """A channel; `pages` is whether a page asked for what runs."""
    return Channel(Hub().listing, lambda: bool(pages))


def test_without_a_page_nobody_is_told_of_it(comms):
    """It can be asked for, and what is sent reaches who has asked; nbclient would warn of one that is opened."""
    made = channel([])
    made.open()
    made.tell(Hub().listing())
    assert [(pipe.target_name, pipe.sent) for pipe in comms] == [(HUB, [("message", "list")])]


def test_a_page_is_told_with_everything(comms):
    """Once, as soon as one asks for a cell: the message that made it so is part of what it is told."""
    pages = []
    made = channel(pages)
    made.open()
    pages.append("page")
    made.tell(Hub().listing())
    made.tell(Hub().listing())
    assert comms[-1].sent == [("open", "list"), ("message", "list")]


def test_a_page_that_closes_it_gets_another(comms):
    """A front end that knows nothing of hubs has closed the first."""
    made = channel(["page"])
    made.open()
    comms[0].closed({})
    made.tell(Hub().listing())
    assert [pipe.sent for pipe in comms] == [[("open", "list")], [("open", "list")]]
