"""What is certain while a program still runs, and that looking for it changes nothing."""

from __future__ import annotations

import contextlib

import pytest
import torch
from torch import nn

from autograd_inspector.api.interim import certain_findings
from autograd_inspector.api.report import report_of
from autograd_inspector.capture import interim
from autograd_inspector.capture.session import Session, caller_frame

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute")


class Followed:
    """A capture that a front end may ask; ``seen`` is what it was told after each step of the program."""

    def __init__(self, values: bool = False) -> None:
        self.session = Session(values=values, stop=caller_frame(1), followed=True)

    def __enter__(self):
        self.session.start(held=lambda: True)
        return self

    def __exit__(self, kind, error, traceback):
        self.report = report_of(self.session.finish(error))

    @property
    def certain(self):
        capture = self.session.interim
        return () if capture is None else certain_findings(capture)


def told(findings):
    return {(finding.rule, finding.locations[0].lineno) for finding in findings}


def step(net, opt):
    opt.zero_grad()
    net(torch.ones(2, 3)).sum().backward()
    opt.step()


@pytest.fixture
def net():
    return nn.Linear(3, 1)


@pytest.fixture
def opt(net):
    return torch.optim.SGD(net.parameters(), lr=0.1)


def test_a_caught_failure_is_certain_at_the_next_step(net, opt):
    """A modified saved tensor whose error the program caught is told as soon as it goes on, with its culprit's line."""
    with Followed() as followed:
        hidden = torch.sigmoid(net(torch.ones(2, 3)))
        hidden.add_(1.0)
        with contextlib.suppress(RuntimeError):
            hidden.sum().backward()
        assert followed.certain == ()
        step(net, opt)
        [finding] = followed.certain
        step(net, opt)
    assert followed.session.interim is None
    assert finding.rule == "AG201"
    assert "hidden.add_(1.0)" in finding.locations[0].source
    assert told([finding]) <= told(followed.report.findings)


def test_a_gradient_read_in_vain_is_certain(net, opt):
    """`.grad` of a tensor that is no leaf was None: told after that step, and in the report."""
    with Followed() as followed:
        for _ in range(3):
            hidden = net(torch.ones(2, 3))
            hidden.sum().backward()
            _ = hidden.grad
            opt.step()
        seen = followed.certain
    assert [finding.rule for finding in seen] == ["AG302"]
    assert told(seen) <= told(followed.report.findings)


def test_a_detached_loss_whose_error_is_caught(net, opt):
    """The cut that made backward fail is named while the loop goes on."""
    with Followed() as followed:
        for _ in range(2):
            loss = net(torch.ones(2, 3)).detach().sum()
            with contextlib.suppress(RuntimeError):
                loss.backward()
            step(net, opt)
        seen = followed.certain
    assert [finding.rule for finding in seen] == ["AG101"]
    assert told(seen) <= told(followed.report.findings)


def test_nan_is_certain_where_values_are_read(net, opt):
    """The op that made the first NaN is told before the program ends."""
    with Followed(values=True) as followed:
        for _ in range(2):
            opt.zero_grad()
            loss = (net(torch.ones(2, 3)).sum() * 0 - 1).log()
            loss.backward()
            opt.step()
        seen = followed.certain
    assert [finding.rule for finding in seen] == ["AG304"]
    assert told(seen) <= told(followed.report.findings)


def test_what_happens_after_older_steps_were_folded(net, opt):
    """A long run is followed to its end: line and names are those of the report, which stays what it is."""
    with Followed() as followed:
        for number in range(60):
            step(net, opt)
            if number == 50:
                assert followed.session.recording.ops.folded
                hidden = torch.sigmoid(net(torch.ones(2, 3)))
                hidden.add_(1.0)
                with contextlib.suppress(RuntimeError):
                    hidden.sum().backward()
                assert followed.certain == ()
            if number == 51:
                [finding] = followed.certain
        assert followed.certain == (finding,)
    assert finding.rule == "AG201"
    assert "hidden.add_(1.0)" in finding.locations[0].source
    assert followed.report.capture.history.folded > 50
    assert len(followed.report.capture.history) == 60


def test_a_read_in_vain_after_older_steps_were_folded(net, opt):
    """The names of parameters and modules are found by their new numbers."""
    with Followed() as followed:
        for number in range(40):
            opt.zero_grad()
            hidden = net(torch.ones(2, 3))
            hidden.sum().backward()
            if number == 30:
                _ = hidden.grad
            opt.step()
            if number == 31:
                seen = followed.certain
    assert [finding.rule for finding in seen] == ["AG302"]
    assert any(place.source == "_ = hidden.grad" for place in seen[0].locations)
    assert "hidden" in seen[0].message


def test_nan_after_older_steps_were_folded(net, opt):
    """The op that made the NaN is named though the faults of earlier steps are gone."""
    with Followed(values=True) as followed:
        for number in range(40):
            opt.zero_grad()
            out = net(torch.ones(2, 3)).sum()
            loss = (out * 0 - 1).log() if number >= 30 else out
            loss.backward()
            if number < 30:
                opt.step()
        seen = followed.certain
    assert [finding.rule for finding in seen] == ["AG304"]
    assert "log()" in seen[0].locations[0].source


def test_a_healthy_program_is_never_frozen_early(net, opt, monkeypatch):
    """Nothing happened that is certain: no interim capture is made, however long it runs."""
    monkeypatch.setattr(interim, "freeze", None)
    with Followed() as followed:
        for _ in range(30):
            step(net, opt)
        assert followed.session.interim is None
    assert followed.report.findings == ()


def test_an_exception_that_ends_the_program_is_frozen_once(net, monkeypatch):
    """What nobody catches is for the report: no time is spent on it twice."""
    monkeypatch.setattr(interim, "freeze", None)
    followed = Followed()
    with contextlib.suppress(RuntimeError), followed:
        hidden = torch.sigmoid(net(torch.ones(2, 3)))
        hidden.add_(1.0)
        hidden.sum().backward()
    assert [finding.rule for finding in followed.report.findings] == ["AG201"]


def test_so_many_interim_captures_and_no_more(net, opt, monkeypatch):
    """The same place again is no news; of many places the first few are told."""
    made = []
    real = interim.freeze
    monkeypatch.setattr(interim, "freeze", lambda *args, **facts: made.append(1) or real(*args, **facts))
    with Followed():
        for _ in range(3):
            hidden = net(torch.ones(2, 3))
            hidden.sum().backward()
            _ = hidden.grad
            opt.step()
        assert len(made) == 1
        for line in range(8):
            hidden = net(torch.ones(2, 3))
            hidden.sum().backward()
            exec(compile("\n" * line + "hidden.grad", f"<line {line}>", "exec"), {"hidden": hidden})
            opt.step()
    assert len(made) == interim.MOST


@pytest.mark.parametrize(("steps", "first"), [(3, 0), (60, 30)])
def test_the_report_is_the_same_with_and_without(steps, first):
    """Freezing early, also when older steps are folded, leaves no trace in what is frozen at the end."""

    def program():
        net = nn.Linear(3, 1)
        opt = torch.optim.AdamW(net.parameters(), lr=0.1)
        for number in range(steps):
            hidden = net(torch.ones(2, 3))
            hidden.sum().backward()
            if number >= first:
                _ = hidden.grad
            opt.step()

    reports = []
    for followed in (True, False):
        session = Session(stop=caller_frame(1), followed=followed).start(held=lambda: True)
        program()
        assert (session.interim is not None) is followed
        reports.append(report_of(session.finish()))
    first, second = (report.to_text() for report in reports)
    assert first == second
    assert reports[0].capture.notes == reports[1].capture.notes
    assert len(reports[0].capture.tensors) == len(reports[1].capture.tensors)


def test_its_own_failure_leaves_the_recording_alone(net, opt, monkeypatch):
    """An error while freezing early ends that; the capture goes on."""
    monkeypatch.delenv("AUTOGRAD_INSPECTOR_STRICT", raising=False)
    monkeypatch.setattr(interim, "freeze", None)
    with Followed() as followed:
        hidden = net(torch.ones(2, 3))
        hidden.sum().backward()
        _ = hidden.grad
        step(net, opt)
        assert followed.certain == ()
    assert [finding.rule for finding in followed.report.findings] == ["AG302"]
