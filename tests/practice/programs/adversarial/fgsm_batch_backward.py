"""FGSM with backward(): the attack's gradients on the weights are thrown away by a zero_grad before the real pass."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Attack:
    def __init__(self, model, epsilon):
        self.model, self.epsilon = model, epsilon

    def __call__(self, data, target):
        data = data.clone().detach()
        data.requires_grad = True
        loss = F.nll_loss(F.log_softmax(self.model(data), 1), target)
        self.model.zero_grad()
        loss.backward()
        sign = data.grad.data.sign()
        return torch.clamp(data.detach() + self.epsilon * sign, 0, 1)


def test(model, attack, batches):
    correct, examples = 0, []
    for data, target in batches:
        init_pred = model(data).max(1, keepdim=True)[1]
        if init_pred.item() != target.item():
            continue
        adv = attack(data, target)
        with torch.no_grad():
            final = model(adv).argmax(1)
        if final.item() == target.item():
            correct += 1
        else:
            examples.append((init_pred.item(), final.item(), adv.squeeze().cpu().numpy()))
    model.zero_grad(set_to_none=True)
    return correct, examples


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 3))
    attack = Attack(model, 0.2)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    losses = []
    for _ in range(3):
        x, y = torch.rand(8, 10), torch.randint(3, (8,))
        x_adv = attack(x, y)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(torch.cat([x, x_adv])), torch.cat([y, y]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    correct, examples = test(model, attack, [(torch.rand(1, 10), torch.randint(3, (1,))) for _ in range(6)])
    return model, losses, correct, examples


TRUTH = Truth()


def verify(out):
    model, losses, correct, examples = out
    assert all(p.grad is None for p in model.parameters())
    assert all(0 < loss < 100 for loss in losses) and correct + len(examples) <= 6
