"""Tacotron-like synthesis with teacher forcing; the recipe says gradients are clipped at 1."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Prenet(nn.Module):
    def __init__(self, n_mels, dim):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_mels, dim), nn.ReLU(), nn.Dropout(0.5))

    def forward(self, x):
        return self.layers(x)


class MiniTacotron(nn.Module):
    def __init__(self, symbols=12, n_mels=8, dim=16):
        super().__init__()
        self.embedding = nn.Embedding(symbols, dim)
        self.encoder = nn.GRU(dim, dim // 2, batch_first=True, bidirectional=True)
        self.prenet = Prenet(n_mels, dim)
        self.cell = nn.GRUCell(2 * dim, dim)
        self.query = nn.Linear(dim, dim)
        self.frame = nn.Linear(2 * dim, n_mels)
        self.stop = nn.Linear(2 * dim, 1)

    def forward(self, text, mels):
        memory, _ = self.encoder(self.embedding(text))
        hidden = memory.new_zeros(len(text), memory.shape[-1])
        context = torch.zeros_like(hidden)
        frames, stops = [], []
        teacher = torch.cat([torch.zeros_like(mels[:, :1]), mels[:, :-1]], dim=1)
        for previous in self.prenet(teacher).unbind(1):
            hidden = self.cell(torch.cat([previous, context], -1), hidden)
            attention = torch.einsum("bd,btd->bt", self.query(hidden), memory).softmax(-1)
            context = torch.einsum("bt,btd->bd", attention, memory)
            both = torch.cat([hidden, context], -1)
            frames.append(self.frame(both))
            stops.append(self.stop(both))
        return torch.stack(frames, 1), torch.cat(stops, 1)


def train_step(model, optimizer, batch, clip=1.0):
    text, mels, gate = batch
    frames, stops = model(text, mels)
    loss = nn.functional.mse_loss(frames, mels) + nn.functional.binary_cross_entropy_with_logits(stops, gate)
    optimizer.zero_grad(set_to_none=False)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)  # cause
    loss.backward()  # cause
    optimizer.step()
    return loss.item(), norm.item()


def run():
    torch.manual_seed(0)
    model = MiniTacotron()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)
    norms = []
    for it in range(3):
        gate = torch.zeros(2, 6)
        gate[:, -1] = 1.0
        batch = torch.randint(12, (2, 5)), torch.randn(2, 6, 8) * 4 - 5, gate
        loss, norm = train_step(model, optimizer, batch)
        print(f"{it}: loss {loss:.3f} grad norm {norm:.3f}")
        norms.append(torch.stack([p.grad.norm() for p in model.parameters()]).norm().item())  # symptom
    return norms


def verify(norms):
    assert max(norms) > 1.5


TRUTH = Truth(
    fault="gradients are clipped before backward has made them",
    names=("clip_grad_norm_",),
    repair=("loss.backward()", "norm = nn.utils.clip_grad_norm_(model.parameters(), clip)"),
)
