"""The backbone's gradients are scaled by a tensor hook that is registered anew in every step, and the hooks add up."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Policy(nn.Module):
    """Torso with a policy and a value head, as in AlphaZero."""

    def __init__(self, board=9, dim=16):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(board, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.pi = nn.Linear(dim, board)
        self.v = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.torso(x)
        return self.pi(h), torch.tanh(self.v(h)).squeeze(-1)


class Learner:
    def __init__(self, backbone_scale=0.5):
        self.net = Policy()
        self.backbone_scale = backbone_scale
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.0)
        self.norms = []

    def slow_backbone(self):
        for p in self.net.torso.parameters():
            p.register_hook(lambda g: g * self.backbone_scale)  # also

    def update(self, boards, policy, value):
        self.slow_backbone()  # cause
        logits, v = self.net(boards)
        loss_pi = -(policy * logits.log_softmax(-1)).sum(-1).mean()
        loss_v = F.mse_loss(v, value)
        self.opt.zero_grad()
        (loss_pi + loss_v).backward()
        self.norms.append(self.net.torso[0].weight.grad.norm().item())
        self.opt.step()
        return loss_pi.item(), loss_v.item()


def run():
    torch.manual_seed(0)
    learner = Learner()
    boards = torch.randint(-1, 2, (16, 9)).float()
    policy = torch.softmax(torch.randn(16, 9), -1)
    value = boards.sum(1).sign()
    for step in range(4):
        pi, v = learner.update(boards, policy, value)
        print(f"step {step} pi {pi:.3f} v {v:.3f} torso {learner.norms[-1]:.5f}")
    return learner.norms, learner.net


def verify(out):
    norms, _ = out
    assert norms[3] < 0.3 * norms[0]  # halved once more in every step


TRUTH = Truth(
    fault="one more scaling hook on every backbone parameter in every step",
    names=("torso",),
    repair=("self.slow_backbone() if not self.norms else None",),
)
