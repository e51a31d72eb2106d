"""TRADES: the model is put in eval mode for the attack and not put back, it trains without BatchNorm updates."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class WideBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(c), nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.bn2, self.conv2 = nn.BatchNorm2d(c), nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        h = self.conv1(F.relu(self.bn1(x)))
        return x + self.conv2(self.drop(F.relu(self.bn2(h))))


class WideResNet(nn.Module):
    def __init__(self, c=6, n_classes=4):
        super().__init__()
        self.conv = nn.Conv2d(3, c, 3, padding=1)
        self.block = WideBlock(c)
        self.bn = nn.BatchNorm2d(c)
        self.fc = nn.Linear(c, n_classes)

    def forward(self, x):
        return self.fc(F.relu(self.bn(self.block(self.conv(x)))).mean((2, 3)))


def trades_loss(model, x, y, step_size=0.007, epsilon=0.031, perturb_steps=2, beta=6.0):
    kl = nn.KLDivLoss(reduction="sum")
    model.eval()  # also
    with torch.no_grad():
        p_nat = F.softmax(model(x), dim=1)
    x_adv = x.detach() + 0.001 * torch.randn_like(x)
    for _ in range(perturb_steps):
        x_adv.requires_grad_()
        loss_kl = kl(F.log_softmax(model(x_adv), dim=1), p_nat)
        (grad,) = torch.autograd.grad(loss_kl, [x_adv])
        x_adv = x_adv.detach() + step_size * torch.sign(grad.detach())
        x_adv = torch.min(torch.max(x_adv, x - epsilon), x + epsilon).clamp(0.0, 1.0)
    x_adv = x_adv.detach()  # cause
    logits = model(x)  # also
    natural = F.cross_entropy(logits, y)
    robust = kl(F.log_softmax(model(x_adv), dim=1), F.softmax(logits, dim=1)) / len(x)
    return natural + beta * robust


def run():
    torch.manual_seed(0)
    model = WideResNet()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=2e-4)
    for epoch in range(2):
        model.train()
        for _ in range(2):
            x, y = torch.rand(4, 3, 6, 6), torch.randint(0, 4, (4,))
            opt.zero_grad()
            loss = trades_loss(model, x, y)
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    return model


def verify(model):
    assert model.bn.num_batches_tracked == 0


TRUTH = Truth(
    fault="model.train() is missing after the attack",
    repair=("x_adv = x_adv.detach()\nmodel.train()",),
)
