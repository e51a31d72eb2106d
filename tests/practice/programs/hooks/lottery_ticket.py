"""Lottery-ticket masks as gradient hooks made in a loop: each lambda looks up the loop's last name when it runs."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.fc1 = nn.Linear(dim, dim, bias=False)
        self.fc2 = nn.Linear(dim, dim, bias=False)
        self.fc3 = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def magnitude_masks(model, keep=0.5):
    masks = {}
    for name, p in model.named_parameters():
        threshold = p.detach().abs().flatten().kthvalue(int((1 - keep) * p.numel())).values
        masks[name] = (p.detach().abs() > threshold).float()
    return masks


def apply_masks(model, masks):
    handles = []
    for name, p in model.named_parameters():
        with torch.no_grad():
            p.mul_(masks[name])
        handles.append(p.register_hook(lambda grad: grad * masks[name]))  # cause
    return handles


def train(model, steps, lr=0.1):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        x = torch.randn(32, 8)
        loss = F.mse_loss(model(x), x.flip(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    model = Net()
    rewind = {k: v.clone() for k, v in model.state_dict().items()}
    print(f"dense {train(model, 3):.4f}")
    masks = magnitude_masks(model)
    model.load_state_dict(rewind)
    handles = apply_masks(model, masks)
    print(f"ticket {train(model, 3):.4f}")
    for handle in handles:
        handle.remove()
    return model, masks


def verify(out):
    model, masks = out
    assert model.fc1.weight[masks["fc1.weight"] == 0].any()  # pruned weights have come back


TRUTH = Truth(
    fault="every hook multiplies by the last parameter's mask",
    names=("masks",),
    repair=("handles.append(p.register_hook(lambda grad, mask=masks[name]: grad * mask))",),
)
