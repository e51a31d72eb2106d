"""Parameters that backward did not reach (AG301)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a module of the optimizer is not used": case(
        "AG301",
        """
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
x, cached = torch.randn(3, 4), torch.randn(3, 4)
head(cached).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Use it in the forward (recompute cached features with grad)",
            "head(cached)",
            "head(encoder(x))",
        ),
        by("leave it out of the optimizer", "*encoder.parameters(), ", ""),
        symptom="encoder.weight.grad is None and len(optimizer.param_groups[0]['params']) == 4",
    ),
    "adapters stay merged": case(
        "AG301",
        """
class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 3).requires_grad_(False)
        self.down, self.up = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.randn(3, 2))
        self.merged = False
    @torch.no_grad()
    def merge(self, sign=1):
        self.base.weight.add_(sign * self.up @ self.down)
        self.merged = sign > 0
    def forward(self, x):
        return self.base(x) if self.merged else self.base(x) + x @ self.down.t() @ self.up.t()
net = nn.Sequential(Adapted(), nn.Linear(3, 1))
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    net(torch.randn(5, 4)).pow(2).mean().backward()
    optimizer.step()
    if step == 1:
        served = net
        served[0].merge()
        shown = served(torch.randn(5, 4)).detach()
""",
        by(
            "Undo the merge before training continues",
            "(torch.randn(5, 4)).detach()",
            "(torch.randn(5, 4)).detach()\n        served[0].merge(-1)",
        ),
        by("merge a copy of the model", "served = net", "served = copy.deepcopy(net)"),
        symptom="net[0].up.grad is None",
    ),
    "an input is cut off from its own derivative": case(
        "AG301",
        """
net = nn.Linear(2, 1)
x, t = torch.rand(4, 1), torch.rand(4, 1, requires_grad=True)
u = net(torch.cat([x, t.detach()], 1))
slope = torch.autograd.grad(u.sum(), t, create_graph=True, allow_unused=True)[0]
""",
        by("with its graph where .detach() cuts it off", "t.detach()", "t"),
        symptom="slope is None",
    ),
    "a head's loss is left out": case(
        "AG301",
        """
trunk, first, second = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*trunk.parameters(), *first.parameters(), *second.parameters()], lr=0.1)
h = trunk(torch.randn(3, 4))
one, two = first(h).pow(2).mean(), second(h).pow(2).mean()
loss = one
loss.backward()
optimizer.step()
""",
        by("Include its output in the loss that backward() is called on", "loss = one", "loss = one + two"),
        by("leave it out of the optimizer", ", *second.parameters()", ""),
        symptom="second.weight.grad is None and len(optimizer.param_groups[0]['params']) == 6",
    ),
    "a gate only chooses": case(
        "AG301",
        """
gate, first, second = nn.Parameter(torch.zeros(2)), nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD([gate, *first.parameters()], lr=0.1)
chosen = gate.softmax(0).argmax().item()
out = (first, second)[chosen](torch.randn(3, 4))
out.pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Weight what the index chooses by the tensor that it is taken from",
            "(torch.randn(3, 4))",
            "(torch.randn(3, 4)) * gate.softmax(0)[chosen]",
        ),
        by("leave it out of the optimizer", "[gate, *first.parameters()]", "first.parameters()"),
        symptom="gate.grad is None and len(optimizer.param_groups[0]['params']) == 3",
    ),
    "an expert is not chosen": case(
        "AG301",
        """
class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(4, 1) for _ in range(3)])
    def forward(self, x, i):
        return self.experts[i](x)
net = Experts()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in (0, 1):
    optimizer.zero_grad()
    net(torch.randn(3, 4), i).pow(2).mean().backward()
    optimizer.step()
""",
        by("No change is needed if the data select the modules", "(0, 1)", "(0, 1, 2)"),
        symptom="net.experts[2].weight.grad is None and i == 1",
    ),
    "only the derivative is in the loss": case(
        "AG301",
        """
class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(4, 4), nn.Linear(4, 1)
    def forward(self, x):
        return self.out(self.hidden(x).tanh())
net = Energy()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4, requires_grad=True)
energy = net(x).sum()
(force,) = torch.autograd.grad(energy, x, create_graph=True)
loss = force.pow(2).mean()
loss.backward()
optimizer.step()
""",
        by("Leave it out (bias=False)", "nn.Linear(4, 1)", "nn.Linear(4, 1, bias=False)"),
        by(
            "out of the optimizer",
            "SGD(net.parameters()",
            "SGD([p for n, p in net.named_parameters() if n != 'out.bias']",
        ),
        by(
            "add a loss term that uses the values themselves",
            "loss = force.pow(2).mean()",
            "loss = force.pow(2).mean() + energy.pow(2)",
        ),
        symptom="net.out.bias is not None and net.out.bias.grad is None and len(optimizer.param_groups[0]['params']) == 4",
    ),
    "a module is unfrozen after its forward": case(
        "AG301",
        """
encoder, head = nn.Linear(4, 4).requires_grad_(False), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
h = encoder(torch.randn(3, 4))
encoder.requires_grad_(True)
head(h).pow(2).mean().backward()
optimizer.step()
""",
        by("Do not freeze it before its forward", ".requires_grad_(False), nn", ", nn"),
        by("leave it out of the optimizer", "*encoder.parameters(), ", ""),
        symptom="encoder.weight.grad is None and len(optimizer.param_groups[0]['params']) == 4",
    ),
    "a module is unfrozen after its forward, later in the training": case(
        "AG301",
        """
encoder, head = nn.Linear(4, 4).requires_grad_(False), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
for i in range(2):
    optimizer.zero_grad()
    h = encoder(torch.randn(3, 4))
    if i == 1:
        encoder.requires_grad_(True)
    head(h).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Call requires_grad_(True) before the forward",
            "    h = encoder(torch.randn(3, 4))\n",
            "",
            "        encoder.requires_grad_(True)\n",
            "        encoder.requires_grad_(True)\n    h = encoder(torch.randn(3, 4))\n",
        ),
        by("leave it out of the optimizer", "*encoder.parameters(), ", ""),
        symptom="encoder.weight.grad is None and len(optimizer.param_groups[0]['params']) == 4",
    ),
    "a penalty is computed under no_grad": case(
        "AG301",
        """
net, scale = nn.Linear(4, 1), nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
class Penalty(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = scale
    def forward(self):
        return self.scale.pow(2).sum()
penalize = Penalty()
with torch.no_grad():
    penalty = penalize()
loss = net(torch.randn(3, 4)).pow(2).mean()
loss.backward()
optimizer.step()
""",
        by(
            "Call it where grad mode is on and add the result to the loss",
            "with torch.no_grad():\n    penalty",
            "penalty",
            ".mean()",
            ".mean() + penalty",
        ),
        by("leave it out of the optimizer", ", scale]", "]"),
        symptom="scale.grad is None and len(optimizer.param_groups[0]['params']) == 3",
    ),
    "grad() is asked for a tensor that the loss is not computed from": case(
        "AG301",
        """
net = nn.Linear(4, 1)
x = torch.randn(3, 4, requires_grad=True)
y = torch.randn(3, 4, requires_grad=True)
loss = net(y).sum()
(slope,) = torch.autograd.grad(loss, x)
""",
        by("Compute loss from x itself", "net(y)", "net(x)"),
        by(
            "pass allow_unused=True where it may be independent of it",
            "grad(loss, x)",
            "grad(loss, x, allow_unused=True)",
        ),
    ),
    "the backward of compiled code is differentiated": case(
        "AG301",
        """
net = nn.Sequential(nn.Linear(4, 8), nn.Softplus(), nn.Linear(8, 1))
energy = torch.compile(lambda z: net(z), backend="aot_eager")
x = torch.randn(3, 4).repeat(2, 1).view(-1, 4).requires_grad_()
(score,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)
total = score.sum()
(curvature,) = torch.autograd.grad(total, x)
""",
        by(
            "Do not compile code that is differentiated twice",
            'torch.compile(lambda z: net(z), backend="aot_eager")',
            "net",
        ),
        by('compile it with `backend="eager"`', "aot_eager", "eager"),
    ),
    "grad() is asked for a weight of the loss that a step came after": case(
        "AG301",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, rate = torch.ones(3, 4), torch.ones((), requires_grad=True)
loss = rate * net(x).pow(2).mean()
loss.backward()
optimizer.step()
val = net(x).pow(2).mean()
(slope,) = torch.autograd.grad(val, rate)
""",
        by(
            "Write the step yourself",
            "loss.backward()\noptimizer.step()\nval = net(x)",
            "g = torch.autograd.grad(loss, (net.weight, net.bias), create_graph=True)\n"
            "fast = {n: p - 0.1 * d for (n, p), d in zip(net.named_parameters(), g)}\n"
            "val = torch.func.functional_call(net, fast, (x,))",
        ),
    ),
    "grad() is asked for a slice that was cut afterwards": case(
        "AG301",
        """
net = nn.Linear(4, 1)
x = torch.randn(3, 4, requires_grad=True)
loss = net(x).sum()
first = x[0]
(slope,) = torch.autograd.grad(loss, first)
""",
        by(
            "Make first first and compute loss from it",
            "loss = net(x).sum()\nfirst = x[0]\n",
            "first = x[0]\nloss = net(first).sum()\n",
        ),
        by(
            "compute the gradient of x and use the part that belongs to first",
            "grad(loss, first)",
            "grad(loss, x)\nslope = slope[0]",
        ),
    ),
    "the gradient of a frozen parameter is read": case(
        "AG301",
        """
net = nn.Sequential(nn.Linear(4, 4).requires_grad_(False), nn.Linear(4, 1))
net(torch.randn(3, 4)).pow(2).mean().backward()
sizes = []
for p in net.parameters():
    sizes.append(p.grad.norm())
""",
        by(
            "Skip frozen parameters (`if p.grad is not None`)",
            "    sizes",
            "    if p.grad is not None:\n        sizes",
        ),
        by("call requires_grad_() on them before the forward", "net(torch", "net[0].requires_grad_()\nnet(torch"),
    ),
    "the gradient of a part without a loss is read": case(
        "AG301",
        """
net, extra = nn.Linear(4, 1), nn.Linear(4, 1)
x = torch.randn(3, 4)
loss = net(x).pow(2).mean()
loss.backward()
sizes = []
for p in [*net.parameters(), *extra.parameters()]:
    sizes.append(p.grad.norm())
""",
        by("Use it in the loss that backward() is called on", ".mean()", ".mean() + extra(x).pow(2).mean()"),
        by(
            "skip parameters without a gradient (`if p.grad is not None`)",
            "    sizes",
            "    if p.grad is not None:\n        sizes",
        ),
    ),
    "the gradient of a tensor that required grad too late is read": case(
        "AG301",
        """
net = nn.Linear(4, 1)
x = torch.randn(3, 4)
out = net(x)
x.requires_grad_()
out.sum().backward()
slope = x.grad.norm()
""",
        by(
            "Call x.requires_grad_() before the forward that uses it",
            "out = net(x)\nx.requires_grad_()\n",
            "x.requires_grad_()\nout = net(x)\n",
        ),
    ),
    "autograd.grad gives None": case(
        "AG301",
        """
net, extra = nn.Linear(4, 1), nn.Linear(4, 1)
params = [*net.parameters(), *extra.parameters()]
loss = net(torch.randn(3, 4)).pow(2).mean()
grads = torch.autograd.grad(loss, params, allow_unused=True)
fast = [p - 0.1 * g for p, g in zip(params, grads)]
""",
        by(
            "Skip the parameters without a gradient: `p if g is None else p - lr * g`",
            "[p - 0.1 * g",
            "[p if g is None else p - 0.1 * g",
        ),
        by("Or pass materialize_grads=True", "allow_unused=True", "materialize_grads=True"),
    ),
}
