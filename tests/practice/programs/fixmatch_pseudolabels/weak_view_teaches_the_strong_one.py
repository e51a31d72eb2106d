"""FixMatch, and right: pseudo-labels without a graph, a mask that may be all zero, and an EMA model for evaluation."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def interleave(x, size):
    return x.reshape([-1, size, *x.shape[1:]]).transpose(0, 1).reshape([-1, *x.shape[1:]])


def de_interleave(x, size):
    return x.reshape([size, -1, *x.shape[1:]]).transpose(0, 1).reshape([-1, *x.shape[1:]])


class WideNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8, momentum=0.1)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(F.leaky_relu(self.bn1(self.conv1(x)), 0.1).mean((2, 3)))


class ModelEMA:
    def __init__(self, model, decay):
        self.ema = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.ema.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        msd, esd = model.state_dict(), self.ema.state_dict()
        for k, _ in self.ema.named_parameters():
            esd[k].copy_(esd[k] * self.decay + (1.0 - self.decay) * msd[k])
        for k, _ in self.ema.named_buffers():
            esd[k].copy_(msd[k])


def run():
    torch.manual_seed(0)
    args = dict(mu=2, T=1.0, threshold=0.4, lambda_u=1.0, batch=6)
    model = WideNet()
    no_decay = ["bias", "bn"]
    grouped = [
        {
            "params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)],
            "weight_decay": 5e-4,
        },
        {"params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.SGD(grouped, lr=0.03, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: max(0.0, 1 - s / 10))
    ema = ModelEMA(model, 0.9)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    used = []
    model.zero_grad()
    for _ in range(4):
        model.train()
        targets = torch.randint(0, 3, (args["batch"],))
        inputs_x = torch.randn(args["batch"], 1, 6, 6) + targets.view(-1, 1, 1, 1)
        u = torch.randn(args["batch"] * args["mu"], 1, 6, 6)
        weak, strong = u + 0.05 * torch.randn_like(u), u * (torch.rand_like(u) > 0.3)
        inputs = interleave(torch.cat([inputs_x, weak, strong]), 2 * args["mu"] + 1)
        logits = de_interleave(model(inputs), 2 * args["mu"] + 1)
        logits_x = logits[: args["batch"]]
        logits_u_w, logits_u_s = logits[args["batch"] :].chunk(2)
        del logits
        pseudo = torch.softmax(logits_u_w.detach() / args["T"], dim=-1)
        max_probs, targets_u = pseudo.max(dim=-1)
        mask = max_probs.ge(args["threshold"]).float()
        loss_u = (F.cross_entropy(logits_u_s, targets_u, reduction="none") * mask).mean()
        loss = F.cross_entropy(logits_x, targets) + args["lambda_u"] * loss_u
        loss.backward()
        optimizer.step()
        scheduler.step()
        ema.update(model)
        model.zero_grad()
        used.append(mask.mean().item())
    same = torch.equal(ema.ema.bn1.running_mean, model.bn1.running_mean)
    return same, {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}, used


def verify(outcome):
    same, moved, used = outcome
    assert same
    assert all(v > 0 for v in moved.values())
    assert sum(used) > 0


TRUTH = Truth()
