"""The edits of findings, made and run again: each cures its program, and nothing new is told."""

import pytest

from tests.edits.cured import changes, cured, report_of

CURES = {
    "a gradient that gathers at a detached tensor": (
        """
        enc, heads = nn.Linear(3, 3), nn.ModuleList(nn.Linear(3, 1) for _ in range(2))
        opt = torch.optim.SGD([*enc.parameters(), *heads.parameters()], lr=0.1)
        z = enc(torch.randn(4, 3))
        d = z.detach().requires_grad_()
        for head in heads:
            head(d).pow(2).mean().backward()
        opt.step()
        """,
        ["z.backward(d.grad)"],
    ),
    "frozen parameters whose gradient is cleared to zeros": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        opt = torch.optim.Adam(net.parameters(), lr=0.1)
        for number in range(4):
            if number == 2:
                net[0].requires_grad_(False)
            opt.zero_grad(set_to_none=False)
            net(torch.randn(4, 3)).pow(2).mean().backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
        """,
        ["opt.zero_grad()"],
    ),
    "gradients that are scaled and dropped": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            for g in [p.grad for p in net.parameters()]:
                g.mul(0.1)
            opt.step()
        """,
        ["g.mul_(0.1)"],
    ),
    "a sum that a statement drops": (
        """
        net, shift = nn.Linear(3, 3), nn.Linear(3, 3)
        opt = torch.optim.SGD([*net.parameters(), *shift.parameters()], lr=0.1)
        x = torch.randn(4, 3)
        h = net(x)
        torch.add(h, shift(x))
        h.pow(2).mean().backward()
        opt.step()
        """,
        ["h = torch.add(h, shift(x))"],
    ),
    "a loss that a reentrant checkpoint leaves behind": (
        """
        from torch.utils.checkpoint import checkpoint
        class Gated(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.gate = nn.Linear(3, 3), nn.Linear(3, 2)
            def forward(self, x):
                self.balance = self.gate(x).softmax(-1).pow(2).sum()
                return self.layer(x)
        net = Gated()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        h = checkpoint(net, torch.randn(4, 3, requires_grad=True), use_reentrant=True)
        (h.pow(2).mean() + net.balance).backward()
        opt.step()
        """,
        ["h = checkpoint(net, torch.randn(4, 3, requires_grad=True), use_reentrant=False)"],
    ),
    "a detach between encoder and head": (
        """
        enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
        opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
        h = enc(torch.randn(4, 3)).detach()  # features
        head(h).pow(2).mean().backward()
        opt.step()
        """,
        ["h = enc(torch.randn(4, 3))  # features"],
    ),
    "a loss that is wrapped again": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        loss = net(torch.randn(4, 3)).pow(2).mean()
        loss = torch.tensor(loss.item(), requires_grad=True)
        loss.backward()
        opt.step()
        """,
        [],
    ),
    "losses that are copied into one tensor": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        losses = [net(torch.randn(4, 3)).pow(2).mean() for _ in range(2)]
        total = torch.tensor(losses, requires_grad=True).sum()
        total.backward()
        opt.step()
        """,
        ["total = torch.stack(losses).sum()"],
    ),
    "a matrix that is made of an angle": (
        """
        angle = nn.Parameter(torch.tensor(0.3))
        opt = torch.optim.SGD([angle], lr=0.1)
        c, s = angle.cos(), angle.sin()
        rotation = torch.tensor([[c, -s], [s, 1]])
        loss = (torch.randn(4, 2) @ rotation).pow(2).mean()
        loss.backward()
        opt.step()
        """,
        ["rotation = torch.stack([torch.stack([c, -s]), torch.stack([s, c.new_tensor(1.0)])])"],
    ),
    "a penalty that a layer adds to its attribute": (
        """
        class Penalised(nn.Module):
            def __init__(self):
                super().__init__()
                self.net, self.penalty = nn.Linear(3, 1), 0.0

            def forward(self, x):
                own = self.net.weight.pow(2).sum()
                self.penalty = self.penalty + own
                return self.net(x)

        model = Penalised()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            (model(torch.randn(4, 3)).pow(2).mean() + model.penalty).backward()
            opt.step()
        """,
        ['self.penalty = (self.penalty.detach() if hasattr(self.penalty, "detach") else self.penalty) + own'],
    ),
    "a state that is unpacked beside a result": (
        """
        class Trainer:
            def __init__(self):
                self.cell, self.hidden = nn.GRUCell(3, 3), torch.zeros(2, 3)
                self.opt = torch.optim.SGD(self.cell.parameters(), lr=0.1)

            def step(self, x):
                h = self.cell(x, self.hidden)
                return h.pow(2), h

            def segment(self):
                total = 0.0
                for _ in range(2):
                    loss, self.hidden = self.step(torch.randn(2, 3))
                    total = total + loss.mean()
                self.opt.zero_grad()
                total.backward()
                self.opt.step()

        trainer = Trainer()
        for _ in range(2):
            trainer.segment()
        """,
        ["self.hidden = self.hidden.detach()"],
    ),
    "two bounds that are no parameters": (
        """
        class Bounded(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 1)
                self.high = torch.full((1,), 0.5, requires_grad=True)
                self.low = torch.full((1,), -0.5, requires_grad=True)

            def forward(self, x):
                return self.high - nn.functional.softplus(self.high - self.net(x)) + self.low

        model = Bounded()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        ["self.high = nn.Parameter(torch.full((1,), 0.5))", "self.low = nn.Parameter(torch.full((1,), -0.5))"],
    ),
    "a no_grad block around what is trained": (
        '''
        enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
        opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
        x = torch.randn(4, 3)
        with torch.no_grad():
            # the encoder
            text = """
            a text
            """
            h = enc(x)
        head(h).pow(2).mean().backward()
        opt.step()
        ''',
        [],
    ),
    "a decorator": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        @torch.no_grad()
        def loss_of(x):
            return net(x).pow(2).mean()

        loss_of(torch.randn(4, 3)).backward()
        opt.step()
        """,
        [],
    ),
    "an augmented assignment after the save": (
        """
        net = nn.Linear(3, 3)
        h = torch.sigmoid(net(torch.randn(4, 3)))
        loss = h.pow(2).mean()
        h += 1 if True else 2
        loss.backward()
        """,
        ["h = h + (1 if True else 2)"],
    ),
    "a chain of methods in place": (
        """
        net = nn.Linear(3, 3)
        h = torch.tanh(net(torch.randn(4, 3)))
        loss = h.sum()
        h.add_(1).mul_(127.5)
        loss.backward()
        """,
        ["h = h.add(1).mul(127.5)"],
    ),
    "a part that is assigned": (
        """
        net = nn.Linear(3, 3)
        h = torch.tanh(net(torch.randn(4, 3)))
        loss = h.sum()
        h[:, 0] = 0.0
        loss.backward()
        """,
        ["h = h.clone()"],
    ),
    "an activation in place": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=True), nn.Identity())
        net(torch.randn(4, 3)).sum().backward()
        """,
        ["net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=False), nn.Identity())"],
    ),
    "weights that are clamped before backward": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        loss = net(torch.randn(4, 3)).mean()
        with torch.no_grad():
            for p in net.parameters():
                p.clamp_(-0.01, 0.01)
        loss.backward()
        opt.step()
        """,
        [],
    ),
    "gradients that nothing clears": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            loss.backward()
            opt.step()
        """,
        ["opt.zero_grad()"],
    ),
    "gradients that are cleared before the step": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            loss.backward()
            opt.zero_grad()
            opt.step()
        """,
        [],
    ),
    "clipping after the step": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        """,
        [],
    ),
    "an optimizer that was made too early": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net[1] = nn.Linear(3, 2)
        net(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        """,
        [],
    ),
    "assign=True after the optimizer": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net.load_state_dict(nn.Linear(3, 1).state_dict(), assign=True)
        net(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        """,
        ["net.load_state_dict(nn.Linear(3, 1).state_dict())"],
    ),
    "a parameter that is listed twice": (
        """
        a = nn.Linear(3, 3)
        opt = torch.optim.SGD([*a.parameters(), a.weight], lr=0.1)
        a(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        """,
        ["opt = torch.optim.SGD(list(dict.fromkeys([*a.parameters(), a.weight])), lr=0.1)"],
    ),
    "a sum that keeps every graph": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        total = 0.0
        for _ in range(5):
            opt.zero_grad()
            loss = net(torch.randn(4, 3)).pow(2).mean()
            loss.backward()
            opt.step()
            total += loss
        """,
        ["total += loss.detach()"],
    ),
    "features that are kept over the rounds": (
        """
        emb, head = nn.Embedding(5, 3), nn.Linear(3, 1)
        opt = torch.optim.SGD([*emb.parameters(), *head.parameters()], lr=0.1)
        feats = emb(torch.arange(5)) * 2
        for _ in range(2):
            opt.zero_grad()
            head(torch.tanh(feats)).pow(2).mean().backward()
            opt.step()
        """,
        [],
    ),
    "a state that is carried over": (
        """
        cell = nn.RNNCell(2, 3)
        opt = torch.optim.SGD(cell.parameters(), lr=0.1)
        h = torch.zeros(1, 3)
        for _ in range(3):
            opt.zero_grad()
            h = cell(torch.randn(1, 2), h)
            h.pow(2).mean().backward()
            opt.step()
        """,
        ["h = h.detach()"],
    ),
    "a way through NumPy, within a longer expression": (
        """
        enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
        opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
        h = torch.from_numpy((enc(torch.randn(4, 3)) * 2).detach().numpy())
        head(h.tanh()).pow(2).mean().backward()
        opt.step()
        """,
        ["h = enc(torch.randn(4, 3)) * 2"],
    ),
    "backward is called twice": (
        """
        net = nn.Linear(3, 1)
        loss = net(torch.randn(4, 3)).pow(2).mean()
        loss.backward()
        loss.backward()
        """,
        [],
    ),
    "two losses share a graph": (
        """
        enc, one, two = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
        h = enc(torch.randn(4, 3)).tanh()
        one(h).pow(2).mean().backward()
        two(h).pow(2).mean().backward()
        """,
        ["one(h).pow(2).mean().backward(retain_graph=True)"],
    ),
    "the state of an optimizer is cleared": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.Adam(net.parameters())
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
            opt.state.clear()
        """,
        [],
    ),
    "an optimizer is made for each step": (
        """
        net = nn.Linear(3, 1)
        for _ in range(3):
            opt = torch.optim.Adam(net.parameters())
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        [],
    ),
    "a draw from probabilities": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        drawn = torch.bernoulli(net(torch.randn(4, 3)).sigmoid()).sub(0.3)
        drawn.pow(2).mean().backward()
        opt.step()
        """,
        [
            "drawn = ((soft := net(torch.randn(4, 3)).sigmoid()) + (torch.bernoulli(soft) - soft).detach()).sub(0.3)",
        ],
    ),
    "a backward without the chain rule": (
        """
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, grad_output):
                return torch.full_like(grad_output, 2)

        net, head = nn.Linear(3, 3), nn.Linear(3, 1)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        head(Twice.apply(net(torch.randn(4, 3)))).pow(2).mean().backward()
        opt.step()
        """,
        ["return grad_output * torch.full_like(grad_output, 2)"],
    ),
    "a backward that is once differentiable": (
        """
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx, grad_output):
                return 2 * ctx.saved_tensors[0] * grad_output

        net = nn.Linear(3, 1)
        x = torch.randn(4, 3, requires_grad=True)
        (slope,) = torch.autograd.grad(net(Square.apply(x)).sum(), x, create_graph=True)
        slope.pow(2).sum().backward()
        """,
        [],
    ),
    "a module's attribute freezes nothing": (
        """
        enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
        enc.requires_grad = False
        opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
        head(enc(torch.randn(4, 3)).tanh()).pow(2).mean().backward()
        opt.step()
        """,
        ["enc.requires_grad_(False)"],
    ),
    "a target that moves": (
        """
        q = nn.Linear(3, 2)
        opt = torch.optim.SGD(q.parameters(), lr=0.1)
        state, new, reward = torch.randn(4, 3), torch.randn(4, 3), torch.randn(4)
        target = reward + 0.9 * q(new).max(1).values
        (q(state)[:, 0] - target).pow(2).mean().backward()
        opt.step()
        """,
        ["target = (reward + 0.9 * q(new).max(1).values).detach()"],
    ),
    "a straight-through estimator with the wrong sign": (
        """
        net, head = nn.Linear(3, 4), nn.Linear(4, 1)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        soft = net(torch.randn(4, 3)).softmax(1)
        hard = torch.eye(4)[soft.argmax(1)]
        out = hard - soft + soft.detach()
        head(out).pow(2).mean().backward()
        opt.step()
        """,
        ["out = hard - soft.detach() + soft"],
    ),
    "an item of a list, in place": (
        """
        nets = nn.ModuleList(nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()) for _ in range(2))
        maps = [net(torch.randn(4, 3)) for net in nets]
        for i in range(1, -1, -1):
            maps[i] += 1
        sum(each.sum() for each in maps).backward()
        """,
        ["maps[i] = maps[i] + 1"],
    ),
    "a part of what a dict holds, in place": (
        """
        net = nn.Linear(3, 3)
        cache = {"h": torch.sigmoid(net(torch.randn(4, 3)))}
        loss = cache["h"].sum()
        cache["h"][0].add_(1)
        loss.backward()
        """,
        ['cache["h"] = cache["h"].clone()'],
    ),
    "a diagonal that is filled": (
        """
        net = nn.Linear(3, 3)
        sim = torch.exp(net(torch.eye(3)))
        sim.fill_diagonal_(0)
        sim.sum().backward()
        """,
        ["sim = sim.clone().fill_diagonal_(0)"],
    ),
    "a hard choice": (
        """
        net, head = nn.Linear(3, 4), nn.Linear(4, 1)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        x = net(torch.randn(4, 3))
        hard = nn.functional.one_hot(x.argmax(-1), 4).float()
        head(hard).pow(2).mean().backward()
        opt.step()
        """,
        [
            "hard = (soft := x.softmax(-1)) + (nn.functional.one_hot(soft.argmax(-1), 4).float() - soft).detach()",
        ],
    ),
    "a backward that forgets an argument": (
        """
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor

            @staticmethod
            def backward(ctx, grad_output):
                return grad_output * ctx.factor

        net = nn.Linear(3, 1)
        Scaled.apply(net(torch.randn(4, 3)), 2.0).sum().backward()
        """,
        ["return grad_output * ctx.factor, None"],
    ),
    "sums of which one is kept": (
        """
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        out = torch.zeros(2, 2)
        segments = torch.tensor([0, 0, 1, 1, 1])
        out[segments] += net(torch.ones(5, 3))
        out.pow(2).mean().backward()
        opt.step()
        """,
        ["out.index_put_((segments,), net(torch.ones(5, 3)), accumulate=True)"],
    ),
    "names of a wrapper": (
        """
        net = nn.Linear(3, 2)
        saved = nn.ModuleDict({"module": nn.Linear(3, 2)}).state_dict()
        net.load_state_dict(saved, strict=False)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.ones(5, 3)).pow(2).mean().backward()
        opt.step()
        """,
        ['net.load_state_dict({name.removeprefix("module."): value for name, value in saved.items()}, strict=False)'],
    ),
    "a gradient of what a line computes": (
        """
        net = nn.Linear(3, 2)

        class Attack:
            def loss(self, x):
                hidden = net(x)
                loss = hidden.tanh().sum()
                loss.backward()
                return hidden.grad.norm()

        Attack().loss(torch.randn(4, 3))
        """,
        ["hidden.retain_grad()"],
    ),
    "another precision that is assigned": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        saved = {name: value.double() for name, value in net[1].state_dict().items()}
        net[1].load_state_dict(saved, assign=True)
        net(torch.randn(4, 3)).sum().backward()
        """,
        ["net[1].load_state_dict(saved)"],
    ),
    "a view that is carried on": (
        """
        model, actor = nn.Linear(3, 3), nn.Linear(3, 1)
        one = torch.optim.SGD(model.parameters(), lr=0.1)
        two = torch.optim.SGD(actor.parameters(), lr=0.1)
        for _ in range(2):
            feats = model(torch.randn(4, 3)).tanh()
            one.zero_grad()
            feats.pow(2).mean().backward()
            one.step()
            start = feats.flatten(0, 1)
            two.zero_grad()
            actor(start.view(4, 3)).pow(2).mean().backward()
            two.step()
        """,
        ["feats = feats.detach()"],
    ),
    "a loss that is carried into the next round": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        carried = 0.0
        for _ in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            opt.zero_grad()
            loss = loss + 0.1 * carried
            loss.backward()
            carried = loss
            opt.step()
        """,
        ["carried = loss.detach()"],
    ),
    "gradients that each round clears although a step waits for several": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        opt.zero_grad()
        for i in range(8):
            loss = net(torch.randn(4, 3)).pow(2).mean() / 2
            loss.backward()
            if (i + 1) % 2 == 0:
                opt.step()
            opt.zero_grad(set_to_none=True)
        """,
        [],
    ),
    "gradients of several rounds that are cleared right before their step": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(8):
            loss = net(torch.randn(4, 3)).pow(2).mean() / 2
            loss.backward()
            if (i + 1) % 2 == 0:
                opt.zero_grad()
                opt.step()
        """,
        [],
    ),
    "gradients that autograd.grad returns to nobody": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            loss = net(torch.randn(4, 3)).pow(2).mean()
            torch.autograd.grad(loss, list(net.parameters()))
            opt.step()
        """,
        ["loss.backward()"],
    ),
    "backward for some inputs only": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            loss = net(torch.randn(4, 3)).pow(2).mean()
            loss.backward(inputs=list(net[0].parameters()))
            opt.step()
        """,
        ["loss.backward()"],
    ),
    "a module that is copied whenever it is called": (
        """
        import copy
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.head = nn.Linear(3, 3), nn.Linear(3, 1)
            def forward(self, x):
                return copy.deepcopy(self.head)(self.first(x))
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        ["return self.head(self.first(x))"],
    ),
    "a part of what a model returns, kept with its graph": (
        """
        from types import SimpleNamespace
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(3, 3)
            def forward(self, x):
                hidden = self.body(x)
                aux = hidden.pow(2).sum()
                return SimpleNamespace(hidden=hidden, aux=aux)
        net, kept = Net(), []
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(6):
            opt.zero_grad()
            out = net(torch.randn(4, 3))
            (out.hidden.sum() + out.aux).backward()
            opt.step()
            kept.append(out.aux)
        """,
        ["kept.append(out.aux.detach())"],
    ),
    "an optimizer of copies of a model's parameters": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD([p.clone() for p in net.parameters()], lr=0.1)
        net(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        """,
        ["opt = torch.optim.SGD([p for p in net.parameters()], lr=0.1)"],
    ),
    "a parameter that forward wraps anew": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.scale = nn.Linear(3, 3), nn.Parameter(torch.ones(3))
            def forward(self, x):
                return self.body(x) * nn.Parameter(self.scale)
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        ["return self.body(x) * self.scale"],
    ),
    "a parameter that an optimizer of the program's own gets twice": (
        """
        class Own(torch.optim.SGD):
            def __init__(self, params, lr):
                super().__init__(params, lr=lr)
        net = nn.Linear(3, 1)
        opt = Own([*net.parameters(), net.weight], lr=0.1)
        net(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        """,
        ["super().__init__(list(dict.fromkeys(params)), lr=lr)"],
    ),
    "an index between two networks": (
        """
        planner, emb, critic = nn.Linear(4, 6), nn.Embedding(6, 5), nn.Linear(5, 1)
        opt = torch.optim.SGD([*planner.parameters(), *emb.parameters(), *critic.parameters()], lr=0.1)
        choice = torch.max(planner(torch.randn(7, 4)), 1)[1]
        critic(emb(choice)).pow(2).mean().backward()
        opt.step()
        """,
        [
            "scores = planner(torch.randn(7, 4))",
            "choice = torch.max(scores, 1)[1]",
            "critic(scores.softmax(-1) @ emb.weight).pow(2).mean().backward()",
        ],
    ),
    "an index that is looked up where it is made": (
        """
        planner, emb = nn.Linear(4, 6), nn.Embedding(6, 5)
        opt = torch.optim.SGD([*planner.parameters(), *emb.parameters()], lr=0.1)
        shares = planner(torch.randn(7, 4)).softmax(-1)
        rows = 2 * nn.functional.embedding(shares.argmax(-1), emb.weight)
        rows.pow(2).mean().backward()
        opt.step()
        """,
        ["rows = 2 * (shares @ emb.weight)"],
    ),
    "a function that calls the module with its own parameters": (
        """
        class Trainer:
            def __init__(self, net):
                self.net = net
            def loss(self, params, x):
                return self.net(x).pow(2).mean()
        net, x = nn.Linear(4, 1), torch.randn(3, 4)
        params = dict(net.named_parameters())
        grads = torch.func.grad(Trainer(net).loss)(params, x)
        """,
        ["return torch.func.functional_call(self.net, params, (x,)).pow(2).mean()"],
    ),
    "a value that is kept from an evaluation": (
        """
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.net, self.kept = nn.Linear(3, 3), None
            def forward(self, x):
                if self.kept is None:
                    self.kept = self.net(torch.ones(1, 3)) + 1
                return x * self.kept
        model = nn.Sequential(Scaled(), nn.Linear(3, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        with torch.no_grad():
            model(torch.randn(4, 3))
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        [],
    ),
    "a value that a method hands out once it is kept": (
        """
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.net, self.kept = nn.Linear(3, 3), {}
            def scale(self, key):
                if key in self.kept:
                    return self.kept[key]
                self.kept[key] = self.net(torch.ones(1, 3)) + 1
                return self.kept[key]
            def forward(self, x):
                return x * self.scale("a")
        model = nn.Sequential(Scaled(), nn.Linear(3, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        with torch.no_grad():
            model(torch.randn(4, 3))
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        [],
    ),
    "a graph that is kept where there is none yet": (
        """
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 3)
            def forward(self, x):
                if not hasattr(self, "kept"):
                    self.kept = self.net(torch.ones(1, 3)) + 1
                return x * self.kept
        model = nn.Sequential(Scaled(), nn.Linear(3, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        [],
    ),
    "a step between two losses in a loop": (
        """
        body, heads = nn.Linear(3, 3), [nn.Linear(3, 1) for _ in range(2)]
        opts = [torch.optim.SGD(part.parameters(), lr=0.1) for part in (nn.ModuleList([body, heads[0]]), heads[1])]
        h = torch.tanh(body(torch.sigmoid(body(torch.randn(4, 3)))))
        losses = [head(h).pow(2).mean() for head in heads]
        for i, (opt, loss) in enumerate(zip(opts, losses)):
            opt.zero_grad()
            loss.backward(retain_graph=i == 0)
            opt.step()
        """,
        [],
    ),
    "a scheduler of an optimizer that is gone": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        sched = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
        for epoch in range(4):
            if epoch == 2:
                opt = torch.optim.SGD(net.parameters(), lr=0.05)
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
            sched.step()
        """,
        [],
    ),
}


@pytest.mark.parametrize("name", CURES)
def test_the_edits_of_a_report_cure_it(tmp_path, name):
    """The patched program has no finding any more, and differs in the expected lines alone."""
    before, lines = CURES[name]
    after = cured(tmp_path, before)
    assert after
    assert changes(before, after) == lines


HOOKED = """
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    out = net(torch.randn(4, 3))
    {}
    opt.step()
"""
ZEROS = {
    "a hook of a result": "out.register_hook(lambda grad: grad * 0)\n    out.pow(2).mean().backward()",
    "a hook of a parameter": "net.weight.register_hook(torch.zeros_like)\n    out.pow(2).mean().backward()",
    "an assignment": "out.pow(2).mean().backward()\n    net.weight.grad = torch.zeros_like(net.weight)",
}


@pytest.mark.parametrize("name", ZEROS)
def test_what_makes_a_gradient_zero_is_left_out(tmp_path, name):
    """The statement that registers a hook, or that assigns, goes; nothing new comes."""
    before = HOOKED.format(ZEROS[name])
    assert cured(tmp_path, before, values=True)
    assert changes(before, cured(tmp_path, before, values=True)) == []


def test_a_hook_that_is_removed_by_its_handle_stays(tmp_path):
    """Without the registration there would be no handle to remove."""
    hooked = "handle = out.register_hook(lambda grad: grad * 0)\n    out.pow(2).mean().backward()\n    handle.remove()"
    report, path = report_of(tmp_path, HOOKED.format(hooked), values=True)
    assert [finding.rule for finding in report.findings] == ["AG306"]
    assert str(path) not in report.patched()


def test_all_ops_that_overflow_by_themselves_are_bounded(tmp_path):
    """Not the first alone: the second would make the next Inf. What only gets an Inf stays as it is."""
    before = """
        scale = torch.full((3,), 100.0, requires_grad=True)
        spread = torch.exp(scale)
        loss = spread.mean() + scale.exp().sum() + torch.exp(scale - 90).sum()
        loss.backward()
    """
    report, path = report_of(tmp_path, before, values=True)
    assert changes(before, report.patched()[str(path)]) == [
        "spread = torch.exp(scale.clamp(max=50.0))",
        "loss = spread.mean() + scale.clamp(max=50.0).exp().sum() + torch.exp(scale - 90).sum()",
    ]


def test_a_root_is_kept_away_from_zero(tmp_path):
    """What is not finite in backward alone is computed of a sum with a small number, in brackets if need be."""
    before = """
        net = nn.Linear(3, 3)
        x = torch.randn(2, 3)
        d = (net(x) - net(x)).pow(2).sum(1).sqrt()
        d.sum().backward()
    """
    report, path = report_of(tmp_path, before, values=True)
    assert changes(before, report.patched()[str(path)]) == ["d = ((net(x) - net(x)).pow(2).sum(1) + 1e-12).sqrt()"]


KEPT = {
    "a hook that the step itself registers": """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def step(x):
            net.weight.register_hook(lambda grad: grad * 0.5)
            opt.zero_grad()
            net(x).pow(2).mean().backward()
            opt.step()

        for _ in range(3):
            step(torch.randn(4, 3))
    """,
    "an optimizer within a function that also trains with it": """
        def train():
            net = nn.Linear(3, 1)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(2):
                opt.zero_grad()
                net(torch.randn(4, 3)).pow(2).mean().backward()
                opt.step()

        train()
        other = nn.Linear(3, 1)
        other(torch.randn(4, 3)).pow(2).mean().backward()
    """,
}


@pytest.mark.parametrize("name", KEPT)
def test_no_edit_makes_a_program_worse(tmp_path, name):
    """Something is told, and what a change of a line would only make worse stays as it is."""
    report, path = report_of(tmp_path, KEPT[name])
    assert [finding for finding in report.findings if finding.severity != "info"]
    assert str(path) not in report.patched()
