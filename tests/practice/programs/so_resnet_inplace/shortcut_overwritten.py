"""Pre-activation ResNet: the in-place ReLU on the block's input also changes the shortcut, which then carries no negative value."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class PreActBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.act = nn.ReLU(inplace=True)  # cause
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        shortcut = x  # also
        out = self.conv1(self.act(x))  # also
        out = self.conv2(torch.relu(out))
        return out + shortcut


class PreActNet(nn.Module):
    def __init__(self, ch=4, n_blocks=2, n_classes=3):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 3, padding=1)
        self.blocks = nn.ModuleList(PreActBlock(ch) for _ in range(n_blocks))
        self.fc = nn.Linear(ch, n_classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean((2, 3)))


@torch.no_grad()
def expected(net, x):
    """What the paper's formula gives."""
    x = net.stem(x)
    for b in net.blocks:
        x = x + b.conv2(torch.relu(b.conv1(torch.relu(x))))
    return net.fc(x.mean((2, 3)))


def run():
    torch.manual_seed(0)
    net = PreActNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    gaps = []
    for _ in range(3):
        img = torch.randn(6, 1, 6, 6)
        label = torch.randint(0, 3, (6,))
        want = expected(net, img)
        logits = net(img)
        gaps.append((logits.detach() - want).abs().max().item())
        loss = nn.functional.cross_entropy(logits, label)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return gaps


def verify(gaps):
    assert all(g > 1e-3 for g in gaps), gaps


TRUTH = Truth(
    fault="ReLU(inplace=True) overwrites x, which the shortcut aliases: value and gradient of the identity path are cut at zero",
    names=("inplace",),
    repair=("self.act = nn.ReLU()",),
)
