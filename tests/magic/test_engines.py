"""ipyparallel: the reports of all engines are one widget below the cell."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from autograd_inspector.frontends.notebook import engines
from autograd_inspector.frontends.notebook.engines import EngineReports
from autograd_inspector.kernel.engines import PART, read_part, sent_by_engine
from tests.widget.programs import ranks

PROGRAM = """
import nbformat, sys
from nbclient import NotebookClient

cells = [
    "import ipyparallel\\n"
    "clients = ipyparallel.Cluster(n=2, log_level=40).start_and_connect_sync()\\n"
    "view = clients[:]\\nview.block = True\\nview.activate()\\nview.scatter('rank', [0, 1], flatten=True)",
    "%load_ext autograd_inspector\\n%px %load_ext autograd_inspector\\n%px import torch",
    "%%px\\n%%autograd_inspect\\nnet = torch.nn.Linear(3, 1)\\n"
    "optimizer = torch.optim.SGD(net.parameters(), lr=0.1 * (rank + 1))\\n"
    "net(torch.ones(2, 3)).sum().backward()\\noptimizer.step()",
    "clients.shutdown(hub=True)",
]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
NotebookClient(notebook, timeout=100).execute()
texts = [output.data.get("text/plain", "") for output in notebook.cells[2].outputs if "data" in output]
print([text.splitlines()[0] for text in texts if "autograd inspector" in text])
"""


class Publisher:
    """A kernel's, as far as it is asked here."""

    def __init__(self):
        self.shown = []

    def publish(self, data, metadata=None, **_options):
        self.shown.append(data)


@pytest.fixture(scope="module")
def reports():
    return ranks().reports


def collector(monkeypatch, publisher):
    """In a kernel that has imported ipyparallel, when a cell begins."""
    monkeypatch.setitem(sys.modules, "ipyparallel", SimpleNamespace())
    collecting = EngineReports(SimpleNamespace(display_pub=publisher))
    collecting.before()
    return collecting


def test_a_kernel_without_ipyparallel_keeps_its_publisher(monkeypatch):
    """Nothing of it is replaced."""
    monkeypatch.delitem(sys.modules, "ipyparallel", raising=False)
    publisher = Publisher()
    EngineReports(SimpleNamespace(display_pub=publisher)).before()
    assert "publish" not in vars(publisher)


def sent(monkeypatch, report, engine: int) -> dict:
    monkeypatch.setattr("autograd_inspector.kernel.engines.engine_id", lambda: engine)
    return sent_by_engine(report, {"text/plain": "its text"})


def test_an_engine_sends_its_report_as_data(monkeypatch, reports):
    """Beside its text, which is what a kernel without the extension shows; no other process sends anything."""
    bundle = sent(monkeypatch, reports[1], 5)
    assert bundle["text/plain"] == "its text"
    assert read_part(bundle[PART]) == (5, reports[1].to_json().encode())
    assert sent(monkeypatch, reports[1], -1) == {"text/plain": "its text"}


def test_what_engines_send_is_shown_once_at_the_end_of_the_cell(monkeypatch, reports):
    """In the order of the engines; all other outputs pass, and after `close()` all do."""
    publisher, displayed = Publisher(), []
    monkeypatch.setattr(engines, "display_apart", displayed.append)
    bundles = [sent(monkeypatch, reports[engine], engine) for engine in (2, 0, 1)]
    collecting = collector(monkeypatch, publisher)
    for bundle in bundles:
        publisher.publish(data=bundle, metadata={"engine": 0})
    publisher.publish({"text/plain": "a picture"})
    assert publisher.shown == [{"text/plain": "a picture"}]
    collecting.flush()
    collecting.flush()
    (bundle,) = displayed
    assert "3 ranks" in bundle["text/plain"].splitlines()[0]
    assert "on rank 1" in bundle["text/plain"]
    collecting.close()
    publisher.publish(bundles[0])
    assert publisher.shown[1:] == [bundles[0]]


def test_a_report_that_cannot_be_read_is_shown_as_text(monkeypatch, reports, capsys):
    """One line says why."""
    publisher = Publisher()
    collecting = collector(monkeypatch, publisher)
    for part in ({"engine": 0, "text": "eJw="}, {"engine": 0}, 3):
        publisher.publish({"text/plain": "its text", PART: part})
    collecting.flush()
    assert [data["text/plain"] for data in publisher.shown] == ["its text"] * 3
    assert "cannot read the report of an engine" in capsys.readouterr().err


@pytest.mark.slow
def test_two_engines_are_one_report():
    """A cluster of ipyparallel: `%%px` above the magic."""
    pytest.importorskip("ipyparallel")
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ, check=True, timeout=200, capture_output=True, text=True
    ).stdout
    assert told.strip() == "['autograd inspector: 2 ranks · no findings · ranks differ in 2 parameters']"
