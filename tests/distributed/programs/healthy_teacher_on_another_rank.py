"""Distillation: a teacher on rank 1 answers the batches that the student on rank 0 sends; it never trains itself."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

STUDENT, TEACHER = 0, 1
BATCH, LENGTH, VOCAB, STEPS, AHEAD, TEMPERATURE = 4, 6, 12, 5, 2, 2.0


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 16)
        self.rnn = nn.LSTM(16, 16, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(16, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 6)
        self.rnn = nn.GRU(6, 6, batch_first=True)
        self.head = nn.Linear(6, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def serve():
    torch.manual_seed(1)
    teacher = Teacher().eval()
    for _ in range(STEPS):
        ids = torch.empty(BATCH, LENGTH, dtype=torch.long)
        dist.recv(ids, src=STUDENT)
        with torch.inference_mode():
            answer = teacher(ids).log_softmax(-1)
        dist.send(answer.clone(), dst=STUDENT)


class Remote:
    """Asks ahead, so that the teacher works while the student does."""

    def __init__(self):
        self.asked = []

    def ask(self, ids):
        target = torch.empty(BATCH, LENGTH, VOCAB)
        requests = [dist.isend(ids, dst=TEACHER), dist.irecv(target, src=TEACHER)]
        self.asked.append((ids, target, requests))

    def answer(self):
        ids, target, requests = self.asked.pop(0)
        for request in requests:
            request.wait()
        return ids, target


def learn():
    torch.manual_seed(0)
    student, remote = Student(), Remote()
    opt = torch.optim.AdamW(student.parameters(), lr=1e-2)
    batches = [torch.randint(0, VOCAB, (BATCH, LENGTH)) for _ in range(STEPS)]
    for ids in batches[:AHEAD]:
        remote.ask(ids)
    for step in range(STEPS):
        ids, target = remote.answer()
        if step + AHEAD < STEPS:
            remote.ask(batches[step + AHEAD])
        own = F.log_softmax(student(ids) / TEMPERATURE, -1)
        loss = F.kl_div(own, F.log_softmax(target / TEMPERATURE, -1), log_target=True, reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()
    return [round(p.norm().item(), 6) for p in student.parameters()]


def run():
    return learn() if dist.get_rank() == STUDENT else serve()


TRUTH = Truth(values=True)
