"""Edits of how a program is put together: which loss, which module, which group, what one round hands to the next."""

import pytest

from tests.edits.cured import changes, cured

CASES = {
    "a sum of losses that is left aside": (
        """
        net, head = nn.Linear(4, 4), nn.Linear(4, 1)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        x = torch.randn(6, 4)
        for _ in range(2):
            opt.zero_grad()
            loss = head(x).pow(2).mean()
            total = loss + 0.1 * net(x).pow(2).mean()
            loss.backward()
            opt.step()
        """,
        ["total.backward()"],
    ),
    "a second loss that is left aside": (
        """
        net, head = nn.Linear(4, 4), nn.Linear(4, 2)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        x = torch.randn(6, 4)
        for _ in range(2):
            opt.zero_grad()
            h = net(x)
            mse = (h - x).pow(2).mean()
            ce = head(h).logsumexp(-1).mean()
            mse.backward()
            opt.step()
        """,
        ["(mse + ce).backward()"],
    ),
    "a copy of a model that is called": (
        """
        import copy

        net, head = nn.Linear(4, 4), nn.Linear(4, 1)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            head(copy.deepcopy(net)(torch.randn(6, 4))).pow(2).mean().backward()
            opt.step()
        """,
        ["head(net(torch.randn(6, 4))).pow(2).mean().backward()"],
    ),
    "computed weights that are written to .data": (
        """
        hyper, net = nn.Linear(3, 8), nn.Linear(4, 2, bias=False)
        opt = torch.optim.SGD(hyper.parameters(), lr=0.1)
        x, z = torch.randn(6, 4), torch.randn(3)
        for _ in range(2):
            opt.zero_grad()
            net.weight.data = hyper(z).view(2, 4)
            net(x).pow(2).mean().backward()
            opt.step()
        """,
        [
            "weight = hyper(z).view(2, 4)",
            'torch.func.functional_call(net, {"weight": weight}, (x,)).pow(2).mean().backward()',
        ],
    ),
    "a result that a hook modifies by .data": (
        """
        net, shift = nn.Linear(4, 4).requires_grad_(False), torch.zeros(4, requires_grad=True)
        opt = torch.optim.SGD([shift], lr=0.1)

        def steer(module, given, out):
            out.data.add_(shift)

        net.register_forward_hook(steer)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
        """,
        ["out.add_(shift)"],
    ),
    "a result that a hook does not return": (
        """
        class Steer(nn.Module):
            def __init__(self):
                super().__init__()
                self.shift = nn.Parameter(torch.zeros(4))

            def hook(self, module, given, out):
                out = out + self.shift

        net, steer = nn.Linear(4, 4), Steer()
        net.register_forward_hook(steer.hook)
        opt = torch.optim.SGD([*net.parameters(), steer.shift], lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
        """,
        ["return out"],
    ),
    "a key encoder that is trained": (
        """
        import copy

        class Pair(nn.Module):
            def __init__(self):
                super().__init__()
                self.query = nn.Linear(4, 4)
                self.key = copy.deepcopy(self.query)

            def forward(self, x):
                with torch.no_grad():
                    for a, b in zip(self.query.parameters(), self.key.parameters()):
                        b.mul_(0.9).add_(a, alpha=0.1)
                return self.query(x), self.key(x)

        net = Pair()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            q, k = net(torch.randn(6, 4))
            (q - k * 2).pow(2).mean().backward()
            opt.step()
        """,
        ["net.key.requires_grad_(False)"],
    ),
    "rows that are to be frozen": (
        """
        net = nn.Linear(4, 4)
        net.weight[:2].requires_grad = False
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.randn(6, 4)).pow(2).mean().backward()
        opt.step()
        """,
        [
            "trained = torch.ones_like(net.weight)",
            "trained[:2] = 0",
            "net.weight.register_hook(lambda grad, trained=trained: grad * trained)",
        ],
    ),
    "a value that is detached and leaves autograd on the next line": (
        """
        enc, dec = nn.Linear(4, 4), nn.Linear(4, 4)
        opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            z = enc(torch.randn(6, 4)).detach()
            z = torch.tensor(z.numpy())
            dec(z).pow(2).mean().backward()
            opt.step()
        """,
        ["z = enc(torch.randn(6, 4))"],
    ),
    "a loss that is rewrapped beside an estimator that is meant": (
        """
        enc, dec, codes = nn.Linear(4, 4), nn.Linear(4, 4), nn.Embedding(8, 4)
        opt = torch.optim.SGD([*enc.parameters(), *dec.parameters(), *codes.parameters()], lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            x = torch.randn(6, 4)
            z = enc(x)
            q = codes(torch.cdist(z, codes.weight).argmin(1))
            aux = (q - z.detach()).pow(2).mean() + 0.25 * (z - q.detach()).pow(2).mean()
            loss = torch.tensor(aux) + (dec(z + (q - z).detach()) - x).pow(2).mean()
            loss.backward()
            opt.step()
        """,
        ["loss = aux + (dec(z + (q - z).detach()) - x).pow(2).mean()"],
    ),
    "a derivative by columns": (
        """
        net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            xt = torch.rand(6, 2, requires_grad=True)
            u = net(xt).sum()
            x, t = xt[:, :1], xt[:, 1:]
            u_t = torch.autograd.grad(u, t, create_graph=True)[0]
            u_x = torch.autograd.grad(u, x, create_graph=True)[0]
            opt.zero_grad()
            (u_t + u_x).pow(2).mean().backward()
            opt.step()
        """,
        [
            "u_t = torch.autograd.grad(u, xt, create_graph=True)[0][:, 1:]",
            "u_x = torch.autograd.grad(u, xt, create_graph=True)[0][:, :1]",
        ],
    ),
    "a gradient that is computed where that of another input is asked for": (
        """
        class Linear(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w, b):
                ctx.save_for_backward(x, w)
                return x @ w.t() + b

            @staticmethod
            def backward(ctx, grad):
                x, w = ctx.saved_tensors
                grad_x = grad_w = grad_b = None
                if ctx.needs_input_grad[0]:
                    grad_x = grad @ w
                if ctx.needs_input_grad[0]:
                    grad_w = grad.t() @ x
                if ctx.needs_input_grad[2]:
                    grad_b = grad.sum(0)
                return grad_x, grad_w, grad_b

        net = nn.Linear(4, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            Linear.apply(torch.randn(6, 4), net.weight, net.bias).pow(2).mean().backward()
            opt.step()
        """,
        ["if ctx.needs_input_grad[1]:"],
    ),
    "probes that are stepped before their backward": (
        """
        net, probe = nn.Linear(4, 4), nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        probe_opt = torch.optim.SGD(probe.parameters(), lr=0.1)
        for _ in range(3):
            x = torch.randn(6, 4)
            opt.zero_grad()
            net(x).pow(2).mean().backward()
            opt.step()
            with torch.no_grad():
                h = net(x)
            probe_opt.zero_grad()
            probe_opt.step()
            probe(h).pow(2).mean().backward()
        """,
        [],
    ),
    "parameters of two groups": (
        """
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        biases = [p for n, p in net.named_parameters() if "bias" in n]
        opt = torch.optim.SGD([{"params": net.parameters()}, {"params": biases, "lr": 0.01}], lr=0.1)
        net(torch.randn(6, 4)).pow(2).mean().backward()
        opt.step()
        """,
        [
            (
                'opt = torch.optim.SGD([{"params": [p for p in net.parameters() if not any(p is q for q in biases)]}, '
                '{"params": biases, "lr": 0.01}], lr=0.1)'
            )
        ],
    ),
    "an optimizer of a state dict": (
        """
        net = nn.Linear(4, 4)
        opt = torch.optim.SGD(net.state_dict().values(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
        """,
        ["opt = torch.optim.SGD(net.parameters(), lr=0.1)"],
    ),
    "inference mode around what learns": (
        """
        enc, head = nn.Linear(4, 4), nn.Linear(4, 1)
        opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            with torch.inference_mode():
                f = enc(torch.randn(6, 4))
            head(f).pow(2).mean().backward()
            opt.step()
        """,
        [],
    ),
    "clipping of an average of the model": (
        """
        from torch.optim.swa_utils import AveragedModel

        net = nn.Linear(4, 4)
        ema = AveragedModel(net)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            nn.utils.clip_grad_norm_(ema.parameters(), 1.0)
            opt.step()
        """,
        ["nn.utils.clip_grad_norm_(net.parameters(), 1.0)"],
    ),
    "gradients that are read when they are cleared": (
        """
        net = nn.Linear(4, 4)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def train(x):
            loss = net(x).pow(2).mean()
            loss.backward()
            opt.step()
            opt.zero_grad()

        for _ in range(2):
            train(torch.randn(6, 4))
            print(net.weight.grad.norm())
        """,
        [],
    ),
    "losses that pile up in each layer": (
        """
        class Gate(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.losses = nn.Linear(4, 4), []

            def forward(self, x):
                self.losses.append(self.layer(x).pow(2).mean())
                return self.layer(x)

        net = nn.Sequential(Gate(), Gate())
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            loss = net(torch.randn(6, 4)).pow(2).mean() + sum(sum(gate.losses) for gate in net)
            loss.backward()
            opt.step()
        """,
        ["self.losses = [self.layer(x).pow(2).mean()]"],
    ),
    "a state of two parts that is kept": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm, self.state = nn.LSTM(4, 3), None

            def forward(self, x):
                out, state = self.lstm(x, self.state)
                self.state = state
                return out

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(5, 1, 4)).pow(2).mean().backward()
            opt.step()
        """,
        ["self.state = tuple(t.detach() for t in state)"],
    ),
    "features that are kept after the step": (
        """
        import random

        net, kept = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), []
        head = nn.Linear(4, 1)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)

        def keep(row):
            kept.append(row)

        for _ in range(3):
            opt.zero_grad()
            z = net(torch.randn(6, 4))
            loss = head(z).pow(2).mean()
            if kept:
                loss = loss + head(torch.stack(kept)).pow(2).mean()
            loss.backward()
            opt.step()
            for row in z.unbind():
                keep(row)
        """,
        ["z = z.detach()"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_edits_of_a_report_cure_it(tmp_path, name):
    """The lines that are new are these, and nothing is told of the program with them."""
    text, lines = CASES[name]
    patched = cured(tmp_path, text)
    assert patched
    assert changes(text, patched) == lines
