"""AG306: hooks on parameters that are replaced afterwards."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, line_of, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def fit(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, F.cross_entropy(net(X), Y))


def masked(net, *, before, anew):
    """A mask on the gradient of a weight, which is pruned: in place, or by a new Parameter."""
    weight = net[0].weight
    mask = (weight.abs() > 0.2).float()
    if before:
        weight.register_hook(lambda grad: grad * mask)
    if anew:
        net[0].weight = nn.Parameter(weight.detach() * mask)
    else:
        with torch.no_grad():
            weight.mul_(mask)
    if not before:
        net[0].weight.register_hook(lambda grad: grad * mask)
    fit(net)


def test_mask_that_stays_on_the_old_weight():
    """The replacement comes first; registered after it, or with the weight modified in place, the hook runs."""
    diagnosed(
        lambda: masked(network(), before=True, anew=True),
        "AG306",
        "net[0].weight = nn.Parameter",
        "0.weight",
        severity="warning",
        where=masked,
    )
    calm(
        lambda: masked(network(), before=False, anew=True),
        lambda: masked(network(), before=True, anew=False),
    )


def test_hook_that_served_its_model():
    """A model with a hook has been trained, and another one begins with its values: the hook is not missed."""

    def program():
        old, new = network(), network()
        old[0].weight.register_hook(lambda grad: grad.clamp(-1, 1))
        fit(old)
        new[0].weight = nn.Parameter(old[0].weight.detach().clone())
        del old
        fit(new)

    calm(program)


def hooked():
    net = network()
    net[0].weight.register_hook(lambda grad: grad * (torch.arange(4) > 1))
    return net


def folds(template, *, prepare=lambda net: net):
    for _ in range(2):
        fit(prepare(copy.deepcopy(template)))


def test_hook_that_a_copy_does_not_have():
    """A copy is trained without the hook of its original; one that has a hook, or a trained original, is fine."""

    def again(net):
        net[0].weight.register_hook(lambda grad: grad * (torch.arange(4) > 1))
        return net

    found = diagnosed(
        lambda: folds(hooked()), "AG306", "copy.deepcopy(template)", "0.weight", "copied from", severity="warning",
        where=folds,
    )  # fmt: skip
    assert line_of(hooked, "register_hook") in [place.lineno for place in found.locations]

    def teacher():
        net = hooked()
        frozen = copy.deepcopy(net).requires_grad_(False)
        fit(net)
        frozen(X)

    def finetuned():
        net = hooked()
        fit(net)
        fit(copy.deepcopy(net))

    calm(lambda: folds(hooked(), prepare=again), teacher, finetuned)


def test_hook_on_another_tensor_than_the_copied_one():
    """A layer begins with the values of a part of a hooked one, or a model was copied before the hook."""

    def part():
        big, small = hooked(), network()
        with torch.no_grad():
            small[2].weight.copy_(big[0].weight[:2, :1].expand(2, 8))
        fit(small)

    def before():
        net = network()
        other = copy.deepcopy(net)
        net[0].weight.register_hook(lambda grad: grad * 0.5)
        fit(other)

    calm(part, before)


def rewound(*, assign, again=False, removed=False, trained_after=True):
    """Masks on the gradients of a pruned model, whose first weights are loaded again."""
    net = network()
    first = {name: value.clone() for name, value in net.state_dict().items()}
    mask = (net[0].weight.detach().abs() > 0.2).float()
    handle = net[0].weight.register_hook(lambda grad: grad * mask)  # masked
    fit(net)
    if removed:
        handle.remove()
    net.load_state_dict(first, assign=assign)  # loaded
    if again:
        net[0].weight.register_hook(lambda grad: grad * mask)
    if trained_after:
        fit(net)


def test_hook_on_a_parameter_that_a_load_replaces():
    """With assign=True the new parameter has no hook. Fine: without, hooked again, removed before, not trained on."""
    finding = diagnosed(
        lambda: rewound(assign=True),
        "AG306",
        "# loaded",
        "# masked",
        "0.weight",
        "assign=True",
        severity="warning",
        where=rewound,
    )
    assert finding.edits
    calm(
        lambda: rewound(assign=False),
        lambda: rewound(assign=True, again=True),
        lambda: rewound(assign=True, removed=True),
        lambda: rewound(assign=True, trained_after=False),
    )
