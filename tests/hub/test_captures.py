from __future__ import annotations

import gc
import threading
import tracemalloc

import pytest
from msgspec.structs import replace

from autograd_inspector import Report
from autograd_inspector.kernel.hub import captures, entries
from autograd_inspector.kernel.hub.captures import ReleasedCaptureError, UnknownCaptureError
from autograd_inspector.kernel.hub.sizes import held_bytes
from autograd_inspector.kernel.widget import widget_of
from tests.widget import programs

from .conftest import capture


def names(hub):
    return [entry.name or entry.id for entry in hub.captures.entries()]


def test_the_newest_comes_first(hub):
    """In the list as in the messages: each tells its entry, with a revision one higher."""
    one, two = hub.captures.add(capture()), hub.captures.add(capture())
    assert [entry.id for entry in hub.captures.entries()] == [two, one]
    assert hub.sent.kinds == ["changed", "changed"]
    assert [message.revision for message in hub.sent] == [1, 2]
    assert hub.listing().revision == 2


def test_a_report_shown_again_is_the_same_capture(hub):
    """One entry, one message."""
    report = capture()
    assert hub.captures.add(report) == hub.captures.add(report)
    assert len(hub.sent) == 1


def test_the_oldest_go_when_there_are_too_many(hub):
    """Beyond the limit; the front ends hear of it, and the reports are let go."""
    first = capture()
    hub.captures.limit(3)
    identities = [hub.captures.add(first), *(hub.captures.add(capture()) for _ in range(4))]
    assert [entry.id for entry in hub.captures.entries()] == identities[:1:-1]
    assert [message.ids for message in hub.sent if message.type == "removed"] == [(identities[0],), (identities[1],)]
    with pytest.raises(UnknownCaptureError, match="gone"):
        hub.captures.report(identities[0])


def test_those_whose_cell_ran_again_go_first(hub, monkeypatch):
    """Their widgets are closed; a widget that still stands under its cell is not, though the list has it no more."""
    monkeypatch.setattr("autograd_inspector.kernel.widget.asset", lambda _name: "export default {}")
    cells = iter(["a", "b", "b", "c", "d"])
    made = entries.entry_of
    monkeypatch.setattr(captures, "entry_of", lambda *args: replace(made(*args), cell_id=next(cells)))
    reports = [capture() for _ in range(5)]
    widgets = [widget_of(report) for report in reports]
    identities = [hub.captures.add(report) for report in reports]
    hub.captures.limit(4)
    assert [entry.id for entry in hub.captures.entries()] == [identities[n] for n in (4, 3, 2, 0)]
    assert widgets[1].comm is None
    hub.captures.limit(3)
    assert [entry.id for entry in hub.captures.entries()] == [identities[n] for n in (4, 3, 2)]
    assert widgets[0].comm is not None


def test_what_is_pinned_stays(hub):
    """However many come after it; unpinned it is one of the old ones again."""
    hub.captures.limit(2)
    kept = hub.captures.add(capture())
    hub.captures.pin(kept, on=True)
    for _ in range(5):
        hub.captures.add(capture())
    assert len(hub.captures.entries()) == 3
    assert hub.captures.entries()[-1].pinned
    hub.captures.clear()
    assert [entry.id for entry in hub.captures.entries()] == [kept]
    hub.captures.pin(kept, on=False)
    hub.captures.clear()
    assert hub.captures.entries() == ()


def test_a_name_of_ones_own(hub):
    """Shown instead of the cell; cut at 200 characters; an empty one is none."""
    identity = hub.captures.add(capture())
    hub.captures.rename(identity, "  before the fix " + "x" * 500)
    assert names(hub)[0].startswith("before the fix")
    assert len(names(hub)[0]) == 200
    assert hub.captures.name_of(identity) == names(hub)[0]
    hub.captures.rename(identity, " ")
    assert hub.captures.name_of(identity) == hub.captures.entries()[0].cell


def test_deleting_twice_is_no_mistake(hub):
    """Two browser tabs may ask for the same."""
    identity = hub.captures.add(capture())
    hub.captures.delete((identity,))
    hub.captures.delete((identity, "never"))
    assert hub.sent.kinds == ["changed", "removed"]


def test_memory_is_flat(hub):
    """200 captures made and deleted leave no report behind."""
    gc.collect()
    before = sum(type(thing) is Report for thing in gc.get_objects())
    for _ in range(200):
        hub.captures.delete((hub.captures.add(capture()),))
    hub.sent.clear()
    gc.collect()
    assert sum(type(thing) is Report for thing in gc.get_objects()) <= before


@pytest.fixture
def built(monkeypatch):
    """Stands in for a built front end."""
    monkeypatch.setattr("autograd_inspector.kernel.widget.asset", lambda _name: "export default {}")


def kept(hub):
    """Which of the listed captures the kernel still has, newest first."""
    return [not entry.released for entry in hub.captures.entries()]


def test_large_captures_are_released_but_listed(hub):
    """Beyond so many bytes the oldest goes first, the newest never; its row says so, and who asks is told in a line."""
    reports = [capture() for _ in range(4)]
    hub.captures.keep_bytes = 2 * held_bytes(reports[0])
    identities = [hub.captures.add(report) for report in reports]
    assert kept(hub) == [True, True, False, False]
    with pytest.raises(ReleasedCaptureError, match=r"^[^\n]*Run its cell again, and pin the captures to keep$"):
        hub.captures.report(identities[0])
    changed = [message.entry for message in hub.sent if message.type == "changed" and message.entry.released]
    assert [entry.id for entry in changed] == identities[:2]
    hub.captures.keep_bytes = 0
    last = hub.captures.add(capture())
    assert kept(hub) == [True, False, False, False, False]
    assert hub.captures.report(last)
    hub.captures.delete(tuple(identities))
    assert [entry.id for entry in hub.captures.entries()] == [last]


def test_what_is_pinned_is_not_released(hub):
    """However many bytes it takes."""
    identity = hub.captures.add(capture())
    hub.captures.pin(identity, on=True)
    hub.captures.keep_bytes = 0
    hub.captures.add(capture())
    assert kept(hub) == [True, True]


@pytest.mark.usefixtures("built")
def test_what_nobody_sees_is_released_first(hub):
    """Its widget is closed; one that still stands under its cell is closed when its output is cleared."""
    reports = [capture() for _ in range(3)]
    widgets = [widget_of(report) for report in reports]
    for report in reports:
        hub.captures.add(report)
    widgets[1]._handle_custom_msg({"command": "shown", "on": False}, [])
    hub.captures.keep_bytes = 2 * held_bytes(reports[0])
    hub.captures.limit(50)
    assert kept(hub) == [True, False, True]
    assert widgets[1].comm is None
    hub.captures.keep_bytes = 0
    hub.captures.limit(50)
    assert kept(hub) == [True, False, False]
    assert widgets[0].comm is not None
    widgets[0]._handle_custom_msg({"command": "shown", "on": False}, [])
    assert widgets[0].comm is None


@pytest.mark.usefixtures("built")
def test_clearing_outputs_frees_the_captures(hub):
    """No report is left of those that were released and are shown no more."""
    gc.collect()
    before = sum(type(thing) is Report for thing in gc.get_objects())
    hub.captures.keep_bytes = 0
    widgets = []
    for _ in range(20):
        report = capture()
        widgets.append(widget_of(report))
        hub.captures.add(report)
    for widget in widgets:
        widget._handle_custom_msg({"command": "shown", "on": False}, [])
    widgets.clear()
    del widget, report
    hub.sent.clear()
    gc.collect()
    # The newest is kept.
    assert sum(type(thing) is Report for thing in gc.get_objects()) <= before + 1


@pytest.mark.usefixtures("built")
def test_a_released_capture_that_is_shown_again_is_a_new_one(hub):
    """Its widget is no longer closed with its view."""
    report = capture()
    first = widget_of(report)
    hub.captures.add(report)
    hub.captures.keep_bytes = 0
    hub.captures.add(capture())
    assert kept(hub) == [True, False]
    assert widget_of(report) is first
    hub.captures.add(report)
    first._handle_custom_msg({"command": "shown", "on": False}, [])
    assert first.comm is not None
    assert kept(hub) == [True, False, False]


def test_a_capture_weighs_what_it_takes():
    """Within a factor of two of what Python allocates for it."""
    text = programs.deep(blocks=60).to_json()
    gc.collect()
    tracemalloc.start()
    report = Report.from_json(text)
    assert report.graph.nodes
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / 2 < held_bytes(report) < 2 * taken


def test_many_threads_at_once(hub):
    """A subshell asks while cells add: nothing is lost, revisions do not repeat."""
    reports = [capture() for _ in range(40)]

    def work(part):
        for report in part:
            identity = hub.captures.add(report)
            hub.captures.rename(identity, "x")
            hub.listing()

    threads = [threading.Thread(target=work, args=(reports[n::4],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(hub.captures.entries()) == 40
    revisions = [message.revision for message in hub.sent]
    assert revisions == list(range(1, 81))
