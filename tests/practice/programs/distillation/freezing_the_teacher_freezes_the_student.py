"""The student starts with every second layer of the teacher, itself and not a copy; freezing the teacher freezes them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, layers, vocab=14, dim=8, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 2, 16, dropout=0.0, batch_first=True) for _ in range(layers)
        )
        self.classifier = nn.Linear(dim, classes)

    def forward(self, ids):
        h = self.embed(ids)
        for layer in self.layers:
            h = layer(h)
        return self.classifier(h.mean(1))


def student_of(teacher):
    student = Encoder(len(teacher.layers) // 2)
    student.embed.load_state_dict(teacher.embed.state_dict())
    for i in range(len(student.layers)):
        student.layers[i] = teacher.layers[2 * i]  # cause
    return student


def run():
    torch.manual_seed(0)
    teacher = Encoder(4)
    student = student_of(teacher)
    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad = False  # also
    opt = torch.optim.AdamW(student.parameters(), lr=1e-2)
    T = 2.0
    for _ in range(3):
        ids, labels = torch.randint(14, (6, 5)), torch.randint(3, (6,))
        with torch.no_grad():
            target = F.softmax(teacher(ids) / T, -1)
        logits = student(ids)
        soft = F.kl_div(F.log_softmax(logits / T, -1), target, reduction="batchmean") * T * T
        loss = 0.7 * soft + 0.3 * F.cross_entropy(logits, labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return student


def verify(student):
    assert all(p.grad is None for p in student.layers.parameters())


TRUTH = Truth(
    fault="the student's layers are the teacher's, and frozen with it",
    repair=("student.layers[i].load_state_dict(teacher.layers[2 * i].state_dict())",),
)
