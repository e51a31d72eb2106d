"""Pruning with gradient masks: rewinding by load_state_dict(assign=True) makes new Parameters, so the hooks are gone and pruned weights grow back."""

import copy

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class LeNet300(nn.Module):
    def __init__(self, n_in=10, n_out=3):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 20)
        self.fc2 = nn.Linear(20, 10)
        self.fc3 = nn.Linear(10, n_out)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


def make_masks(model, amount):
    masks = {}
    for name, p in model.named_parameters():
        if p.dim() == 2:
            k = int(p.numel() * amount)
            cut = p.detach().abs().flatten().kthvalue(k).values
            masks[name] = (p.detach().abs() > cut).float()
    return masks


def attach(model, masks):
    for name, p in model.named_parameters():
        if name in masks:
            p.register_hook(lambda g, m=masks[name]: g * m)


def rewind(model, initial, masks):
    state = {k: v.clone() for k, v in initial.items()}
    for name, mask in masks.items():
        state[name] = state[name] * mask
    model.load_state_dict(state, assign=True)  # cause


def train(model, steps):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        x = torch.randn(16, 10)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def run():
    torch.manual_seed(0)
    model = LeNet300()
    initial = copy.deepcopy(model.state_dict())
    train(model, 2)
    masks = make_masks(model, amount=0.5)
    attach(model, masks)
    rewind(model, initial, masks)
    train(model, 2)
    params = dict(model.named_parameters())
    return {n: int(((1 - m) * params[n].detach()).count_nonzero()) for n, m in masks.items()}


def verify(regrown):
    assert all(regrown.values()), regrown


TRUTH = Truth(
    fault="load_state_dict(assign=True) replaces the parameters, and the hooks that mask the gradients stay on the old ones",
    names=("assign",),
    repair=("model.load_state_dict(state)",),
)
