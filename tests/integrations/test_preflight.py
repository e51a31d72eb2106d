"""What preflight() says."""

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector import PreflightFindingsError, preflight
from autograd_inspector.capture.session import NestedInspectionError

from .nets import IDS, loss_of, made, made_for


def test_a_healthy_model_is_all_right():
    """One sentence; tied parameters are one, and what is not meant to learn is told apart."""
    check = preflight(*made_for(loss_of), ignore=["AG404"])
    assert check.ok
    check.raise_for_findings()
    assert str(check).startswith("preflight: all 3 ")
    found = {each.name: each for each in check.parameters}
    assert found["embed.weight"].names == ("embed.weight", "head.weight")
    assert {each.name: each.standing for each in check.parameters if not each.meant} == {
        "frozen.weight": "frozen",
        "frozen.bias": "frozen",
        "extra.weight": "not in the optimizer",
        "extra.bias": "not in the optimizer",
    }
    assert found["extra.weight"].gradient == "some"
    assert not found["extra.weight"].moved


def test_extra_parameters_are_a_finding_that_can_be_ignored():
    """A trainable layer in no optimizer is a warning, so not all is well."""
    check = preflight(*made_for(loss_of))
    assert [finding.rule for finding in check.report.findings] == ["AG404"]
    assert not check.ok
    assert not check.stuck
    assert "AG404" in str(check)


def test_a_cut_is_told_with_its_line():
    """Who got no gradient, and where it was cut."""

    def loss_fn(model, ids):
        return model.head(model.norm(model.embed(ids).detach())).sum() + 0 * model.extra.weight.sum()

    model, optimizer = made()
    optimizer = torch.optim.SGD([*model.norm.parameters(), *model.frozen.parameters()], lr=0.1)
    model.frozen.requires_grad_(True)
    check = preflight(model, IDS, loss_fn, optimizer)
    assert [each.name for each in check.stuck] == ["frozen.weight", "frozen.bias"]
    assert [each.why for each in check.stuck] == ["got no gradient"] * 2
    assert "got no gradient: Net.frozen.weight, Net.frozen.bias" in check.to_text()  # As the findings call them.
    with pytest.raises(PreflightFindingsError, match="2 of 4 ") as caught:
        check.raise_for_findings()
    assert isinstance(caught.value, autograd_inspector.AutogradFindingsError)
    assert caught.value.preflight is check


def test_a_step_that_raises_is_told_with_line_and_traceback():
    """An in-place edit: the finding, and the program's own traceback as text."""

    def loss_fn(model, ids):
        hidden = model.embed(ids).sigmoid()
        loss = model.norm(hidden).sum() + hidden.sum()
        hidden.add_(1)
        return loss

    check = preflight(*made_for(loss_fn))
    assert not check.ok
    assert "AG201" in [finding.rule for finding in check.report.findings]
    assert "hidden.add_(1)" in str(check)
    assert check.traceback.splitlines()[-1].startswith("RuntimeError: ")
    assert "autograd_inspector/" not in check.traceback


def test_why_a_parameter_did_not_move():
    """A rate of zero, a gradient of zero, a step too small for the dtype."""
    model = nn.ParameterDict({name: nn.Parameter(torch.ones(2)) for name in ("still", "dead", "fine")})
    model["coarse"] = nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    groups = [
        {"params": [model["still"]], "lr": 0.0},
        {"params": [model["dead"], model["fine"]], "lr": 0.1},
        {"params": [model["coarse"]], "lr": 1e-5},
    ]
    optimizer = torch.optim.SGD(groups)
    check = preflight(
        model,
        0.0,
        lambda m, zero: m["still"].sum() + (zero * m["dead"]).sum() + m["fine"].sum() + m["coarse"].sum(),
        optimizer,
    )
    found = {each.name: each for each in check.parameters}
    assert [name for name, each in found.items() if not each.why] == ["fine"]
    assert {name: (each.gradient, each.moved) for name, each in found.items()} == {
        "still": ("some", False),
        "dead": ("zero", False),
        "fine": ("some", True),
        "coarse": ("some", False),
    }
    assert "lr is 0" in found["still"].why
    assert "exactly zero" in found["dead"].why
    assert "did not move" in found["coarse"].why


def test_a_factor_that_is_zero_only_at_first_is_all_right():
    """As in LoRA: while B is zero, A gets a gradient of zero, and learns from the second step on."""
    model = nn.ParameterDict({"a": nn.Parameter(torch.ones(2, 2)), "b": nn.Parameter(torch.zeros(2, 2))})
    check = preflight(
        model, torch.ones(2), lambda m, x: (m["b"] @ m["a"] @ x).sum(), torch.optim.SGD(model.values(), 1)
    )
    assert check.ok, str(check)
    assert [(each.name, each.late) for each in check.parameters] == [("a", True), ("b", False)]
    assert "second step" in str(check)


def test_arguments_of_another_kind_are_refused():
    """One line each."""
    model, optimizer = made()
    for arguments, said in (
        ((optimizer, IDS, loss_of, optimizer), r"torch\.nn\.Module .* got AdamW"),
        ((model, IDS, loss_of, model), r"torch\.optim\.Optimizer .* got Net"),
        ((model, IDS, nn.CrossEntropyLoss(), optimizer), r"loss_fn\(model, batch\) .* got CrossEntropyLoss"),
        ((model, IDS, nn.functional.cross_entropy, optimizer), "got cross_entropy"),
    ):
        with pytest.raises(TypeError, match=said):
            preflight(*arguments)


def test_inside_a_capture_it_is_refused():
    """As any nested capture; both stay well."""
    with autograd_inspector.inspect(), pytest.raises(NestedInspectionError):
        preflight(*made_for(loss_of))
