"""Domain adaptation: gradient reversal as a hook on the shared features, which also reverses the gradient of the label loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class FeatureExtractor(nn.Module):
    def __init__(self, n_in=6, dim=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, dim), nn.Tanh())

    def forward(self, x):
        return self.net(x)


class DANN(nn.Module):
    def __init__(self, lam=1.0):
        super().__init__()
        self.feature = FeatureExtractor()
        self.classifier = nn.Linear(10, 2)
        self.domain = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 1))
        self.lam = lam

    def forward(self, x):
        f = self.feature(x)
        label = self.classifier(f)
        g = f  # cause
        if g.requires_grad:
            g.register_hook(lambda grad: -self.lam * grad)  # also
        return label, self.domain(g).squeeze(1)


def domains(n):
    src = torch.randn(n, 6)
    tgt = torch.randn(n, 6) * 0.8 + 0.5
    x = torch.cat([src, tgt])
    return x, (src[:, 0] > 0).long(), torch.cat([torch.zeros(n), torch.ones(n)])


def run():
    torch.manual_seed(0)
    model = DANN()
    opt = torch.optim.SGD(model.parameters(), lr=0.2)
    cosines = []
    for _ in range(3):
        x, y, d = domains(16)
        label, dom = model(x)
        label_loss = F.cross_entropy(label[:16], y)
        loss = label_loss + 0.01 * F.binary_cross_entropy_with_logits(dom, d)
        opt.zero_grad()
        loss.backward()
        got = model.feature.net[0].weight.grad.flatten()
        plain = F.cross_entropy(model.classifier(model.feature(x[:16])), y)
        want = torch.autograd.grad(plain, model.feature.net[0].weight)[0].flatten()
        cosines.append(F.cosine_similarity(got, want, dim=0).item())
        opt.step()
    return cosines


def verify(cosines):
    assert all(c < -0.9 for c in cosines), cosines


TRUTH = Truth(
    fault="the hook sits on the features that both heads share, so the label loss is reversed too: the extractor unlearns the task",
    names=("register_hook",),
    repair=("g = f.view_as(f)",),
)
