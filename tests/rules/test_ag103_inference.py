"""AG103: computed under inference mode, or a tensor made there used where autograd records."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def test_features_extracted_in_inference_mode():
    """A head cannot be trained on inference tensors; a clone made outside, or no_grad, can."""

    def program(extract):
        backbone, head = nn.Linear(4, 4).requires_grad_(False), nn.Linear(4, 2)
        optimizer = torch.optim.Adam(head.parameters())
        trained(optimizer, F.cross_entropy(head(extract(backbone)), Y))

    def inferred(backbone):
        with torch.inference_mode():
            features = backbone(X).relu()
            return features  # noqa: RET504 - the name is what the message says

    diagnosed(
        lambda: program(inferred), "AG103", "features = backbone(X)", "inference", "features", severity="error",
        where=inferred,
    )  # fmt: skip
    silent(lambda: program(lambda backbone: inferred(backbone).clone()))


def test_rotary_cache_filled_during_validation():
    """A table cached by the first, inferring call poisons the training that follows."""

    class Rotary(nn.Module):
        def __init__(self, eager):
            super().__init__()
            self.proj, self.table = nn.Linear(4, 4), None
            if eager:
                self.fill()

        def fill(self):
            self.table = torch.arange(4.0).mul(-math.log(10000.0) / 4).exp().cos()

        def forward(self, x):
            if self.table is None:
                self.fill()
            return self.proj(x) * self.table

    def program(eager):
        net = Rotary(eager)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with torch.inference_mode():
            net(X)
        trained(optimizer, net(X).pow(2).mean())

    diagnosed(
        lambda: program(eager=False), "AG103", ".exp().cos()", "table", "inference", severity="error", where=Rotary
    )
    silent(lambda: program(eager=True))


def test_decorated_encoder_in_front_of_a_sum():
    """Where the consumer saves nothing nothing raises, and the encoder silently gets no gradient."""

    class Tower(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(4, 2)

        def forward(self, x):
            return self.proj(x)

        @torch.inference_mode()
        def encode(self, x):
            return self.proj(x)

    def sick():
        left, right = Tower(), Tower()
        optimizer = torch.optim.Adam([*left.parameters(), *right.parameters()])
        trained(optimizer, F.cross_entropy(left(X) + right.encode(X), Y))

    def healthy():
        left, right = Tower(), Tower()
        optimizer = torch.optim.Adam([*left.parameters(), *right.parameters()])
        trained(optimizer, F.cross_entropy(left(X) + right(X), Y))
        return right.encode(X).argmax(dim=1)

    diagnosed(sick, "AG103", "@torch.inference_mode()", "encode", "right.proj.weight", severity="warning", where=Tower)
    silent(healthy)


def test_state_buffer_updated_outside_inference_mode():
    """An inference tensor cannot be written in place outside of inference mode."""

    def program(start):
        net = nn.Linear(4, 2)
        running = start(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        output = net(X)
        running.mul_(0.9).add_(output.detach().mean(0), alpha=0.1)
        trained(optimizer, F.cross_entropy(output, Y))

    def inferred(net):
        with torch.inference_mode():
            return net(X).mean(0)

    def plain(net):
        with torch.no_grad():
            return net(X).mean(0)

    finding = diagnosed(
        lambda: program(inferred), "AG103", "return net(X).mean(0)", "running", severity="error", where=inferred
    )
    assert "`mul_` modifies running" in finding.message
    assert "saved" not in finding.message
    silent(lambda: program(plain))


def test_loss_computed_in_inference_mode():
    """Backward cannot start from what was computed under inference mode, even with grad mode switched on inside."""

    def sick():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with torch.inference_mode():
            torch.set_grad_enabled(True)
            loss = F.cross_entropy(net(X), Y)
        trained(optimizer, loss)

    def healthy():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y))
            with torch.inference_mode():
                F.cross_entropy(net(X), Y).item()
        with torch.inference_mode(), torch.inference_mode(mode=False):
            trained(optimizer, F.cross_entropy(net(X), Y))

    diagnosed(sick, "AG103", "with torch.inference_mode():", "weight", "inference_mode", severity="error")
    silent(healthy)


def test_inference_mode_entered_by_hand():
    """`inference_mode().__enter__()` without its exit leaves everything after it unrecorded."""

    def forgetful(net):
        net.mode = torch.inference_mode()
        net.mode.__enter__()
        return net(X).argmax(dim=1)

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        forgetful(net)
        try:
            trained(optimizer, F.cross_entropy(net(X), Y))
        finally:
            net.mode.__exit__(None, None, None)

    diagnosed(program, "AG103", "net.mode.__enter__()", "inference", severity="error", where=forgetful)


def test_key_value_cache_from_generation():
    """A cache that generation filled under inference mode cannot be extended in training."""

    def program(prefill):
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        cache = prefill(net)
        keys = torch.cat([cache, net(X[:, None])], dim=1)
        trained(optimizer, (keys @ keys.transpose(1, 2)).softmax(-1).log().mean())

    def inferred(net):
        with torch.inference_mode():
            return net(X[:, None].expand(-1, 3, -1))

    def without_grad(net):
        with torch.no_grad():
            return net(X[:, None].expand(-1, 3, -1))

    silent(lambda: program(inferred), lambda: program(without_grad))

    def sick():
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        cache = inferred(net)
        scores = net(X[:, None]) @ cache.transpose(1, 2)
        trained(optimizer, scores.mean())

    diagnosed(sick, "AG103", "net(X[:, None].expand", "cache", "inference", severity="error", where=inferred)


def test_module_built_in_inference_mode():
    """Parameters made under inference mode can never learn."""

    def sick():
        with torch.inference_mode():
            net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, F.cross_entropy(net(X), Y))

    # The optimizer's step raises, and the weight's gradient is lost before that.
    diagnosed(sick, "AG103", "net = nn.Linear(4, 2)", "inference", "weight", severity="error", besides=("AG301",))
