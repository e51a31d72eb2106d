"""Old PyTorch to new: Variable(torch.FloatTensor(losses), requires_grad=True).mean() became torch.tensor(...): backward() reaches nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Siamese(nn.Module):
    def __init__(self, dim=8, embedding=4):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, embedding))

    def forward(self, left, right):
        return F.pairwise_distance(self.trunk(left), self.trunk(right))


def contrastive(distance, same, margin=1.0):
    return same * distance.square() + (1 - same) * F.relu(margin - distance).square()


def hardest(losses, keep):
    return sorted(losses, key=float, reverse=True)[:keep]


def reduce_losses(losses):
    return torch.tensor(losses, requires_grad=True).mean()  # cause


def train(model, pairs, keep=6):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    history = []
    for left, right, same in pairs:
        optimizer.zero_grad()
        losses = hardest(list(contrastive(model(left, right), same)), keep)
        loss = reduce_losses(losses)
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    return history


def run():
    torch.manual_seed(0)
    model = Siamese()
    before = model.trunk[0].weight.detach().clone()
    pairs = [(torch.randn(10, 8), torch.randn(10, 8), torch.randint(0, 2, (10,)).float()) for _ in range(3)]
    train(model, pairs)
    return before, model.trunk[0].weight


def verify(outcome):
    before, weight = outcome
    assert weight.grad is None and torch.equal(before, weight.detach())


TRUTH = Truth(
    fault="the loss is a new leaf made of the losses' numbers: no gradient reaches the model",
    names=("tensor",),
    repair=("return torch.stack(losses).mean()",),
)
