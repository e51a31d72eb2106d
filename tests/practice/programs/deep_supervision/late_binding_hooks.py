"""Deep supervision by forward hooks: each hook sees the loop's last name, so all auxiliary heads but one get nothing."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(2, cout), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, ch=4):
        super().__init__()
        self.enc1, self.enc2 = block(1, ch), block(ch, 2 * ch)
        self.bottom = block(2 * ch, 2 * ch)
        self.dec2, self.dec1 = block(4 * ch, 2 * ch), block(3 * ch, ch)
        self.out = nn.Conv2d(ch, 2, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        b = self.bottom(F.max_pool2d(e2, 2))
        d2 = self.dec2(torch.cat((F.interpolate(b, scale_factor=2), e2), 1))
        d1 = self.dec1(torch.cat((F.interpolate(d2, scale_factor=2), e1), 1))
        return self.out(d1)


class DeepSupervision(nn.Module):
    """Adds a head to each of the named layers; the weights go down with the depth."""

    def __init__(self, net, channels):
        super().__init__()
        self.net = net
        self.features = {}
        self.heads = nn.ModuleDict({name: nn.Conv2d(c, 2, 1) for name, c in channels.items()})
        self.weights = {name: 0.5**i for i, name in enumerate(channels, start=1)}
        modules = dict(net.named_modules())
        for name in channels:
            modules[name].register_forward_hook(
                lambda module, args, output: self.features.__setitem__(name, output)  # cause
            )

    def forward(self, x):
        self.features.clear()
        out = self.net(x)
        return out, {name: self.heads[name](f) for name, f in self.features.items()} if self.training else {}

    def loss(self, x, target):
        out, auxiliary = self(x)
        loss = F.cross_entropy(out, target)
        for name, logits in auxiliary.items():
            size = target.shape[-2:]
            loss = loss + self.weights[name] * F.cross_entropy(F.interpolate(logits, size=size), target)
        return loss


def run():
    torch.manual_seed(0)
    model = DeepSupervision(UNet(), {"dec2": 8, "bottom": 8})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    start = {name: head.weight.detach().clone() for name, head in model.heads.items()}
    model.train()
    for _ in range(3):
        x = torch.randn(2, 1, 8, 8)
        target = (x.squeeze(1) > 0).long()
        optimizer.zero_grad()
        model.loss(x, target).backward()
        optimizer.step()
    return {name: torch.equal(start[name], head.weight) for name, head in model.heads.items()}


def verify(outcome):
    assert outcome == {"dec2": True, "bottom": False}, outcome


TRUTH = Truth(
    fault="the lambdas bind the loop variable late: all hooks store under the last name, the head of dec2 is not used",
    names=("dec2",),
    repair=("lambda module, args, output, name=name: self.features.__setitem__(name, output)",),
)
