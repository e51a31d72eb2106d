"""Distil a six-layer encoder into a student that starts from every other layer."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class Encoder(nn.Module):
    def __init__(self, layers, embed, head):
        super().__init__()
        self.embed = embed
        self.layers = nn.ModuleList(layers)
        self.head = head

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x.mean(1))


def block(dim):
    return nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))


def make_teacher(dim=16, vocab=30, classes=4):
    return Encoder([block(dim) for _ in range(6)], nn.Embedding(vocab, dim), nn.Linear(dim, classes))


def init_student(teacher, keep=(0, 2, 4)):
    dim = teacher.embed.embedding_dim
    student = Encoder(
        [teacher.layers[i] for i in keep],  # cause
        nn.Embedding(teacher.embed.num_embeddings, dim),
        nn.Linear(dim, teacher.head.out_features),
    )
    student.embed.load_state_dict(teacher.embed.state_dict())
    student.head.load_state_dict(teacher.head.state_dict())
    return student


def distil(teacher, student, batches, T=2.0):
    teacher.eval()
    opt = torch.optim.AdamW(student.parameters(), lr=2e-3)
    for ids in batches:
        with torch.no_grad():
            soft = F.softmax(teacher(ids) / T, -1)
        loss = F.kl_div(F.log_softmax(student(ids) / T, -1), soft, reduction="batchmean") * T * T
        opt.zero_grad()
        loss.backward()
        opt.step()


def run():
    torch.manual_seed(0)
    teacher = make_teacher()
    student = init_student(teacher)
    probe = torch.randint(0, 30, (4, 7))
    with torch.no_grad():
        before = teacher(probe)
    distil(teacher, student, [torch.randint(0, 30, (8, 7)) for _ in range(4)])
    with torch.no_grad():
        return before, teacher(probe)


TRUTH = Truth(
    fault="the student shares its layers with the teacher, which is trained along",
    minor=True,
    names=("teacher", "student"),
    repair=("[__import__('copy').deepcopy(teacher.layers[i]) for i in keep],",),
)


def well(out):
    assert torch.allclose(*out)


verify = fails(well)
