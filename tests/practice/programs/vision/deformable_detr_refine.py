"""Detection: box refinement with detached references and matching under no_grad (healthy)."""

import itertools
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Args:
    hidden_dim: int = 16
    num_queries: int = 4
    dec_layers: int = 2
    num_classes: int = 3
    lr: float = 1e-2
    eos_coef: float = 0.1


def inverse_sigmoid(x, eps=1e-5):
    x = x.clamp(min=0, max=1)
    return torch.log(x.clamp(min=eps) / (1 - x).clamp(min=eps))


class MLP(nn.Module):
    def __init__(self, dim, out, layers=2):
        super().__init__()
        dims = [dim] * layers + [out]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:]))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x)) if i < len(self.layers) - 1 else layer(x)
        return x


class DecoderLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, tgt, pos, memory):
        q = tgt + pos
        tgt = self.norm1(tgt + self.self_attn(q, q, tgt, need_weights=False)[0])
        return self.norm2(tgt + self.cross_attn(tgt + pos, memory, memory, need_weights=False)[0])


class DeformableDETR(nn.Module):
    def __init__(self, args):
        super().__init__()
        d = args.hidden_dim
        self.backbone = nn.Conv2d(3, d, 4, 4)
        self.query_embed = nn.Embedding(args.num_queries, 2 * d)
        self.reference_points = nn.Linear(d, 4)
        self.pos_head = nn.Linear(4, d)
        self.decoder = nn.ModuleList(DecoderLayer(d) for _ in range(args.dec_layers))
        self.class_embed = nn.ModuleList(nn.Linear(d, args.num_classes + 1) for _ in range(args.dec_layers))
        self.bbox_embed = nn.ModuleList(MLP(d, 4) for _ in range(args.dec_layers))

    def forward(self, images):
        memory = self.backbone(images).flatten(2).transpose(1, 2)
        query_pos, tgt = self.query_embed.weight.expand(len(images), -1, -1).chunk(2, dim=-1)
        reference = self.reference_points(query_pos).sigmoid()
        outputs = []
        for layer, cls, box in zip(self.decoder, self.class_embed, self.bbox_embed):
            tgt = layer(tgt, query_pos + self.pos_head(reference), memory)
            new_reference = (box(tgt) + inverse_sigmoid(reference)).sigmoid()
            outputs.append((cls(tgt), new_reference))
            reference = new_reference.detach()
        return outputs


@torch.no_grad()
def hungarian(logits, boxes, labels, targets):
    cost = -logits.softmax(-1)[:, labels] + 5 * torch.cdist(boxes, targets, p=1)
    best = min(
        itertools.permutations(range(len(boxes)), len(labels)), key=lambda s: sum(cost[q, t] for t, q in enumerate(s))
    )
    return torch.tensor(best)


class SetCriterion(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.num_classes = args.num_classes
        self.register_buffer("empty_weight", torch.tensor([1.0] * args.num_classes + [args.eos_coef]))

    def layer_loss(self, logits, boxes, targets):
        total = 0
        for lg, bx, (labels, tboxes) in zip(logits, boxes, targets):
            src = hungarian(lg, bx, labels, tboxes)
            classes = torch.full((len(lg),), self.num_classes)
            classes[src] = labels
            total = total + F.cross_entropy(lg, classes, self.empty_weight) + 5 * F.l1_loss(bx[src], tboxes)
        return total / len(targets)

    def forward(self, outputs, targets):
        return sum(self.layer_loss(*out, targets) for out in outputs)


def run():
    torch.manual_seed(0)
    args = Args()
    model, criterion = DeformableDETR(args), SetCriterion(args)
    slow = [p for n, p in model.named_parameters() if "backbone" in n or "reference_points" in n]
    fast = [p for n, p in model.named_parameters() if not ("backbone" in n or "reference_points" in n)]
    optimizer = torch.optim.AdamW([{"params": fast}, {"params": slow, "lr": args.lr * 0.1}], lr=args.lr)
    before = [p.detach().clone() for p in model.parameters()]
    for _ in range(3):
        targets = [(torch.randint(3, (2,)), torch.rand(2, 4) * 0.5 + 0.2) for _ in range(4)]
        loss = criterion(model(torch.randn(4, 3, 12, 12)), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
    return before, list(model.named_parameters())


def verify(outcome):
    before, after = outcome
    assert all(not torch.equal(b, p) for b, (_, p) in zip(before, after))
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for _, p in after)


TRUTH = Truth()
