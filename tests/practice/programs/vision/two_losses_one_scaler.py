"""Vision: the loss of the auxiliary head goes around the GradScaler, and its optimizer divides the gradient all the same."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Segmenter(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
        self.decoder = nn.Conv2d(8, classes, 1)
        self.aux_head = nn.Sequential(nn.Conv2d(8, 4, 1), nn.ReLU(), nn.Conv2d(4, 1, 1))

    def forward(self, x):
        h = self.encoder(x)
        return self.decoder(h), self.aux_head(h.detach())


def edges(mask):
    return F.pad((mask[:, :, 1:] != mask[:, :, :-1]).float(), (0, 1)).unsqueeze(1)


def scenes(n=4, size=8):
    return torch.randn(n, 3, size, size), torch.randint(0, 3, (n, size, size))


def snapshot(module):
    return [p.detach().clone() for p in module.parameters()]


def moved(module, before):
    return max((p.detach() - b).abs().max().item() for p, b in zip(module.parameters(), before))


def train(model, steps, lr=0.1):
    main = torch.optim.SGD(list(model.encoder.parameters()) + list(model.decoder.parameters()), lr=lr)
    aux = torch.optim.SGD(model.aux_head.parameters(), lr=lr)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    for _ in range(steps):
        images, mask = scenes()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            seg, edge = model(images)
            seg_loss = F.cross_entropy(seg.float(), mask)
            edge_loss = F.binary_cross_entropy_with_logits(edge.float(), edges(mask))
        main.zero_grad()
        aux.zero_grad()
        scaler.scale(seg_loss).backward()
        edge_loss.backward()  # cause
        scaler.unscale_(main)
        nn.utils.clip_grad_norm_(model.encoder.parameters(), 1.0)
        scaler.step(main)
        scaler.step(aux)
        scaler.update()
    return scaler.get_scale()


def run():
    torch.manual_seed(0)
    model = Segmenter()
    before = {"decoder": snapshot(model.decoder), "aux_head": snapshot(model.aux_head)}
    train(model, steps=3)
    return {name: moved(getattr(model, name), before[name]) for name in before}


def verify(outcome):
    assert outcome["decoder"] > 1e-3
    assert outcome["aux_head"] < 1e-5


TRUTH = Truth(
    fault="edge_loss is not scaled, but scaler.step(aux) unscales: the head's gradient is divided by 65536",
    names=("aux_head",),
    repair=("scaler.scale(edge_loss).backward()",),
)
