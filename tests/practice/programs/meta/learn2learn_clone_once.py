"""Meta-learning: the clone moved out of the task loop, so each task starts where the last one ended."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Args:
    ways: int = 3
    shots: int = 4
    meta_lr: float = 3e-3
    fast_lr: float = 0.3
    meta_batch_size: int = 3
    adaptation_steps: int = 1
    num_iterations: int = 2


def clone_module(module):
    """A copy of the module whose parameters are non-leaf clones, differentiable back to the originals."""
    clone = module.__new__(type(module))
    clone.__dict__ = module.__dict__.copy()
    clone._parameters = {k: None if p is None else p.clone() for k, p in module._parameters.items()}
    clone._buffers = {k: None if b is None else b.clone() for k, b in module._buffers.items()}
    clone._modules = {k: clone_module(m) for k, m in module._modules.items()}
    return clone


def update_module(module, lr, grads):
    grads = iter(grads)

    def visit(m):
        for key, p in m._parameters.items():
            if p is not None:
                m._parameters[key] = p - lr * next(grads)
        for child in m._modules.values():
            visit(child)

    visit(module)


def tensors(module):
    own = [p for p in module._parameters.values() if p is not None]
    return own + [t for child in module._modules.values() for t in tensors(child)]


class MAML(nn.Module):
    def __init__(self, model, lr, first_order=False):
        super().__init__()
        self.module, self.lr, self.first_order = model, lr, first_order

    def forward(self, x):
        return self.module(x)

    def clone(self):
        return MAML(clone_module(self.module), self.lr, self.first_order)

    def adapt(self, loss):
        second = not self.first_order
        grads = torch.autograd.grad(loss, tensors(self.module), create_graph=second, retain_graph=second)
        update_module(self.module, self.lr, grads)


class OmniglotFC(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.fc1, self.norm, self.fc2 = nn.Linear(inp, 16), nn.LayerNorm(16), nn.Linear(16, out)

    def forward(self, x):
        return self.fc2(F.relu(self.norm(self.fc1(x))))


class TaskSet:
    def __init__(self, ways, shots):
        self.ways, self.shots = ways, shots

    def sample(self):
        centres = torch.randn(self.ways, 8) * 2
        labels = torch.arange(self.ways).repeat(2 * self.shots)
        return centres[labels] + torch.randn(len(labels), 8) * 0.3, labels


def fast_adapt(batch, learner, loss_fn, args, starts):
    data, labels = batch
    half = len(data) // 2
    starts.append(learner.module.fc1.weight.detach().clone())
    for _ in range(args.adaptation_steps):
        learner.adapt(loss_fn(learner(data[:half]), labels[:half]))
    return loss_fn(learner(data[half:]), labels[half:])


def run():
    torch.manual_seed(42)
    args = Args()
    maml = MAML(OmniglotFC(8, args.ways), lr=args.fast_lr)
    opt = torch.optim.Adam(maml.parameters(), args.meta_lr)
    tasks, starts = TaskSet(args.ways, args.shots), []
    for _ in range(args.num_iterations):
        opt.zero_grad()
        meta_train_error = 0.0
        learner = maml.clone()  # also
        for _ in range(args.meta_batch_size):
            evaluation_error = fast_adapt(tasks.sample(), learner, F.cross_entropy, args, starts)  # cause
            meta_train_error = meta_train_error + evaluation_error
        meta_train_error.backward()
        for p in maml.parameters():
            p.grad.mul_(1.0 / args.meta_batch_size)
        opt.step()
    return starts


def verify(starts):
    assert not torch.equal(starts[0], starts[1]) and not torch.equal(starts[1], starts[2])


TRUTH = Truth(
    fault="one clone is adapted by all tasks of the meta-batch: the second starts from the first one's fast weights",
    names=("clone",),
    repair=("evaluation_error = fast_adapt(tasks.sample(), maml.clone(), F.cross_entropy, args, starts)",),
)
