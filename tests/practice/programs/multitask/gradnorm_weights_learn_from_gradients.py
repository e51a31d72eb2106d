"""GradNorm: loss weights learn from norms of gradients (create_graph), their own gradient is overwritten, then they are renormalised in place."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth

ALPHA = 0.5


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(4, 8)
        self.heads = nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])
        self.weights = nn.Parameter(torch.ones(2))

    def losses(self, x, ys):
        h = self.shared(x).tanh()
        return torch.stack([F.mse_loss(head(h).squeeze(1), y) for head, y in zip(self.heads, ys)])


class GradNorm:
    def __init__(self, net):
        self.net, self.initial = net, None
        body = [p for n, p in net.named_parameters() if n != "weights"]
        self.opt = torch.optim.Adam([{"params": body, "lr": 1e-2}, {"params": [net.weights], "lr": 0.05}])

    def step(self, x, ys):
        losses = self.net.losses(x, ys)
        if self.initial is None:
            self.initial = losses.detach()
        self.opt.zero_grad()
        (self.net.weights * losses).sum().backward(retain_graph=True)
        self.net.weights.grad = None  # not from the sum: that would push them to zero
        w = self.net.shared.weight
        norms = torch.stack(
            [torch.autograd.grad(self.net.weights[i] * losses[i], w, create_graph=True)[0].norm() for i in range(2)]
        )
        with torch.no_grad():
            ratio = losses / self.initial
            target = norms.mean() * (ratio / ratio.mean()) ** ALPHA
        self.net.weights.grad = torch.autograd.grad((norms - target).abs().sum(), self.net.weights)[0]
        seen = {n: p.grad.clone() for n, p in self.net.named_parameters()}
        self.opt.step()
        with torch.no_grad():
            self.net.weights.clamp_(min=1e-2).mul_(2 / self.net.weights.sum())
        return seen


def run():
    torch.manual_seed(0)
    net = Net()
    trainer = GradNorm(net)
    log = []
    for _ in range(4):
        x = torch.randn(12, 4)
        ys = (x[:, 0], 5 * x[:, 1] * x[:, 2])
        state = {k: v.clone() for k, v in net.state_dict().items()}
        log.append((x, ys, state, trainer.step(x, ys)))
    return net, trainer.initial, log


def verify(outcome):
    net, initial, log = outcome
    twin = Net()
    for x, ys, state, grads in log:
        twin.load_state_dict(state)
        losses = twin.losses(x, ys)
        body = [p for n, p in twin.named_parameters() if n != "weights"]
        w = state["weights"]
        for (n, _), g in zip(
            [t for t in twin.named_parameters() if t[0] != "weights"],
            torch.autograd.grad((w * losses).sum(), body, retain_graph=True),
        ):
            assert torch.allclose(g, grads[n], atol=1e-6)
        raw = torch.stack([torch.autograd.grad(l, twin.shared.weight, retain_graph=True)[0].norm() for l in losses])
        r = losses.detach() / initial
        gap = w * raw - (w * raw).mean() * (r / r.mean()) ** ALPHA
        assert torch.allclose(grads["weights"], gap.sign() * raw, atol=1e-5)
    assert abs(net.weights.sum().item() - 2) < 1e-5 and not torch.equal(net.weights, torch.ones(2))
    assert all(not torch.equal(v, log[0][2][k]) for k, v in net.state_dict().items())


TRUTH = Truth()
