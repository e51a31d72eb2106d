from __future__ import annotations

import contextlib
import json
from types import SimpleNamespace

import msgspec
import pytest
import torch

from autograd_inspector import Report, inspect
from autograd_inspector.frontends.notebook import watch
from autograd_inspector.frontends.notebook.watch import Watch
from autograd_inspector.kernel.hub.messages import PROTOCOL, Listing
from autograd_inspector.kernel.hub.requests import answered
from autograd_inspector.kernel.widget import widget_of
from autograd_inspector.views.wire import WIRE
from tests.widget import programs

from .conftest import capture


@pytest.fixture(autouse=True)
def built(monkeypatch):
    """Stands in for a built front end."""
    monkeypatch.setattr("autograd_inspector.kernel.widget.asset", lambda _name: "export default {}")


def ask(hub, action, *captures, **more):
    """All that the hub answers to a request of id 5."""
    said = []
    answered(hub, {"id": 5, "action": action, "captures": list(captures), **more}, said.append)
    assert all(message.id == 5 for message in said)
    return said


def refused(said):
    (message,) = said
    assert message.type == "refusal"
    assert "\n" not in message.text
    return message.text


def test_the_list(hub):
    """Captures, settings, and the versions that the front end compares with its own."""
    hub.captures.add(capture())
    (answer,) = ask(hub, "list")
    listing = answer.list
    assert (listing.protocol, listing.wire) == (PROTOCOL, WIRE)
    assert len(listing.captures) == 1
    assert not listing.every
    assert msgspec.convert(json.loads(msgspec.json.encode(listing)), Listing) == listing


def test_show_answers_with_the_reports_own_widget(hub):
    """The same model wherever it is shown; a large one says that it takes a while."""
    report = capture()
    identity = hub.captures.add(report)
    (answer,) = ask(hub, "show", identity)
    assert answer.text == widget_of(report).model_id
    large = hub.captures.add(programs.deep(blocks=440))
    progress, answer = ask(hub, "show", large)
    assert progress.type == "progress"
    assert "nodes" in progress.text
    assert answer.text


def test_deleting_closes_the_widget(hub):
    """What shows it falls back to what the notebook keeps."""
    report = capture()
    identity = hub.captures.add(report)
    ask(hub, "show", identity)
    widget = widget_of(report)
    ask(hub, "delete", identity)
    assert widget.comm is None
    assert refused(ask(hub, "show", identity)).startswith("this capture is gone")


def test_two_are_compared(hub):
    """A widget of the second, with the first beside it under its name; closed when one of them is deleted."""
    one, two = hub.captures.add(programs.detached()), hub.captures.add(programs.attached())
    ask(hub, "rename", one, name="before the fix")
    progress, answer = ask(hub, "compare", one, two)
    assert progress.type == "progress"
    assert answer.text
    assert ask(hub, "compare", one, two)[-1].text == answer.text
    widget = hub.comparisons[one, two]
    assert widget.other_name == "before the fix"
    assert "two" in refused(ask(hub, "compare", one))
    ask(hub, "delete", one)
    assert widget.comm is None
    assert hub.comparisons == {}


def test_naming_and_pinning(hub):
    """Each is told to every front end."""
    identity = hub.captures.add(capture())
    ask(hub, "rename", identity, name="mine")
    ask(hub, "pin", identity, on=True)
    entry = hub.captures.entries()[0]
    assert (entry.name, entry.pinned) == ("mine", True)
    assert hub.sent.kinds == ["changed"] * 3
    ask(hub, "clear")
    assert len(hub.captures.entries()) == 1


FORMS = {"json": "{", "dot": "digraph", "text": "autograd", "html": "<!doc"}


@pytest.mark.parametrize(("form", "start"), FORMS.items(), ids=FORMS)
def test_exports(hub, form, start):
    """The texts of the report itself."""
    identity = hub.captures.add(capture())
    progress, answer = ask(hub, "export", identity, format=form)
    assert progress.type == "progress"
    assert answer.text.lstrip().startswith(start)
    if form == "json":
        assert Report.from_json(answer.text).capture.ops


def test_an_unknown_export_is_refused(hub):
    """With those that there are."""
    identity = hub.captures.add(capture())
    assert "html" in refused(ask(hub, "export", identity, format="exe"))


def test_only_files_that_a_capture_names_are_read(hub, tmp_path):
    """A front end cannot read the user's other files through us."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    assert "no capture" in refused(ask(hub, "source", path=str(secret)))
    report = programs.detached()
    hub.captures.add(report)
    place = next(site.user for site in report.capture.sites if site.user is not None)
    (answer,) = ask(hub, "source", path=place.filename)
    assert place.source in answer.text
    assert "no capture" in refused(ask(hub, "source", path=str(secret)))
    assert "no capture" in refused(ask(hub, "source", path="/etc/passwd"))


def test_every_cell(hub):
    """Needs the IPython extension; begins and ends as the line magic does, with the settings told."""
    assert "%load_ext" in refused(ask(hub, "every", on=True))
    seen = []
    hub.watch = SimpleNamespace(every=None, begin=seen.append, stop=lambda: seen.append(None))
    ask(hub, "configure", values=True, keep=7)
    ask(hub, "every", on=True)
    ask(hub, "every", on=False)
    assert seen[0].values
    assert seen[1] is None
    assert hub.sent.kinds == ["settings"] * 3
    assert (hub.captures.keep, hub.values) == (7, True)


@pytest.mark.parametrize(
    "asked",
    [None, "text", [], {}, {"id": 5}, {"id": 5, "action": "explode"}, {"id": 5, "action": "list", "captures": 7}],
)
def test_what_is_no_request_is_refused(hub, asked):
    """In one line, whatever was sent; the next request is answered."""
    said = []
    answered(hub, asked, said.append)
    assert refused(said).startswith("not understood")
    (answer,) = ask(hub, "list")
    assert answer.type == "answer"


@pytest.mark.parametrize("action", ["show", "rename", "pin", "export", "compare"])
def test_a_capture_of_before_a_restart_is_refused(hub, action):
    """The front end may be behind."""
    assert refused(ask(hub, action, "gone", "gone", format="json") if action == "compare" else ask(hub, action, "gone"))


def test_another_front_ends_fields_are_let_pass(hub):
    """A newer one may send more."""
    (answer,) = ask(hub, "list", unheard_of=True)
    assert answer.type == "answer"


@pytest.fixture
def watched(hub, plain_shell):
    """The hub of a shell whose extension is loaded."""
    hub.watch = Watch(plain_shell.ip)
    return hub


def test_an_open_capture_tells_how_far_it_is(watched):
    """Ops and steps of the capture that is open now, and nothing where there is none."""
    (idle,) = ask(watched, "live")
    assert idle.live is None
    with inspect():
        torch.ones(2).exp()
        (running,) = ask(watched, "live")
    assert (running.live.ops, running.live.steps, running.live.stopped) == (2, 0, False)


def test_an_open_capture_tells_what_is_certain(watched, monkeypatch):
    """A finding whose facts can't change any more is told with its line while the program runs, and judged once."""
    monkeypatch.setattr("autograd_inspector.api.inspect.shell_in_kernel", object)
    judged = []
    real = watch.certain_findings
    monkeypatch.setattr(watch, "certain_findings", lambda *args: judged.append(1) or real(*args))
    w = torch.ones(3, requires_grad=True)
    with inspect():
        hidden = (w * 2).sigmoid()
        hidden.add_(1.0)
        with contextlib.suppress(RuntimeError):
            hidden.sum().backward()
        (before,) = ask(watched, "live")
        w.sum().backward()
        (after,) = ask(watched, "live")
        ask(watched, "live")
    assert before.live.marks == ()
    (mark,) = after.live.marks
    assert (mark.rule, mark.severity, mark.cell) == ("AG201", "error", "test_requests.py")
    assert mark.source == "hidden.add_(1.0)"
    assert judged == [1]


def test_the_open_capture_is_stopped(watched):
    """What runs after it is not in the report; with nothing open there is nothing to stop."""
    with inspect() as inspection:
        torch.ones(2).exp()
        ask(watched, "stop")
        torch.ones(2).sin()
    assert [op.name for op in inspection.report.capture.ops] == ["ones", "exp"]
    assert "no recording is running" in refused(ask(watched, "stop"))


def test_without_the_extension_nothing_is_known_of_a_cell(hub):
    """A kernel in which only `inspect()` was used lists captures, and follows no cell."""
    with inspect():
        (answer,) = ask(hub, "live")
        assert answer.live is None
        assert "no recording is running" in refused(ask(hub, "stop"))
