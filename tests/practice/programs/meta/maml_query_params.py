"""Meta-learning: the query loss is taken at the meta-parameters and not at the adapted ones, so the inner loop counts for nothing."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Learner:
    """A functional convolutional net: weights are a list, as in the well-known re-implementation of MAML."""

    def __init__(self, ways=3, channels=6):
        self.vars = nn.ParameterList()
        self.config = [
            ("conv", (channels, 1, 3, 3)),
            ("relu", ()),
            ("conv", (channels, channels, 3, 3)),
            ("relu", ()),
            ("flatten", ()),
            ("linear", (ways, channels * 16)),
        ]
        for name, shape in self.config:
            if shape:
                w = nn.Parameter(torch.empty(*shape))
                nn.init.kaiming_normal_(w)
                self.vars.append(w)
                self.vars.append(nn.Parameter(torch.zeros(shape[0])))

    def __call__(self, x, vars=None):
        vars = self.vars if vars is None else vars
        idx = 0
        for name, shape in self.config:
            if name == "conv":
                x = F.conv2d(x, vars[idx], vars[idx + 1], stride=1, padding=1)
                idx += 2
            elif name == "linear":
                x = F.linear(F.adaptive_avg_pool2d(x, 4).flatten(1) if x.dim() == 4 else x, vars[idx], vars[idx + 1])
                idx += 2
            elif name == "relu":
                x = F.relu(x)
            elif name == "flatten":
                x = F.adaptive_avg_pool2d(x, 4).flatten(1)
        return x


class Meta:
    def __init__(self, update_lr=0.1, meta_lr=1e-3, update_step=2, update_step_test=3):
        self.net = Learner()
        self.update_lr, self.update_step, self.update_step_test = update_lr, update_step, update_step_test
        self.meta_optim = torch.optim.Adam(self.net.vars.parameters(), lr=meta_lr)
        self.same = []

    def inner(self, x, y, steps, create_graph):
        fast_weights = list(self.net.vars)
        for _ in range(steps):
            loss = F.cross_entropy(self.net(x, fast_weights), y)
            grad = torch.autograd.grad(loss, fast_weights, create_graph=create_graph)
            fast_weights = [w - self.update_lr * g for g, w in zip(grad, fast_weights)]
        return fast_weights

    def forward(self, x_spt, y_spt, x_qry, y_qry):
        losses_q, corrects = [], 0
        for i in range(x_spt.size(0)):
            fast_weights = self.inner(x_spt[i], y_spt[i], self.update_step, create_graph=True)
            logits_q = self.net(x_qry[i], self.net.vars)  # cause
            losses_q.append(F.cross_entropy(logits_q, y_qry[i]))
            with torch.no_grad():
                corrects += (logits_q.argmax(1) == y_qry[i]).sum().item()
                self.same.append(torch.allclose(logits_q, self.net(x_qry[i]), atol=1e-7))
        loss_q = sum(losses_q) / len(losses_q)
        self.meta_optim.zero_grad()
        loss_q.backward()
        self.meta_optim.step()
        return corrects / y_qry.numel()

    def finetunning(self, x_spt, y_spt, x_qry, y_qry):
        fast_weights = self.inner(x_spt, y_spt, self.update_step_test, create_graph=False)
        with torch.no_grad():
            return (self.net(x_qry, fast_weights).argmax(1) == y_qry).float().mean().item()


def episode(tasks, ways=3, shots=2, queries=3):
    proto = torch.randn(tasks, ways, 1, 8, 8)

    def draw(k):
        x = proto.repeat_interleave(k, 1) + 0.5 * torch.randn(tasks, ways * k, 1, 8, 8)
        return x, torch.arange(ways).repeat_interleave(k).expand(tasks, -1)

    return (*draw(shots), *draw(queries))


def run():
    torch.manual_seed(222)
    maml = Meta()
    for step in range(3):
        maml.forward(*episode(2))
        maml.finetunning(*(t[0] for t in episode(1)))
    return maml.same


def verify(same):
    assert all(same)


TRUTH = Truth(
    fault="the adapted fast_weights are not used: the query loss does not depend on them",
    names=("fast_weights",),
    repair=("logits_q = self.net(x_qry[i], fast_weights)",),
)
