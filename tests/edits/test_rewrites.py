"""Edits that rewrite a construct, made and run again: each cures its program, and nothing new is told."""

import pytest

from tests.edits.cured import changes, cured, report_of

_NET = "net = nn.Linear(3, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"

CASES = {
    "a parameter that a step replaces": (
        """
        net = nn.Linear(3, 1)
        net.scale = nn.Parameter(torch.ones(1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            (net(torch.randn(4, 3)) * net.scale).pow(2).mean().backward()
            opt.step()
            net.scale = nn.Parameter(net.scale.detach().clamp(0, 2))  # in its range
        """,
        ["with torch.no_grad():", "net.scale.copy_(net.scale.detach().clamp(0, 2))  # in its range"],
    ),
    "a bare tensor that a step replaces": (
        """
        w = torch.ones(3, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            (w * torch.randn(3)).pow(2).sum().backward()
            opt.step()
            w = (w / w.sum()).detach().requires_grad_()
        """,
        ["with torch.no_grad():", "w.copy_((w / w.sum()).detach())"],
    ),
    "an attribute that is computed once": (
        """
        class Decay(nn.Module):
            def __init__(self):
                super().__init__()
                self.log = nn.Parameter(torch.zeros(3))
                self.decay = torch.exp(-self.log.exp())

            def forward(self, x):
                return x * self.decay

        net = nn.Sequential(nn.Linear(3, 3), Decay())
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        ["@property", "def decay(self):", "return torch.exp(-self.log.exp())"],
    ),
    "a penalty that a function computes once": (
        """
        net = nn.Linear(3, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def penalty():
            return (net.weight @ net.weight.T - torch.eye(3)).pow(2).sum()

        reg = penalty()
        for _ in range(2):
            loss = net(torch.randn(4, 3)).pow(2).mean() + reg
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        [],
    ),
    "features of inference mode": (
        """
        enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
        opt = torch.optim.SGD(head.parameters(), lr=0.1)

        @torch.inference_mode()
        def features(x):
            return enc(x)

        h = features(torch.randn(4, 3))
        opt.zero_grad()
        head(h).pow(2).mean().backward()
        opt.step()
        """,
        ["@torch.no_grad()"],
    ),
    "a context that nothing enters": (
        """
        teacher, student = nn.Linear(3, 1), nn.Linear(3, 1)
        opt = torch.optim.SGD(student.parameters(), lr=0.1)
        x = torch.randn(4, 3)
        torch.no_grad()
        target = teacher(x)
        (student(x) - target).pow(2).mean().backward()
        opt.step()
        """,
        ["with torch.no_grad():"],
    ),
    "a warm-up by whole numbers": (
        _NET
        + """
warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1, (step + 1) // 10))
for _ in range(4):
    opt.zero_grad()
    net(torch.randn(4, 3)).pow(2).mean().backward()
    opt.step()
    warm.step()
""",
        ["warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1, (step + 1) / 10))"],
    ),
    "a clipping of what was used up": (
        """
        net = nn.Linear(3, 1)
        params = net.parameters()
        opt = torch.optim.SGD(params, lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            (100 * net(torch.randn(4, 3)).pow(2).mean()).backward()
            nn.utils.clip_grad_norm_(params, 1.0)
            opt.step()
        """,
        ["params = list(net.parameters())"],
    ),
    "master weights that nothing copies back": (
        """
        model = nn.Linear(3, 1)
        master = [p.detach().clone().requires_grad_() for p in model.parameters()]
        opt = torch.optim.SGD(master, lr=0.1)
        for _ in range(3):
            model.zero_grad()
            model(torch.randn(4, 3)).pow(2).mean().backward()
            for m, p in zip(master, model.parameters()):
                m.grad = p.grad.float()
            opt.step()
        """,
        ["with torch.no_grad():", "p.copy_(m)"],
    ),
    "a gradient of another dtype": (
        """
        model = nn.Linear(3, 1).to(torch.bfloat16)
        master = [p.detach().float().requires_grad_() for p in model.parameters()]
        opt = torch.optim.SGD(master, lr=0.1)
        model(torch.randn(4, 3, dtype=torch.bfloat16)).float().pow(2).mean().backward()
        for m, p in zip(master, model.parameters()):
            m.grad = p.grad
        opt.step()
        with torch.no_grad():
            for m, p in zip(master, model.parameters()):
                p.copy_(m)
        """,
        ["m.grad = p.grad.to(m)"],
    ),
    "weights that are tied by their data": (
        """
        net = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
        net[1].weight.data = net[0].weight.data
        opt = torch.optim.Adam(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.arange(5)).pow(2).mean().backward()
            opt.step()
        """,
        ["net[1].weight = net[0].weight"],
    ),
    "a teacher with the student's memory": (
        """
        student, teacher = nn.Linear(3, 1), nn.Linear(3, 1).requires_grad_(False)
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.data = s.data
        opt = torch.optim.SGD(student.parameters(), lr=0.1)
        for _ in range(2):
            x = torch.randn(4, 3)
            opt.zero_grad()
            (student(x) - teacher(x) - 1).pow(2).mean().backward()
            opt.step()
            with torch.no_grad():
                for t, s in zip(teacher.parameters(), student.parameters()):
                    t.mul_(0.9).add_(s, alpha=0.1)
        """,
        ["t.data = s.data.clone()"],
    ),
    "an optimizer with its parts in another order": (
        """
        a, b = nn.Linear(3, 4), nn.Linear(4, 1)
        old = torch.optim.Adam([*a.parameters(), *b.parameters()], lr=0.1)
        b(a(torch.randn(4, 3))).pow(2).mean().backward()
        old.step()
        opt = torch.optim.Adam([*b.parameters(), *a.parameters()], lr=0.1)
        opt.load_state_dict(old.state_dict())
        opt.zero_grad()
        b(a(torch.randn(4, 3))).pow(2).mean().backward()
        opt.step()
        """,
        [],
    ),
    "the last of several losses alone": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            for _ in range(4):
                loss = net(torch.randn(4, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        ["loss = 0.0", "loss += net(torch.randn(4, 3)).pow(2).mean()"],
    ),
    "a cell state that goes on with its graph": (
        """
        net = nn.LSTM(3, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def cut(state):
            h, c = state
            return h.detach(), c

        state = None
        for _ in range(2):
            out, state = net(torch.randn(2, 1, 3), state)
            opt.zero_grad()
            out.pow(2).mean().backward()
            opt.step()
            state = cut(state)
        """,
        ["return h.detach(), c.detach()"],
    ),
    "gradients in another order": (
        """
        class Affine(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x @ w

            @staticmethod
            def backward(ctx, grad):
                x, w = ctx.saved_tensors
                return x.T @ grad, grad @ w.T

        w = nn.Parameter(torch.randn(3, 2))
        opt = torch.optim.SGD([w], lr=0.1)
        enc = nn.Linear(3, 3)
        opt.add_param_group({"params": enc.parameters()})
        Affine.apply(enc(torch.randn(4, 3)), w).pow(2).mean().backward()
        opt.step()
        """,
        ["return grad @ w.T, x.T @ grad"],
    ),
    "a discriminator that stays frozen": (
        """
        G, D = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-2), torch.optim.Adam(D.parameters(), 1e-2)
        for _ in range(3):
            z = torch.randn(8, 2)
            d_loss = D(G(z).detach()).mean() - D(torch.randn(8, 3)).mean()
            opt_d.zero_grad()
            if d_loss.requires_grad:
                d_loss.backward()
            opt_d.step()
            for p in D.parameters():
                p.requires_grad = False
            g_loss = -D(G(z)).mean()
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
        """,
        ["p.requires_grad_(True)"],
    ),
    "an average of a model and itself": (
        """
        import copy

        net = nn.Linear(3, 1)
        shadow = copy.copy(net)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
            with torch.no_grad():
                for s, p in zip(shadow.parameters(), net.parameters()):
                    s.mul_(0.9).add_(p, alpha=0.1)
        """,
        ["shadow = copy.deepcopy(net)"],
    ),
    "fakes that both losses need": (
        """
        G, D = nn.Linear(2, 3), nn.Linear(3, 1)
        g_opt, d_opt = torch.optim.Adam(G.parameters(), 1e-2), torch.optim.Adam(D.parameters(), 1e-2)
        for _ in range(3):
            z = torch.randn(8, 2)
            with torch.no_grad():
                fake = G(z)
            d_loss = D(fake).mean() - D(torch.randn(8, 3)).mean()
            d_opt.zero_grad()
            d_loss.backward()
            d_opt.step()
            g_loss = -D(fake).mean()
            g_opt.zero_grad()
            g_loss.backward()
            g_opt.step()
        """,
        [],
    ),
    "data that an edit gives a graph": (
        """
        patch = nn.Parameter(torch.zeros(2))
        opt = torch.optim.SGD([patch], lr=0.1)
        images = torch.randn(3, 4)

        def paste(images):
            out = images
            out[:, :2] = patch.sigmoid()
            return out

        for _ in range(2):
            opt.zero_grad()
            paste(images).pow(2).mean().backward()
            opt.step()
        """,
        ["out = out.clone()"],
    ),
    "a queue that the logits need": (
        """
        class Queue(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 3)
                self.register_buffer("queue", torch.randn(3, 5))

            def forward(self, x):
                q = self.net(x)
                logits = q @ self.queue
                self.push(q.detach())
                return logits

            def push(self, keys):
                self.queue[:, : len(keys)] = keys.T

        net = Queue()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.randn(2, 3)).pow(2).mean().backward()
        opt.step()
        """,
        ["logits = q @ self.queue.clone()"],
    ),
    "a ratio to itself": (
        """
        policy = nn.Linear(3, 4)
        opt = torch.optim.SGD(policy.parameters(), lr=0.1)
        obs, act = torch.randn(5, 3), torch.arange(5) % 4
        for _ in range(2):
            new = policy(obs).log_softmax(-1).gather(1, act[:, None])
            old = policy(obs).log_softmax(-1).gather(1, act[:, None])
            opt.zero_grad()
            (new - old).exp().mean().backward()
            opt.step()
        """,
        ["(new - old.detach()).exp().mean().backward()"],
    ),
    "a hook that keeps what it is given": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
        kept = []
        net[0].register_forward_hook(lambda m, i, o: kept.append(o))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        ["net[0].register_forward_hook(lambda m, i, o: kept.append(o.detach()))"],
    ),
    "a sum that is made as a leaf": (
        """
        net = nn.Linear(3, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        out = torch.zeros(2, 3, requires_grad=True)
        out.index_add_(0, torch.tensor([0, 1, 1]), net(torch.randn(3, 3)))
        out.pow(2).mean().backward()
        opt.step()
        """,
        ["out = torch.zeros(2, 3)"],
    ),
    "random numbers that the recomputation draws anew": (
        """
        from torch.utils.checkpoint import checkpoint

        block, head = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), nn.Linear(3, 1)
        opt = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)
        h = checkpoint(block, torch.randn(4, 3), use_reentrant=False, preserve_rng_state=False)
        head(h).sum().backward()
        opt.step()
        """,
        ["h = checkpoint(block, torch.randn(4, 3), use_reentrant=False)"],
    ),
    "sparse gradients": (
        """
        net = nn.Embedding(5, 3, sparse=True)
        opt = torch.optim.AdamW(net.parameters(), lr=0.1)
        net(torch.arange(5)).pow(2).mean().backward()
        opt.step()
        """,
        ["net = nn.Embedding(5, 3, sparse=False)"],
    ),
    "a Function that forgets an input": (
        """
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x * w

            @staticmethod
            def backward(ctx, grad):
                x, w = ctx.saved_tensors
                return grad * w, None

        enc, w = nn.Linear(3, 3), nn.Parameter(torch.ones(3))
        opt = torch.optim.SGD([*enc.parameters(), w], lr=0.1)
        Scale.apply(enc(torch.randn(4, 3)), w).pow(2).mean().backward()
        opt.step()
        """,
        ["return grad * w, grad * x"],
    ),
    "a Function of what it is given that returns nothing": (
        """
        class Same(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view_as(x)

            @staticmethod
            def backward(ctx, grad_output):
                return None

        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        Same.apply(net(torch.randn(4, 3))).pow(2).mean().backward()
        opt.step()
        """,
        ["return grad_output"],
    ),
    "two optimizers of the same": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.Adam(net.parameters(), lr=0.1)
        other = torch.optim.Adam(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
            other.step()
        """,
        [],
    ),
    "an optimizer of a copy": (
        """
        import copy

        net = nn.Linear(3, 1)
        opt = torch.optim.Adam(copy.deepcopy(net).parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
            net.zero_grad()
        """,
        ["opt = torch.optim.Adam(net.parameters(), lr=0.1)"],
    ),
    "a target network with a graph": (
        """
        import copy

        net = nn.Linear(3, 2)
        target = copy.deepcopy(net)
        opt = torch.optim.Adam(net.parameters(), lr=0.1)
        for _ in range(2):
            x = torch.randn(4, 3)
            opt.zero_grad()
            (net(x) - 1 - target(x).amax(1, keepdim=True)).pow(2).mean().backward()
            opt.step()
        """,
        ["target.requires_grad_(False)"],
    ),
    "fakes that the discriminator's loss frees": (
        """
        G, D = nn.Linear(2, 3), nn.Linear(3, 1)
        g_opt, d_opt = torch.optim.Adam(G.parameters(), 1e-2), torch.optim.Adam(D.parameters(), 1e-2)
        for _ in range(2):
            fake = G(torch.randn(8, 2))
            d_loss = D(fake).mean() - D(torch.randn(8, 3)).mean()
            d_opt.zero_grad()
            d_loss.backward()
            d_opt.step()
            g_loss = -D(fake).mean()
            g_opt.zero_grad()
            g_loss.backward()
            g_opt.step()
        """,
        ["d_loss = D(fake.detach()).mean() - D(torch.randn(8, 3)).mean()"],
    ),
    "a schedule that goes on with each micro-batch": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: max(0.0, 1 - step / 4))
        for i in range(12):
            (net(torch.randn(4, 3)).pow(2).mean() / 4).backward()
            if (i + 1) % 4 == 0:
                opt.step()
                opt.zero_grad()
            schedule.step()
        """,
        [],
    ),
    "modules that __init__ puts into a list": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.stem = nn.Linear(3, 3)
                self.heads = []
                for _ in range(2):
                    self.heads.append(nn.Linear(3, 1))

            def forward(self, x):
                return sum(head(self.stem(x)) for head in self.heads)

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        """,
        ["self.heads = nn.ModuleList([])"],
    ),
    "a chain of results that nothing uses": (
        """
        net, target = nn.Linear(3, 1), nn.Linear(3, 1).requires_grad_(False)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            x = torch.randn(4, 3)
            opt.zero_grad()
            (net(x) - 1 - target(x)).pow(2).mean().backward()
            opt.step()
            with torch.no_grad():
                for t, p in zip(target.parameters(), net.parameters()):
                    t.mul(0.9).add(p, alpha=0.1)
        """,
        ["t.mul_(0.9).add_(p, alpha=0.1)"],
    ),
    "an optimizer of a model that a condition replaces": (
        """
        import copy

        net = nn.Linear(3, 1)
        opt = torch.optim.Adam(net.parameters(), 0.1)
        for epoch in range(4):
            if epoch == 2:
                net = copy.deepcopy(net)
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        ["opt = torch.optim.Adam(net.parameters(), lr=0.1, betas=(0.9, 0.999))"],
    ),
    "a schedule of an optimizer that is made again": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
        opt = torch.optim.AdamW(net.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(opt, 1)
        net[1] = nn.Linear(3, 5)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
            schedule.step()
        """,
        ["opt = torch.optim.AdamW(net.parameters(), lr=0.1, betas=(0.9, 0.999), weight_decay=0.01)"],
    ),
    "losses kept with their graphs over a step": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        losses = []
        for _ in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            losses.append(loss)
            opt.zero_grad()
            torch.stack(losses).mean().backward(retain_graph=True)
            opt.step()
        """,
        ["for index, kept in enumerate(losses):", "losses[index] = kept.detach()"],
    ),
    "initial values written into a weight that a parametrization computes": (
        """
        net = nn.utils.parametrizations.weight_norm(nn.Linear(3, 1))
        with torch.no_grad():
            net.weight.mul_(0.1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        """,
        ["net.weight = net.weight.mul(0.1)"],
    ),
    "an action that NumPy clips": (
        """
        import numpy as np

        actor, critic = nn.Linear(3, 2), nn.Linear(2, 1)
        opt = torch.optim.SGD([*actor.parameters(), *critic.parameters()], lr=0.1)

        def act(seen):
            a = actor(seen).detach().numpy()
            return torch.from_numpy(np.clip(a, -1.0, 1.0))

        critic(act(torch.randn(4, 3))).mean().backward()
        opt.step()
        """,
        ["a = actor(seen)", "return torch.clip(a, -1.0, 1.0)"],
    ),
    "a backward under the condition of its step": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(4):
            loss = net(torch.randn(4, 3)).pow(2).mean() / 2
            if i % 2:
                loss.backward()
                opt.step()
                opt.zero_grad()
        """,
        [],
    ),
    "a tied table that is replaced": (
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.table, self.head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
                self.head.weight = self.table.weight

            def grow(self):
                self.table = nn.Embedding(6, 3)

            def forward(self, ids):
                return self.head(self.table(ids))

        net = Model()
        net.grow()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.arange(4)).logsumexp(-1).mean().backward()
            opt.step()
        """,
        [],
    ),
    "a gradient that is read by another name of the object": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(3, 3), nn.Linear(3, 1)

            def forward(self, x):
                self.seen = self.body(x).tanh()
                return self.head(self.seen)

        def saliency(model, x):
            model(x).sum().backward()
            return 0 if model.seen.grad is None else model.seen.grad.abs().mean()

        saliency(Net(), torch.randn(4, 3))
        """,
        ["if self.seen.requires_grad:", "self.seen.retain_grad()"],
    ),
    "layers that come after the optimizer of other parameters": (
        """
        def build():
            net = nn.Linear(3, 3)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            net = nn.Sequential(net.requires_grad_(False), nn.Linear(3, 1))
            return net, opt

        net, opt = build()
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        [],
    ),
    "the weight of a term that is a parameter": (
        """
        class Model(nn.Module):
            def __init__(self, beta):
                super().__init__()
                self.beta = nn.Parameter(torch.tensor(beta))
                self.layer = nn.Linear(3, 1)

            def forward(self, x):
                y = self.layer(x)
                return y.pow(2).mean() + self.beta * y.abs().mean()

        net = Model(0.5)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(4, 3)).backward()
            opt.step()
        """,
        ['self.register_buffer("beta", torch.tensor(beta))'],
    ),
    "a cache of parametrized weights that is open over several steps": (
        """
        cell = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3, bias=False))
        opt = torch.optim.SGD(cell.parameters(), lr=0.1)
        with nn.utils.parametrize.cached():
            # Three rounds.
            for _ in range(3):
                h = cell(cell(torch.randn(4, 3)).tanh())

                opt.zero_grad()
                h.pow(2).mean().backward()
                opt.step()
        """,
        [],
    ),
    "a leaf that a step by hand replaces without its gradient": (
        """
        x, y = torch.randn(4, 3), torch.randn(4)
        w = torch.zeros(3, requires_grad=True)
        for _ in range(3):
            (x @ w - y).pow(2).mean().backward()
            with torch.no_grad():
                w = w - 0.1 * w.grad  # down
        """,
        ["w -= 0.1 * w.grad  # down", "w.grad = None"],
    ),
    "leaves that are updated in place while autograd records": (
        """
        x, y = torch.randn(4, 3), torch.randn(4)
        w, b = torch.zeros(3, requires_grad=True), torch.zeros(1, requires_grad=True)
        for _ in range(3):
            (x @ w + b - y).pow(2).mean().backward()
            w -= 0.1 * w.grad
            b -= 0.1 * b.grad
            w.grad = b.grad = None
        """,
        ["with torch.no_grad():"],
    ),
    "adapters that are frozen with their base": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        opt = torch.optim.SGD(net[1].parameters(), lr=0.1)
        net.requires_grad_(False)
        net(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        """,
        ["for group in opt.param_groups:", 'for p in group["params"]:', "p.requires_grad_(True)"],
    ),
    "modules in a dict": (
        """
        LEVELS = ("low", "high")

        class Heads(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(3, 3)
                self.heads = {name: nn.Linear(3, 1) for name in LEVELS}

            def forward(self, x):
                return sum(self.heads[name](self.body(x)) for name in LEVELS)

        net = Heads()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        ["self.heads = nn.ModuleDict({name: nn.Linear(3, 1) for name in LEVELS})"],
    ),
    "a module that the trainer's method knows as its own": (
        """
        class Trainer:
            def __init__(self):
                self.agent, self.mix = nn.Linear(3, 2), nn.Linear(2, 1)
                self.opt = torch.optim.SGD(list(self.agent.parameters()), lr=0.1)

            def step(self):
                self.opt.zero_grad()
                self.mix(self.agent(torch.randn(4, 3))).pow(2).mean().backward()
                self.opt.step()

        trainer = Trainer()
        for _ in range(2):
            trainer.step()
        """,
        ['self.opt.add_param_group({"params": [self.mix.get_parameter("weight"), self.mix.get_parameter("bias")]})'],
    ),
    "a step that returns too early": (
        """
        class Plain(torch.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {"lr": 0.1})

            @torch.no_grad()
            def step(self):
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is None:
                            return
                        p.sub_(group["lr"] * p.grad)

        nets = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))
        opt = Plain(nets.parameters())
        nets[1].requires_grad_(False)
        for _ in range(2):
            opt.zero_grad()
            nets[2](nets[0](torch.randn(4, 3))).pow(2).mean().backward()
            opt.step()
        """,
        ["continue"],
    ),
    "a part of a view that its own line computes": (
        """
        net = nn.Linear(2, 2)

        def couple(x):
            y = x
            scale = net(x[:, :2]).tanh()
            y[:, 2:] = x[:, 2:] * scale.exp()
            return y

        couple(couple(torch.randn(3, 4))).pow(2).mean().backward()
        """,
        ["y = y.clone()"],
    ),
}


def test_what_makes_the_model_too_is_not_run_again(tmp_path):
    """One constructor makes the model and its optimizer: another call of it would train another model."""
    text = """
        class Trainer:
            def __init__(self):
                self.net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
                self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
            def replace(self):
                self.net[1] = nn.Linear(3, 1)
        trainer = Trainer()
        trainer.replace()
        trainer.net(torch.randn(4, 3)).pow(2).mean().backward()
        trainer.opt.step()
        """
    report, path = report_of(tmp_path, text)
    assert [finding.rule for finding in report.findings] == ["AG405"]
    assert report.patched().get(str(path), "").count("trainer = Trainer()") <= 1


@pytest.mark.parametrize("name", CASES)
def test_the_edits_cure_the_program(tmp_path, name):
    """What was told is gone, nothing else is told, and the new lines are those."""
    text, lines = CASES[name]
    patched = cured(tmp_path, text)
    assert patched
    assert [line for line in lines if line not in changes(text, patched)] == []


def test_a_deviation_of_one_value(tmp_path):
    """The last batch holds one row, whose deviation is NaN; that of the whole population is 0."""
    text = """
        net = nn.Linear(3, 1, bias=False)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for batch in torch.randn(5, 3).split(4):
            gain = batch[:, 0]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            opt.zero_grad()
            (net(batch).squeeze(-1) * gain).mean().backward()
            opt.step()
        """
    patched = cured(tmp_path, text, values=True)
    assert "gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-8)" in changes(text, patched)
