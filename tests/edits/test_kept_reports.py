"""Edits of a report that was kept: they are made where the program reads as it did."""

import linecache

from autograd_inspector.api.report import Report
from tests.edits.cured import report_of

PROGRAM = """
    net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=True))
    net(torch.randn(4, 3)).sum().backward()
    seen = []
    for name in "abc":
        seen.append(name)
    print(seen)
"""


def reread(report, path, text=None):
    """The report from its JSON, with another text of the program perhaps."""
    if text is not None:
        path.write_text(text)
    linecache.checkcache(str(path))
    return Report.from_json(report.to_json())


def test_a_report_that_was_kept_has_its_edits(tmp_path):
    """Its patch and the new text are those of the report itself."""
    report, path = report_of(tmp_path, PROGRAM)
    again = reread(report, path)
    assert again.patched() == report.patched()
    assert "inplace=False" in again.patched()[str(path)]


def test_a_program_that_was_edited_since_is_not_patched(tmp_path):
    """The places of the edits are other ones by now; a line that was added below leaves them as they were."""
    report, path = report_of(tmp_path, PROGRAM)
    text = path.read_text()
    assert reread(report, path, f"# a line above\n{text}").patched() == {}
    assert reread(report, path, text.replace("Sigmoid", "Tanh")).patched() == {}
    assert "inplace=False" in reread(report, path, f"{text}# below\n").patched()[str(path)]
