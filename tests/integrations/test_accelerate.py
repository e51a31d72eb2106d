"""The accelerate inspector with a real Accelerator."""

import pytest

pytest.importorskip("accelerate")

import torch
from accelerate import Accelerator
from accelerate.tracking import GeneralTracker
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from autograd_inspector.capture.session import current
from autograd_inspector.integrations.accelerate import AutogradInspector

from .bits import bits, grave

pytestmark = pytest.mark.stories


class Tracker(GeneralTracker):
    """A tracker with TensorBoard's writer behind it."""

    name, requires_logging_directory = "kept", False

    def __init__(self, writer):
        super().__init__()
        self.writer, self.logs = writer, []

    @property
    def tracker(self):
        return self.writer

    def log(self, values, step=None, **kwargs):
        self.logs.append((step, values))


def train(folder, *, accumulate=2, spoil=-1, leave=-1, trackers=(), inspect=True, **options):
    """Ten micro-batches; returns the model and the inspector."""
    torch.manual_seed(0)
    accelerator = Accelerator(
        cpu=True, gradient_accumulation_steps=accumulate, project_dir=str(folder), log_with=list(trackers) or None
    )
    if trackers:
        accelerator.init_trackers("project")
    model = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.randn(20, 4)), batch_size=2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    inspector = AutogradInspector(accelerator, **options)
    train.inspector = inspector
    for number, (batch,) in enumerate(loader):
        if number == leave:
            break
        with (inspector if inspect else accelerator).accumulate(model):
            hidden = model[:2](batch)
            loss = model[2](hidden).mean()
            if number == spoil:
                hidden.add_(1)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
    return model, inspector


def test_a_healthy_training_gets_the_same_weights_and_no_finding(tmp_path):
    """Micro-batches are one step; steps are chosen by their number."""
    model, inspector = train(tmp_path, every=2, formats=["json"])
    plain, _ = train(tmp_path, inspect=False)
    assert bits(model) == bits(plain)
    capture = inspector.report.capture
    assert (inspector.step, len(capture.backwards), len(capture.steps)) == (4, 2, 1)
    assert grave(inspector.report) == []
    names = ["step-000001.json", "step-000002.json", "step-000004.json"]
    assert sorted(path.name for path in (tmp_path / "autograd-inspector").iterdir()) == names


def test_the_failing_third_step_is_explained(tmp_path, writer):
    """Also to the trackers."""
    tracker = Tracker(writer)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        train(tmp_path, spoil=5, trackers=[tracker], formats=())
    inspector = train.inspector
    assert (inspector.step, grave(inspector.report)) == (3, ["AG201"])
    assert inspector.report.findings[0].locations[0].source == "hidden.add_(1)"
    assert [step for step, _ in tracker.logs] == [1, 3]
    assert "hidden.add_(1)" in writer.texts[-1][1]


def test_a_loop_left_within_a_step_is_closed_by_hand_or_with_the_inspector(tmp_path):
    """Between two micro-batches nobody tells us."""
    _, inspector = train(tmp_path, leave=3, formats=())
    assert current() is not None
    inspector.close()
    assert current() is None
    train(tmp_path, leave=3, formats=())
    train.inspector = None
    assert current() is None
