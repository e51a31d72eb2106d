"""A memory network: the slots are written in place into the tensor that earlier reads have saved."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Controller(nn.Module):
    def __init__(self, n_in, dim):
        super().__init__()
        self.cell = nn.GRUCell(n_in + dim, dim)
        self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.beta = nn.Linear(dim, 1)

    def forward(self, x, read, h):
        h = self.cell(torch.cat((x, read), 1), h)
        return h, self.key(h), torch.tanh(self.value(h)), F.softplus(self.beta(h))


class LeastRecentlyUsedMemory(nn.Module):
    """Reads by content, writes to the slots one after another."""

    def __init__(self, slots, dim):
        super().__init__()
        self.slots, self.dim = slots, dim
        self.init = nn.Parameter(torch.randn(slots, dim) * 0.1)

    def start(self, batch):
        return self.init.expand(batch, -1, -1).clone()

    def read(self, memory, key, beta):
        score = torch.einsum("bsd,bd->bs", memory, key) * beta
        return torch.einsum("bs,bsd->bd", score.softmax(1), memory)

    def write(self, memory, value, t):
        slot = t % self.slots
        memory[:, slot] = value  # cause
        return memory


class MemoryRNN(nn.Module):
    def __init__(self, n_in=4, dim=8, slots=6, n_out=4):
        super().__init__()
        self.controller = Controller(n_in, dim)
        self.memory = LeastRecentlyUsedMemory(slots, dim)
        self.out = nn.Linear(2 * dim, n_out)
        self.dim = dim

    def forward(self, seq):
        batch = seq.size(1)
        memory = self.memory.start(batch)
        h, read = seq.new_zeros(batch, self.dim), seq.new_zeros(batch, self.dim)
        outputs = []
        for t, x in enumerate(seq):
            h, key, value, beta = self.controller(x, read, h)
            read = self.memory.read(memory, key, beta)
            memory = self.memory.write(memory, value, t)
            outputs.append(self.out(torch.cat((h, read), 1)))
        return torch.stack(outputs)


def copy_task(length, batch, bits=4):
    pattern = torch.randint(0, 2, (length, batch, bits)).float()
    blank = torch.zeros_like(pattern)
    return torch.cat((pattern, blank)), torch.cat((blank, pattern))


def train(steps=3):
    model = MemoryRNN()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9)
    losses = []
    for _ in range(steps):
        seq, target = copy_task(3, 5)
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(seq), target)
        loss.backward()  # symptom
        nn.utils.clip_grad_value_(model.parameters(), 10)
        optimizer.step()
        losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    return train()


TRUTH = Truth(
    fault="the write changes the memory in place that the reads before it have saved for backward",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("memory",),
    repair=("memory = memory.clone()\nmemory[:, slot] = value",),
)
