"""AG201 in the shapes that users meet it: queues, caches, gates, hooks, decoders, custom Functions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def one_step(forward):
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    trained(optimizer, forward(net).pow(2).mean())


def test_contrastive_queue_enqueued_before_backward():
    """The logits saved the queue; enqueueing keys before backward modifies it, a clone or a later enqueue does not."""

    def moco(negatives, late):
        encoder, queue = nn.Linear(4, 6), F.normalize(torch.randn(16, 6), dim=1)
        optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
        z = F.normalize(encoder(X), dim=1)
        loss = F.cross_entropy(z @ negatives(queue).T, torch.zeros(8, dtype=torch.long))
        if not late:
            queue[:8] = z.detach()
        trained(optimizer, loss)
        if late:
            queue[8:] = z.detach()

    diagnosed(
        lambda: moco(lambda queue: queue, late=False), "AG201", "queue[:8] = z.detach()", "queue", "__setitem__",
        severity="error", where=moco,
    )  # fmt: skip
    silent(lambda: moco(lambda queue: queue, late=True), lambda: moco(torch.clone, late=False))


def test_key_value_cache_filled_in_place():
    """Attention saved the cache of the steps before; concatenation makes a new one each time."""

    def decode(extend):
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        cache, total = torch.zeros(8, 0, 4), torch.zeros(())
        for t in range(3):
            cache = extend(cache, net(X + t), t)
            total = total + ((X[:, None] @ cache.transpose(1, 2)).softmax(-1) @ cache).sum()
        trained(optimizer, total)

    def in_place(cache, keys, t):
        cache = cache if t else torch.zeros(8, 3, 4)
        cache[:, t] = keys
        return cache

    diagnosed(lambda: decode(in_place), "AG201", "cache[:, t] = keys", "cache", severity="error", where=in_place)
    silent(lambda: decode(lambda cache, keys, t: torch.cat([cache, keys[:, None]], dim=1)))


def test_states_of_finished_episodes_reset():
    """`h[done] = 0` between forward and backward spoils what the value loss saved; masking by product does not."""

    def rollout(reset):
        cell = nn.GRUCell(4, 4)
        optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
        h, done, total = torch.zeros(8, 4), torch.arange(8) == 0, torch.zeros(())
        for _ in range(3):
            h = cell(X, h)
            total = total + h.pow(2).sum()
            h = reset(h, done)
        trained(optimizer, total)

    def written(h, done):
        h[done] = 0
        return h

    diagnosed(lambda: rollout(written), "AG201", "h[done] = 0", "h", severity="error", where=written)
    silent(lambda: rollout(lambda h, done: h * (~done)[:, None]))


def test_forward_hook_that_scales_the_output_in_place():
    """The hook's line is the culprit, the module whose output it changed the saver."""

    def program(hook):
        net = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid(), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net[1].register_forward_hook(hook)
        trained(optimizer, F.cross_entropy(net(X), Y))

    def in_place(module, args, output):
        output.mul_(2)

    diagnosed(lambda: program(in_place), "AG201", "output.mul_(2)", "'1'", "mul_", severity="error", where=in_place)
    silent(lambda: program(lambda module, args, output: output * 2))


def test_graph_of_earlier_steps_kept():
    """With retain_graph the second backward runs through weights that a step has changed since."""

    def truncated(cut, **kept):
        rnn = nn.RNN(4, 4)
        optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
        state = torch.zeros(1, 1, 4)
        for t in range(3):
            output, state = rnn(X[t].view(1, 1, 4), cut(state))
            optimizer.zero_grad()
            output.pow(2).sum().backward(**kept)
            optimizer.step()

    diagnosed(
        lambda: truncated(lambda state: state, retain_graph=True), "AG201", "output, state = rnn(", "weight_hh_l0",
        severity="error", where=truncated,
    )  # fmt: skip
    silent(lambda: truncated(torch.Tensor.detach))


def test_power_iteration_in_forward():
    """A spectral norm that updates its vector in place spoils the forward before; a cloned vector does not."""

    class Normed(nn.Module):
        def __init__(self, keep):
            super().__init__()
            self.w, self.keep = nn.Parameter(torch.randn(4, 4)), keep
            self.register_buffer("u", torch.randn(4))

        def forward(self, x):
            with torch.no_grad():
                v = F.normalize(self.w.t() @ self.u, dim=0)
                self.u.copy_(F.normalize(self.w @ v, dim=0))
            return x @ (self.w / (self.keep(self.u) @ self.w @ v))

    def critic(keep):
        net = Normed(keep)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, net(X).mean() - net(X * 2).mean())

    diagnosed(lambda: critic(lambda u: u), "AG201", "self.u.copy_(", "u", "copy_", severity="error", where=Normed)
    silent(lambda: critic(torch.clone))


def test_fresh_results_filled_in_place():
    """scatter_add_, index_add_, masks and slices into a fresh tensor are how graphs and sequences are assembled."""

    def aggregated(net):
        nodes = net(X)
        sums = torch.zeros(3, 4).index_add_(0, torch.arange(8) % 3, nodes)
        sums /= 2.0
        padded = torch.zeros(4, 4)
        padded[:3] = sums
        padded[:, 1:] += nodes[:4, 1:]
        padded.masked_fill_(torch.eye(4).bool(), 0.0)
        return padded.scatter_add_(0, torch.zeros(8, 4, dtype=torch.long), nodes)

    silent(lambda: one_step(aggregated))
