"""Mixed precision by hand: the master weights are stepped and never copied back into the half-precision model."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def bn_to_float(module):
    if isinstance(module, nn.BatchNorm1d):
        module.float()
    for child in module.children():
        bn_to_float(child)
    return module


def prep_param_lists(model):
    model_params = [p for p in model.parameters() if p.requires_grad]
    master_params = [p.detach().clone().float() for p in model_params]
    for p in master_params:
        p.requires_grad = True
    return model_params, master_params


def model_grads_to_master_grads(model_params, master_params):
    for model, master in zip(model_params, master_params):
        if model.grad is not None:
            if master.grad is None:
                master.grad = torch.empty_like(master)
            master.grad.data.copy_(model.grad.data)
        else:
            master.grad = None


def master_params_to_model_params(model_params, master_params):
    for model, master in zip(model_params, master_params):
        model.data.copy_(master.data)


class DynamicLossScaler:
    def __init__(self, init_scale=2.0**8, scale_factor=2.0, scale_window=2):
        self.cur_scale, self.scale_factor, self.scale_window = init_scale, scale_factor, scale_window
        self.cur_iter, self.last_overflow_iter = 0, -1

    def has_overflow(self, params):
        return any(p.grad is not None and not torch.isfinite(p.grad.float().sum()) for p in params)

    def update_scale(self, overflow):
        if overflow:
            self.cur_scale = max(self.cur_scale / self.scale_factor, 1)
            self.last_overflow_iter = self.cur_iter
        elif (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
            self.cur_scale *= self.scale_factor
        self.cur_iter += 1


class FP16_Optimizer:
    def __init__(self, model, make):
        self.model_params, self.master_params = prep_param_lists(model)
        self.optimizer = make(self.master_params)
        self.loss_scaler = DynamicLossScaler()
        self.overflow = False

    def zero_grad(self):
        for p in self.model_params:
            p.grad = None

    def backward(self, loss):
        (loss.float() * self.loss_scaler.cur_scale).backward()
        self.overflow = self.loss_scaler.has_overflow(self.model_params)
        if not self.overflow:
            model_grads_to_master_grads(self.model_params, self.master_params)
            for p in self.master_params:
                p.grad.mul_(1.0 / self.loss_scaler.cur_scale)

    def clip_master_grads(self, max_norm):
        return -1 if self.overflow else torch.nn.utils.clip_grad_norm_(self.master_params, max_norm)

    def step(self):
        self.loss_scaler.update_scale(self.overflow)
        if self.overflow:
            return
        self.optimizer.step()  # cause


class Tagger(nn.Module):
    def __init__(self, vocab=30, dim=16, tags=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.conv = nn.Linear(3 * dim, dim)
        self.out = nn.Linear(dim, tags)

    def forward(self, ids):
        x = self.embed(ids)
        window = torch.cat([x.roll(1, 1), x, x.roll(-1, 1)], -1)
        return self.out(torch.relu(self.conv(window)))


def run():
    torch.manual_seed(0)
    model = bn_to_float(Tagger().bfloat16())
    optimizer = FP16_Optimizer(model, lambda params: torch.optim.Adam(params, lr=1e-2))
    before = copy.deepcopy(model.state_dict())
    start = [p.detach().clone() for p in optimizer.master_params]
    for _ in range(4):
        ids = torch.randint(0, 30, (8, 6))
        logits = model(ids)
        loss = F.cross_entropy(logits.float().flatten(0, 1), (ids % 5).flatten())
        optimizer.zero_grad()
        optimizer.backward(loss)
        optimizer.clip_master_grads(5.0)
        optimizer.step()
    moved = all(not torch.equal(a, b) for a, b in zip(start, optimizer.master_params))
    return before, model.state_dict(), moved


def verify(outcome):
    before, after, moved = outcome
    assert moved and all(torch.equal(before[n], after[n]) for n in before)


TRUTH = Truth(
    fault="only the float32 master weights are trained, the model keeps its first weights",
    names=("master_params",),
    repair=("self.optimizer.step()\nmaster_params_to_model_params(self.model_params, self.master_params)",),
)
