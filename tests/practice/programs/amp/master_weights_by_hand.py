"""Half-precision weights with float32 masters: gradients are copied up, unscaled, used, and the result is copied down."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def prep_param_lists(model):
    model_params = [p for p in model.parameters() if p.requires_grad]
    master_params = [p.clone().float().detach() for p in model_params]
    for p in master_params:
        p.requires_grad = True
    return model_params, master_params


def model_grads_to_master_grads(model_params, master_params):
    for model_p, master in zip(model_params, master_params):
        if master.grad is None:
            master.grad = torch.empty_like(master)
        master.grad.data.copy_(model_p.grad.data)


def master_params_to_model_params(model_params, master_params):
    for model_p, master in zip(model_params, master_params):
        model_p.data.copy_(master.data)


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)).to(torch.bfloat16)
    model_params, master_params = prep_param_lists(model)
    start = copy.deepcopy(master_params)
    optimizer = torch.optim.SGD(master_params, lr=1e-2, momentum=0.9)
    scale_factor, losses = 128.0, []
    for _ in range(4):
        x, y = torch.randn(8, 6), torch.randint(3, (8,))
        loss = F.cross_entropy(model(x.to(torch.bfloat16)).float(), y)
        model.zero_grad()
        (loss * scale_factor).backward()
        model_grads_to_master_grads(model_params, master_params)
        for p in master_params:
            p.grad.data.mul_(1.0 / scale_factor)
        optimizer.step()
        master_params_to_model_params(model_params, master_params)
        losses.append(loss.item())
    return model_params, master_params, start, losses


TRUTH = Truth()


def verify(out):
    model_params, master_params, start, losses = out
    assert all(p.dtype == torch.bfloat16 and q.dtype == torch.float32 for p, q in zip(model_params, master_params))
    assert all(torch.equal(p, q.to(torch.bfloat16)) for p, q in zip(model_params, master_params))
    assert all(not torch.equal(a, b) for a, b in zip(start, master_params)) and losses[-1] < 100
