"""nnU-Net style: validation switches deep supervision off, nobody switches it on again, the auxiliary heads stop."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.InstanceNorm2d(cout, affine=True), nn.LeakyReLU(0.01))


class UNet(nn.Module):
    def __init__(self, classes=2, ch=4):
        super().__init__()
        self.deep_supervision = True
        self.down1, self.down2, self.bottom = block(1, ch), block(ch, 2 * ch), block(2 * ch, 2 * ch)
        self.up2, self.up1 = block(4 * ch, ch), block(2 * ch, ch)
        self.head = nn.Conv2d(ch, classes, 1)
        self.aux = nn.Conv2d(ch, classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        d = self.up2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        e = self.up1(torch.cat([F.interpolate(d, scale_factor=2), a], 1))
        if self.deep_supervision:
            return self.head(e), self.aux(d)
        return (self.head(e),)


def supervised(outputs, target, weights=(1.0, 0.5)):
    loss = 0.0
    for out, w in zip(outputs, weights):
        small = F.interpolate(target[:, None].float(), size=out.shape[2:]).squeeze(1).long()
        loss = loss + w * F.cross_entropy(out, small)
    return loss


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.99, nesterov=True)

    def train_epoch(self, batches):
        self.net.train()  # cause
        for x, y in batches:
            self.opt.zero_grad()
            loss = supervised(self.net(x), y)  # symptom
            loss.backward()
            nn.utils.clip_grad_norm_(self.net.parameters(), 12)
            self.opt.step()
        return loss.item()

    @torch.no_grad()
    def validate(self, batches):
        self.net.eval()
        self.net.deep_supervision = False  # cause
        dice = []
        for x, y in batches:
            pred = self.net(x)[0].argmax(1)
            dice.append(2 * (pred * y).sum() / (pred.sum() + y.sum()).clamp(min=1))
        return torch.stack(dice).mean().item()


def run():
    torch.manual_seed(0)
    batches = [(x, (x[:, 0] > 0.7).long()) for x in (torch.rand(2, 1, 16, 16) for _ in range(3))]
    trainer = Trainer(UNet())
    for epoch in range(3):
        loss = trainer.train_epoch(batches[:2])
        print(f"epoch {epoch} loss {loss:.4f} dice {trainer.validate(batches[2:]):.4f}")
    return trainer.net


def verify(out):
    assert all(p.grad is None for p in out.aux.parameters())


TRUTH = Truth(
    fault="a switch of the model that validation leaves off: the auxiliary head is no longer trained",
    names=("deep_supervision", "aux"),
    repair=("self.net.train()\nself.net.deep_supervision = True", "self.net.deep_supervision = False"),
)
