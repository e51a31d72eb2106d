"""Activations are kept in half precision between the passes, and are not cast back."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class HalfActivations:
    """What is saved for backward takes half the memory."""

    def pack(self, tensor):
        if tensor.is_floating_point() and not isinstance(tensor, nn.Parameter):
            return tensor.half()
        return tensor

    def unpack(self, packed):
        return packed  # cause

    def __enter__(self):
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)  # also
        self.hooks.__enter__()
        return self

    def __exit__(self, *error):
        self.hooks.__exit__(*error)


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 4))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        x, y = torch.randn(10, 6), torch.randint(4, (10,))
        opt.zero_grad()
        with HalfActivations():
            loss = F.cross_entropy(model(x), y)
        loss.backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="unpack returns another dtype than what was saved",
    raises="expected scalar type Half but found Float",
    repair=("return packed.float() if packed.dtype == torch.half else packed",),
)
