"""DP-SGD: per-sample gradients by vmap(grad), clipped, summed, noised and written to .grad; no backward() anywhere."""

import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap
from tests.practice.truth import Truth

CLIP, SIGMA = 0.5, 0.8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 3, 3, padding=1)
        self.norm = nn.GroupNorm(1, 3)
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        return self.fc(F.relu(self.norm(self.conv(x))).mean(-1))


class PrivacyEngine:
    def __init__(self, model, seed):
        self.model = model
        self.generator = torch.Generator().manual_seed(seed)

        def loss(params, x, y):
            return F.cross_entropy(functional_call(model, params, (x[None],)), y[None])

        self.per_sample = vmap(grad(loss), in_dims=(None, 0, 0))

    def fill(self, x, y):
        params = {n: p.detach() for n, p in self.model.named_parameters()}
        grads = self.per_sample(params, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        factor = (CLIP / (norms + 1e-6)).clamp(max=1)
        for n, p in self.model.named_parameters():
            summed = torch.einsum("b,b...->...", factor, grads[n])
            summed += SIGMA * CLIP * torch.randn(p.shape, generator=self.generator)
            p.grad = summed / len(x)
        return norms


def run():
    torch.manual_seed(0)
    model = Net()
    engine = PrivacyEngine(model, 21)
    opt = torch.optim.SGD(model.parameters(), lr=0.3)
    log = []
    for _ in range(3):
        x, y = torch.randn(6, 1, 8), torch.randint(2, (6,))
        before = {k: v.clone() for k, v in model.state_dict().items()}
        opt.zero_grad()
        norms = engine.fill(x, y)
        log.append((x, y, before, norms, [p.grad.clone() for p in model.parameters()]))
        opt.step()
    return model, log


def verify(outcome):
    model, log = outcome
    g = torch.Generator().manual_seed(21)
    twin = Net()
    clipped = 0
    for x, y, before, norms, grads in log:
        twin.load_state_dict(before)
        total = [torch.zeros_like(p) for p in twin.parameters()]
        for i in range(6):
            one = torch.autograd.grad(F.cross_entropy(twin(x[i : i + 1]), y[i : i + 1]), list(twin.parameters()))
            norm = torch.cat([o.flatten() for o in one]).norm()
            assert torch.allclose(norm, norms[i], atol=1e-4)
            clipped += bool(norm > CLIP)
            total = [t + o * min(1.0, CLIP / (norm.item() + 1e-6)) for t, o in zip(total, one)]
        for t, got in zip(total, grads):
            assert torch.allclose((t + SIGMA * CLIP * torch.randn(t.shape, generator=g)) / 6, got, atol=1e-5)
    assert clipped > 0 and all(not torch.equal(p, log[0][2][n]) for n, p in model.named_parameters())


TRUTH = Truth()
