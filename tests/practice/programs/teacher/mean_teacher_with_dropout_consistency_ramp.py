"""Mean teacher: the teacher stays in train mode (dropout is its noise), the consistency weight starts at 0, some batches have no labels."""

import copy
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.drop, self.b = nn.Linear(5, 12), nn.Dropout(0.3), nn.Linear(12, 3)

    def forward(self, x):
        return self.b(self.drop(F.relu(self.a(x))))


class MeanTeacher:
    def __init__(self, student):
        self.student = student
        self.teacher = copy.deepcopy(student)
        for p in self.teacher.parameters():
            p.detach_()
        self.step = 0

    def update(self):
        self.step += 1
        alpha = min(1 - 1 / (self.step + 1), 0.9)
        for ema, p in zip(self.teacher.parameters(), self.student.parameters()):
            ema.mul_(alpha).add_(p.data, alpha=1 - alpha)


def total_loss(logits, target, y, weight):
    supervised = F.cross_entropy(logits, y, ignore_index=-1, reduction="sum") / max(1, int((y >= 0).sum()))
    return supervised + weight * F.mse_loss(logits.softmax(1), target.softmax(1))


def run():
    torch.manual_seed(0)
    mt = MeanTeacher(Net())
    opt = torch.optim.SGD(mt.student.parameters(), lr=0.2, momentum=0.9, nesterov=True)
    log = []
    for step, labelled in enumerate((6, 2, 0, 3)):
        x, y = torch.randn(8, 5), torch.randint(3, (8,))
        y[labelled:] = -1
        weight = 0.0 if step == 0 else 2.0 * step
        rng = torch.get_rng_state()
        states = [{k: v.clone() for k, v in m.state_dict().items()} for m in (mt.student, mt.teacher)]
        logits, target = mt.student(x), mt.teacher(x)
        loss = total_loss(logits, target.detach(), y, weight)
        opt.zero_grad()
        loss.backward()
        log.append((x, y, weight, rng, states, [p.grad.clone() for p in mt.student.parameters()]))
        opt.step()
        mt.update()
    return mt, log, target.requires_grad


def verify(outcome):
    mt, log, tracked = outcome
    assert not tracked and mt.teacher.training
    s, t = Net(), Net()
    expected = log[0][4][1]
    for i, (x, y, weight, rng, (ss, ts), grads) in enumerate(log):
        assert all(torch.allclose(expected[k], ts[k], atol=1e-6) for k in ts)
        s.load_state_dict(ss)
        t.load_state_dict(ts)
        torch.set_rng_state(rng)
        m1, m2 = F.dropout(torch.ones(8, 12), 0.3), F.dropout(torch.ones(8, 12), 0.3)
        logits = s.b(s.a(x).relu() * m1)
        target = t.b(t.a(x).relu() * m2).softmax(1).detach()
        loss = weight * (logits.softmax(1) - target).square().mean()
        if (y >= 0).any():
            loss = loss - logits.log_softmax(1)[y >= 0].gather(1, y[y >= 0, None]).mean()
        for a, b in zip(torch.autograd.grad(loss, list(s.parameters())), grads):
            assert torch.allclose(a, b, atol=1e-6) and b.any()
        after = log[i + 1][4][0] if i + 1 < len(log) else mt.student.state_dict()
        alpha = min(1 - 1 / (i + 2), 0.9)
        expected = {k: alpha * ts[k] + (1 - alpha) * after[k] for k in ts}
    assert all(torch.allclose(v, expected[k], atol=1e-6) for k, v in mt.teacher.state_dict().items())
    assert all(not torch.equal(v, log[0][4][0][k]) for k, v in mt.student.state_dict().items())


TRUTH = Truth()
