"""What stands in TensorBoard's own files after a training with each trainer."""

import importlib
from pathlib import Path

import pytest

pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugin_util import markdown_to_safe_html

pytestmark = pytest.mark.stories


def train_with(trainer):
    """The program of that trainer."""
    pytest.importorskip(trainer)
    return importlib.import_module(f"tests.integrations.programs.with_{trainer}").train


def read(folder: Path):
    """The scalars, and the texts as TensorBoard shows them, each by name and step."""
    scalars, texts = {}, {}
    for run in {path.parent for path in folder.rglob("events.out.tfevents.*")}:
        events = EventAccumulator(str(run)).Reload()
        tags = events.Tags()
        scalars |= {(tag, event.step): event.value for tag in tags["scalars"] for event in events.Scalars(tag)}
        texts |= {
            (tag, event.step): markdown_to_safe_html(event.tensor_proto.string_val[0])
            for tag in tags["tensors"]
            for event in events.Tensors(tag)
        }
    return scalars, texts


# transformers puts a word before the names of all that is logged in training.
TRAINERS = pytest.mark.parametrize(
    ("trainer", "prefix"), [("accelerate", ""), ("lightning", ""), ("transformers", "train/")]
)


@TRAINERS
def test_a_cut_encoder_stands_in_tensorboard(tmp_path, trainer, prefix):
    """The finding's text in the lines as they were written, and its count; nothing of steps that were not chosen."""
    train_with(trainer)(tmp_path, "detach", board=True, every=3, formats=())
    scalars, texts = read(tmp_path)
    counts = {name: value for name, value in scalars.items() if "autograd_inspector" in name[0]}
    assert counts == {
        (f"{prefix}autograd_inspector/{severity}", step): float(severity == "warning")
        for severity in ("error", "warning", "info")
        for step in (1, 3)
    }
    shown = {step: text for (tag, step), text in texts.items() if tag == "autograd_inspector/text_summary"}
    assert sorted(shown) == [1, 3]
    assert shown[1].startswith("<pre><code>step 1: 1 warning")
    assert "\n    detached here: net.py:" in shown[1]
    assert "hidden = hidden.detach()\n" in shown[1]


@TRAINERS
def test_the_step_that_raises_stands_there_before_the_error_leaves(tmp_path, trainer, prefix):
    """Under its own number; written already, as the end of such a process is not always an orderly one."""
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        train_with(trainer)(tmp_path, "spoil", board=True, formats=())
    scalars, texts = read(tmp_path)
    assert scalars[f"{prefix}autograd_inspector/error", 3] == 1.0
    text = texts["autograd_inspector/text_summary", 3]
    assert "step 3 raised RuntimeError" in text
    assert "hidden.mul_(0.5)" in text
