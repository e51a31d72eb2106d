"""What happened to parameters and optimizer state, and which line did it."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.analysis.step_history.history import history_of

from .told import Told, numbers

X = torch.ones(2, 4)


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))


def train(net, optimizer) -> None:
    optimizer.zero_grad()
    net(X).square().mean().backward()
    optimizer.step()


def told(program) -> list[tuple[str, str, str, int]]:
    """(call, what it did, the line, times) of each event."""
    with autograd_inspector.inspect() as inspection:
        held = program()  # A notebook holds its model, too.
    del held
    capture = inspection.report.capture
    events = history_of(capture)
    return [(e.api, e.said, capture.place(e.site).source if capture.place(e.site) else "", e.times) for e in events]


def the(events, api) -> str:
    """What the only event of a call says."""
    (said,) = [said for called, said, _, _ in events if called.startswith(api)]
    return said


def test_steps_say_what_they_wrote_and_fold():
    """Equal steps are one event that is counted; parameters that stay are named with the reason."""

    def program():
        net = network()
        net[0].bias.requires_grad_(False)
        unused = nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([*net.parameters(), unused], lr=0.1)
        for _ in range(3):
            train(net, optimizer)
        return net

    events = told(program)
    row = Told.of(the(events, "SGD.step()"))
    assert row.counts == [3, 5]
    assert len(row.parts) == 3
    assert "frozen" in row.about("net.0.bias")
    assert "no gradient" in row.about("unused")
    assert [times for api, _, _, times in events if api == "SGD.step()"] == [3]


def test_step_with_lr_zero():
    """A scheduler that has brought lr to 0 is the reason that nothing moves."""

    def program():
        net = network()
        groups = [{"params": net[0].parameters(), "lr": 0.0}, {"params": net[2].parameters()}]
        train(net, torch.optim.SGD(groups, lr=0.1))
        return net

    row = Told.of(the(told(program), "SGD.step()"))
    assert row.counts == [2, 4]
    assert "lr 0" in row.about("net.0.weight", "net.0.bias")
    assert not [part for part in row.parts if "net.2" in part]


def test_closure_without_backward():
    """A closure that only evaluates leaves every parameter where it is."""

    def program():
        net = network()
        torch.optim.SGD(net.parameters(), lr=0.1).step(lambda: net(X).sum().item())
        return net

    row = Told.of(the(told(program), "SGD.step()"))
    assert row.counts == [0, 4]
    assert "closure did not call backward()" in row.about("net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias")


def test_state_without_data():
    """Momentum on meta moves nothing, and nothing raises."""

    def program():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        train(net, optimizer)
        for state in optimizer.state.values():
            state["momentum_buffer"] = state["momentum_buffer"].to("meta")
        train(net, optimizer)
        return net

    first, second = [Told.of(said) for api, said, _, _ in told(program) if api == "SGD.step()"]
    assert (first.counts, second.counts) == ([4, 4], [0, 4])
    assert "on meta" in second.about("net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias")


def test_gradients_that_a_step_changes():
    """A schedule-free step rewrites ``.grad``: its event says of which parameters."""
    import schedulefree

    def program():
        net = network()
        optimizer = schedulefree.AdamWScheduleFree(net.parameters(), lr=0.1)
        optimizer.train()
        train(net, optimizer)
        return net

    row = Told.of(the(told(program), "AdamWScheduleFree"))
    assert ".grad" in row.about("net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias")


def test_conversion_keeps_parameters_and_leaves_state():
    """``to(dtype)`` keeps the Parameter objects; what it leaves behind is the optimizer's state."""

    def program():
        net = network()
        optimizer = torch.optim.Adam(net.parameters())
        train(net, optimizer)
        net.to(torch.float64)
        return net, optimizer

    (event,) = [event for event in told(program) if event[0] == "Sequential.to()"]
    row = Told.of(event[1])
    kept = row.about("net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias")
    assert "the same parameters" in kept
    assert "float64 instead of float32" in kept
    assert "behind" in row.about("exp_avg", "exp_avg_sq", "Adam")
    assert event[2] == "net.to(torch.float64)"


@pytest.mark.parametrize("how", ["assign", "module", "parameter", "meta"])
def test_replaced_parameters(how):
    """Whatever replaces parameters is told with its line, and that the optimizer still holds the old ones."""

    def program():
        net = network()
        optimizer = torch.optim.Adam(net.parameters())
        train(net, optimizer)
        if how == "assign":
            net.load_state_dict(copy.deepcopy(net.state_dict()), assign=True)
        elif how == "module":
            net[2] = nn.Linear(4, 1)
        elif how == "parameter":
            net[2].weight = nn.Parameter(torch.ones(1, 4))
        else:
            net.to("meta")
        return net

    api, line = {
        "assign": ("Sequential.load_state_dict() assign=True", "net.load_state_dict(copy.deepcopy(net.state_dict()), "),
        "module": ("2 = Linear", "net[2] = nn.Linear(4, 1)"),
        "parameter": ("2.weight = Parameter", "net[2].weight = nn.Parameter(torch.ones(1, 4))"),
        "meta": ("Sequential.to()", 'net.to("meta")'),
    }[how]
    (event,) = [event for event in told(program) if event[0] == api]
    assert event[1].startswith("replaced ")
    assert "2.weight" in event[1]
    assert "Adam holds " in event[1]
    assert event[2].startswith(line)


def test_tying():
    """Tying a weight replaces one parameter by another that has a name already."""

    def program():
        net = nn.ModuleDict({"words": nn.Embedding(5, 4), "head": nn.Linear(4, 5, bias=False)})
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net["head"](net["words"](torch.tensor([1]))).sum().backward()
        optimizer.step()
        net["head"].weight = net["words"].weight
        return net

    said = the(told(program), "head.weight = Parameter")
    row = Told.of(said)
    replaced = row.about("net.head.weight")
    assert replaced.startswith("replaced ")
    assert "tied" in replaced
    assert numbers(row.about("SGD", "old")) == [1]


def test_merging_an_adapter():
    """``merge_and_unload`` takes the adapter's parameters away, which the optimizer still holds."""
    from peft import LoraConfig, get_peft_model

    def program():
        net = get_peft_model(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), LoraConfig(target_modules=["0"], r=2))
        optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad])
        net(X).sum().backward()
        optimizer.step()
        net.merge_and_unload()
        return net

    events = [said for _, said, line, _ in told(program) if line == "net.merge_and_unload()"]
    assert any("removed" in said and "lora_A" in said for said in events)
    assert any(numbers(Told.of(said).about("Adam", "old")) == [2] for said in events if "Adam" in said)


def test_resizing_token_embeddings():
    """transformers resizes in place: the parameter stays, its shape is another, Adam's moments are left behind."""
    from transformers import GPT2Config, GPT2LMHeadModel

    def program():
        net = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=16, n_positions=8))
        optimizer = torch.optim.Adam(net.parameters())
        net(torch.tensor([[1, 2]]), labels=torch.tensor([[1, 2]])).loss.backward()
        optimizer.step()
        net.resize_token_embeddings(20)
        return net

    events = [said for _, said, line, _ in told(program) if line == "net.resize_token_embeddings(20)"]
    assert any("transformer.wte.weight" in said for said in events)


def test_loading_optimizer_state():
    """A load says how many parameters got state and what it cast."""

    def program():
        net = network()
        optimizer = torch.optim.Adam(net.parameters())
        train(net, optimizer)
        saved = copy.deepcopy(optimizer.state_dict())
        net.to(torch.bfloat16)
        optimizer.load_state_dict(saved)
        return net

    said = the(told(program), "Adam.load_state_dict()")
    row = Told.of(said)
    assert row.counts == [4]
    assert row.about("exp_avg", "exp_avg: float32 -> bfloat16").startswith("cast ")
