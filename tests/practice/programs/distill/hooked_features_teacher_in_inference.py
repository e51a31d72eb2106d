"""Feature distillation: hooks collect features of a frozen teacher (no_grad) and of the student; connectors start as identity."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.l1, self.l2, self.out = nn.Linear(5, width), nn.Linear(width, width), nn.Linear(width, 3)

    def forward(self, x):
        return self.out(F.relu(self.l2(F.relu(self.l1(x)))))


class Tap:
    def __init__(self, net, names, detach):
        self.store = {}
        for name in names:
            net.get_submodule(name).register_forward_hook(
                lambda m, i, o, n=name: self.store.__setitem__(n, o.detach() if detach else o)
            )

    def pop(self):
        taken, self.store = self.store, {}
        return taken


class Distiller:
    def __init__(self, teacher, student):
        self.teacher, self.student = teacher.eval().requires_grad_(False), student
        self.t_tap, self.s_tap = Tap(teacher, ("l1", "l2"), True), Tap(student, ("l1", "l2"), False)
        self.connect = nn.ModuleDict({n: nn.Linear(6, 10, bias=False) for n in ("l1", "l2")})
        for m in self.connect.values():
            nn.init.eye_(m.weight)

    def loss(self, x, y):
        with torch.no_grad():
            soft = (self.teacher(x) / 2).softmax(1)
        logits = self.student(x)
        ft, fs = self.t_tap.pop(), self.s_tap.pop()
        hints = sum(F.mse_loss(self.connect[n](fs[n]), ft[n]) for n in ft)
        kd = F.kl_div((logits / 2).log_softmax(1), soft, reduction="batchmean") * 4
        return F.cross_entropy(logits, y) + kd + 0.1 * hints


def run():
    torch.manual_seed(0)
    teacher, student = Net(10), Net(6)
    d = Distiller(teacher, student)
    everything = nn.ModuleList([student, d.connect])
    opt = torch.optim.AdamW(everything.parameters(), lr=1e-2)
    fixed = [p.clone() for p in teacher.parameters()]
    log = []
    for _ in range(3):
        x, y = torch.randn(12, 5), torch.randint(3, (12,))
        state = {k: v.clone() for k, v in everything.state_dict().items()}
        loss = d.loss(x, y)
        opt.zero_grad()
        loss.backward()
        log.append((x, y, state, {n: p.grad.clone() for n, p in everything.named_parameters()}))
        opt.step()
    return teacher, fixed, everything, log


def verify(outcome):
    teacher, fixed, everything, log = outcome
    assert all(torch.equal(a, b) and a.grad is None for a, b in zip(teacher.parameters(), fixed))
    for x, y, state, grads in log:
        p = {k: v.clone().requires_grad_() for k, v in state.items()}
        a = x @ p["0.l1.weight"].T + p["0.l1.bias"]
        b = a.relu() @ p["0.l2.weight"].T + p["0.l2.bias"]
        logits = b.relu() @ p["0.out.weight"].T + p["0.out.bias"]
        ta = teacher.l1(x)
        tb = teacher.l2(ta.relu())
        t = (teacher.out(tb.relu()) / 2).softmax(1)
        kd = 4 * (t * (t.log() - (logits / 2).log_softmax(1))).sum(1).mean()
        hints = (a @ p["1.l1.weight"].T - ta).square().mean() + (b @ p["1.l2.weight"].T - tb).square().mean()
        loss = -logits.log_softmax(1)[range(12), y].mean() + kd + 0.1 * hints
        for (n, _), g in zip(p.items(), torch.autograd.grad(loss, list(p.values()))):
            assert torch.allclose(g, grads[n], atol=1e-5), n
    assert all(not torch.equal(v, log[0][2][k]) for k, v in everything.state_dict().items())


TRUTH = Truth()
