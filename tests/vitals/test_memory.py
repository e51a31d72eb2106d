"""Bytes that are saved for backward, and the most that is alive, against torch's own MemTracker; what set the peak."""

from __future__ import annotations

import gc
import weakref
from typing import NamedTuple

import pytest
import torch
from torch import nn
from torch.distributed._tools.mem_tracker import MemTracker
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    MistralConfig,
    MistralForCausalLM,
    ResNetConfig,
    ResNetForImageClassification,
)

import autograd_inspector

from .test_parameters import vitals


class Case(NamedTuple):
    model: nn.Module
    inputs: dict[str, torch.Tensor]

    def loss(self):
        return self.model(**self.inputs).loss


def gpt2():
    config = GPT2Config(
        vocab_size=500, n_embd=64, n_layer=4, n_head=4, n_positions=64, bos_token_id=None, eos_token_id=None,
        use_cache=False,
    )  # fmt: skip
    ids = torch.randint(0, 500, (8, 64))
    return Case(GPT2LMHeadModel(config).train(), {"input_ids": ids, "labels": ids})


def resnet():
    """The stages and bottlenecks of ResNet-50, narrower."""
    config = ResNetConfig(
        embedding_size=16, hidden_sizes=[32, 64, 128, 256], depths=[3, 4, 6, 3], layer_type="bottleneck", num_labels=10
    )
    inputs = {"pixel_values": torch.randn(4, 3, 64, 64), "labels": torch.randint(0, 10, (4,))}
    return Case(ResNetForImageClassification(config).train(), inputs)


def mistral():
    """Each of its layers is checkpointed."""
    config = MistralConfig(
        vocab_size=500, hidden_size=64, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, use_cache=False,
    )  # fmt: skip
    model = MistralForCausalLM(config).train()
    model.gradient_checkpointing_enable()
    ids = torch.randint(0, 500, (8, 64))
    return Case(model, {"input_ids": ids, "labels": ids})


def tracked(case: Case) -> tuple[int, int]:
    """(activations alive after the forward and what they were made of, the most alive at once) as torch counts them."""
    optimizer = torch.optim.SGD(case.model.parameters(), lr=0.1)
    tracker = MemTracker()
    inputs = list({id(value): value for value in case.inputs.values()}.values())
    tracker.track_external(case.model, *inputs)
    with tracker:
        loss = case.loss()
        [after] = tracker.get_tracker_snapshot("current").values()
        loss.backward()
        optimizer.step()
    [peak] = tracker.get_tracker_snapshot("peak").values()
    activations = sum(count for kind, count in after.items() if str(kind).endswith(("ACT", "OTH")))
    return activations, peak["Total"]


@pytest.mark.parametrize("make", [gpt2, resnet, mistral])
def test_as_torch_counts(make):
    """Saved bytes and the peak of a step lie within 1 % of what MemTracker sees."""
    torch.manual_seed(0)
    saved, peak = tracked(make())
    case = make()
    optimizer = torch.optim.SGD(case.model.parameters(), lr=0.1)
    with autograd_inspector.inspect(values=True) as inspection:
        case.loss().backward()
        optimizer.step()
    memory = inspection.report.vitals.memory
    assert memory.saved[0] == pytest.approx(saved, rel=0.01)
    assert memory.peak[0] == pytest.approx(peak, rel=0.01)
    assert memory.peak_op[0].startswith("backward of ")


class Wide(nn.Module):
    """Its forward makes something large that backward does not need, where asked."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.large = 0

    def forward(self, x):
        offset = torch.ones(self.large, 8).cumsum(0).mean() if self.large else 0.0
        return self.inner(x).sum() + float(offset)


def test_the_op_and_the_step_that_set_the_peak():
    """The peak is that of its own step; the op, its module and its line are known."""
    net, x = Wide(), torch.randn(4, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def program():
        for large in (0, 100_000, 0):
            net.large = large
            net(x).backward()
            optimizer.step()
            optimizer.zero_grad()

    with autograd_inspector.inspect(values=True) as inspection:
        program()
    report = inspection.report
    memory = report.vitals.memory
    two_tensors = 2 * 100_000 * 8 * 4
    assert two_tensors < memory.peak[1] < 1.01 * two_tensors
    assert max(memory.peak[0], memory.peak[2]) < 10_000
    assert memory.peak_op[1] == "cumsum in net"
    assert "cumsum" in report.capture.place(memory.peak_site[1]).source
    assert report.vitals.records("memory")[1]["peak_op"] == "cumsum in net"


def test_a_gradient_on_its_way_counts():
    """While a node of backward runs, what it was given and what it passes on are alive beside what was saved."""
    weight = nn.Parameter(torch.ones(1000))
    model = nn.ParameterList([weight])
    memory = vitals(lambda: model[0].exp().mul(2).sum().backward()).memory
    # The leaf, the saved result of exp, the gradient of that result and of the leaf.
    assert memory.peak[0] == pytest.approx(4 * 4000, abs=200)


def test_what_a_step_allocates_is_its_own():
    """The state that the first step of Adam makes is the peak of a model without activations to speak of."""
    weight = nn.Parameter(torch.ones(100_000))
    model, optimizer = nn.ParameterList([weight]), torch.optim.Adam([weight])

    def program():
        model[0].sum().backward()
        optimizer.step()

    memory = vitals(program).memory
    assert memory.peak_op == ("Adam.step",)
    assert memory.peak[0] == pytest.approx(4 * 400_000, rel=0.01)


def test_nothing_is_kept_alive():
    """Weak references to the memory of activations and gradients die while the capture is open."""
    net, dead = nn.Linear(50, 50), []

    def hook(gradient):
        dead.append(weakref.ref(gradient.untyped_storage()))

    with autograd_inspector.inspect(values=True):
        hidden = net(torch.randn(4, 50))
        hidden.register_hook(hook)
        dead.append(weakref.ref(hidden.untyped_storage()))
        hidden.exp().sum().backward()
        del hidden
        gc.collect()
        assert [each() for each in dead] == [None, None]
