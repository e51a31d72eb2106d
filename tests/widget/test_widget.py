from __future__ import annotations

import json
import re
import sys
from types import SimpleNamespace

import anywidget
import pytest
from ipywidgets import Widget
from ipywidgets.embed import dependency_state

from autograd_inspector import Report
from autograd_inspector.kernel import display, widget
from autograd_inspector.kernel.hub import kernel
from autograd_inspector.kernel.widget import VIEW, ReportWidget, WidgetNotBuiltError
from autograd_inspector.views import assets
from autograd_inspector.views.html import page


@pytest.fixture(autouse=True)
def built(monkeypatch):
    """The front end's own tests say what is in the bundle; here any text will do."""
    built = {
        "loader.js": "export default {}",
        "widget.js": "export default () => {}",
        "style.css": "a > b {}",
        "page.js": "/* </script> */ run()",
    }
    for module in (widget, page):
        monkeypatch.setattr(module, "asset", built.__getitem__)
    monkeypatch.setattr(widget, "digest", {"widget.js": "d1"}.__getitem__)


@pytest.fixture
def shown(broken) -> ReportWidget:
    return broken.widget()


class Sent:
    """Collects what a widget sends to its front end."""

    def __init__(self, shown, monkeypatch):
        self.messages = []
        monkeypatch.setattr(shown, "send", lambda content, buffers=None: self.messages.append(content))


def test_a_report_has_a_widget(broken, shown):
    """An anywidget with the capture on its wire, and the module and style that show it."""
    assert isinstance(shown, anywidget.AnyWidget)
    assert json.loads(shown.payload)["head"]["ops"] == len(broken.capture.ops)
    assert shown.buffer == b""
    assert shown.get_state(["_esm", "module", "module_id"]) == {
        "_esm": "export default {}",
        "module": "export default () => {}",
        "module_id": "d1",
    }


@pytest.fixture
def in_kernel(monkeypatch):
    """A kernel: a manager of widgets is listening."""
    monkeypatch.setattr(widget, "shell_in_kernel", object)


@pytest.mark.usefixtures("in_kernel")
def test_widgets_of_a_kernel_share_script_and_style(broken, detached):
    """A saved notebook has them once, as a model to which each widget refers, not 147 kB a widget."""
    one, two = broken.widget(), detached.widget()
    saved = Widget.get_manager_state(widgets=[one, two, one.code])["state"]
    assert one.code is two.code
    assert saved[one.model_id]["state"]["code"] == f"IPY_MODEL_{one.code.model_id}"
    texts = [json.dumps(state) for state in saved.values()]
    for text in ("export default () => {}", "a > b {}"):
        assert sum(text in state for state in texts) == 1
    assert one.code.model_id in dependency_state([one])


@pytest.mark.usefixtures("in_kernel")
def test_closing_all_widgets_closes_the_shared_code(broken):
    """The next widget has one that is open."""
    first = broken.widget()
    first.code.close()
    assert broken.widget().code.comm is not None


def test_the_widget_can_compare_with_another_report(broken, detached):
    """The other report's wire and name go with it."""
    shown = broken.widget(compare=detached, name="before")
    assert json.loads(shown.other_payload)["head"]["ops"] == len(detached.capture.ops)
    assert shown.other_name == "before"
    assert broken.widget().other_payload == ""


def test_nodes_are_selected_by_id(shown):
    """And come back as nodes."""
    (node,) = shown.select(2)
    assert shown.selected == [2]
    assert node is shown.report.graph.nodes[2]
    assert shown.select() == ()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("encoder.weight", {"net.encoder.weight"}),
        ("net.encoder.weight", {"net.encoder.weight"}),
        ("norm", {"layer_norm"}),
        ("sigmoid", {"sigmoid"}),
        ("AG201", {"add_", "sigmoid"}),
        ("saved-tensor-modified", {"add_", "sigmoid"}),
    ],
)
def test_nodes_are_selected_by_name(shown, name, found):
    """A parameter, a module, an op, a rule by code or name."""
    assert {node.name for node in shown.select(name)} & found


def test_an_unknown_name_is_refused_in_one_line(shown):
    """And nothing is selected."""
    with pytest.raises(ValueError, match=r"^[^\n]* named 'decoder'$"):
        shown.select("norm", "decoder")
    assert shown.selected == []


def test_ids_of_no_node_are_left_out(shown):
    """A front end, too, can only select what there is."""
    shown.set_state({"selected": [1, 1, -4, 10_000]})
    assert shown.selected == [1]


def test_a_callback_hears_of_selections_until_it_is_stopped(shown):
    """Those of the front end and those of Python."""
    heard = []
    stop = shown.on_select(heard.append)
    shown.set_state({"selected": [1]})
    shown.select(2)
    stop()
    shown.select(3)
    assert [[node.id for node in nodes] for nodes in heard] == [[1], [2]]


@pytest.mark.parametrize(("form", "start"), [("dot", "digraph"), ("json", '{"capture"'), ("html", "<!doctype html>")])
def test_the_front_end_is_given_the_report_in_other_forms(shown, monkeypatch, form, start):
    """It asks with a number, and hears that number again."""
    sent = Sent(shown, monkeypatch)
    shown._handle_custom_msg({"command": "export", "id": 7, "format": form}, [])
    (answer,) = sent.messages
    assert answer["id"] == 7
    assert answer["text"].lstrip().startswith(start)


def test_a_form_that_there_is_not_is_an_answer_too(shown, monkeypatch):
    """In one line; what is no question has no answer."""
    sent = Sent(shown, monkeypatch)
    for message in ({"command": "export", "id": 1, "format": "exe"}, {"command": "x"}, "text", None):
        shown._handle_custom_msg(message, [])
    ((identity, error),) = [tuple(message.values()) for message in sent.messages]
    assert identity == 1
    assert "'exe'" in error
    assert [form for form in ("json", "dot", "text", "html") if form not in error] == []


def test_the_display_bundle_is_complete_without_widgets(shown, broken):
    """text/plain says all; the view names the widget's own model."""
    bundle, _ = shown._repr_mimebundle_()
    assert bundle["text/plain"] == broken.to_text()
    assert bundle[VIEW]["model_id"] == shown.model_id


def test_outside_of_a_notebook_a_report_makes_no_widget(broken):
    """A terminal shows text and perhaps a picture."""
    assert VIEW not in broken._repr_mimebundle_()


@pytest.fixture
def notebook(monkeypatch):
    """A shell as a kernel has one."""
    events = SimpleNamespace(register=lambda _name, _callback: None)
    shell = SimpleNamespace(kernel=object(), events=events, execution_count=1, get_parent=dict)
    for module in (kernel, display):
        monkeypatch.setattr(module, "shell_in_kernel", lambda: shell)
    kernel._begun.cache_clear()
    yield
    kernel._begun.cache_clear()


def test_in_a_notebook_a_report_shows_its_widget(broken, notebook):
    """With the other forms beside it; a report shown twice is one widget, and one capture of the hub."""
    report = Report(broken.capture, broken.findings)
    first, second = report._repr_mimebundle_(), report._repr_mimebundle_()
    assert [entry.ops for entry in kernel._begun().captures.entries()] == [len(report.capture.ops)]
    assert {"text/plain", VIEW} <= set(first)
    assert first[VIEW] == second[VIEW]
    assert set(report._repr_mimebundle_(include=["text/plain"])) == {"text/plain"}


def test_marimo_is_given_the_widget(broken):
    """It asks for what to show by a method of its own."""
    assert isinstance(broken._display_(), ReportWidget)


def test_where_the_widget_is_not_built_one_line_says_so_once(broken, notebook, monkeypatch, capsys):
    """The other forms are shown all the same."""

    def missing(name):
        raise WidgetNotBuiltError

    monkeypatch.setattr(widget, "asset", missing)
    monkeypatch.setattr(display, "_told", set())
    report = Report(broken.capture, broken.findings)
    for _ in range(2):
        assert VIEW not in report._repr_mimebundle_()
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "make widget" in said
    with pytest.raises(WidgetNotBuiltError, match="make widget"):
        report.widget()
    assert report._display_() == report.to_text()


def test_a_file_that_was_not_built_is_a_typed_error():
    """Not an OSError from the depths."""
    with pytest.raises(WidgetNotBuiltError):
        assets.asset("nothing.js")


def test_the_kernel_is_known_by_its_shell(monkeypatch):
    """IPython in a terminal has no kernel."""
    assert kernel.shell_in_kernel() is None
    shell = type("Shell", (), {"kernel": object()})()
    monkeypatch.setitem(sys.modules, "IPython", type("Module", (), {"get_ipython": staticmethod(lambda: shell)}))
    assert kernel.shell_in_kernel() is shell


def test_the_interactive_page_stands_alone(broken, tmp_path):
    """No address of another file; a policy that allows none; the program's names cannot end its scripts."""
    path = tmp_path / "report.html"
    text = broken.to_html(path, interactive=True)
    assert path.read_text(encoding="utf-8") == text
    assert "default-src 'none'" in text
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert text.count("</script>") == 3
    (payload,) = re.findall(r'<script type="application/json" id="payload">(.*?)</script>', text, re.DOTALL)
    assert "<" not in payload
    assert json.loads(payload)["wire"] == 1
