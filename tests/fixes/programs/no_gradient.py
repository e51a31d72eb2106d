"""Parameters that backward did not reach, and gradients that are None (AG301, AG302)."""

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
        by("Use what should learn in the forward (recompute cached features with grad)", "head(cached)", "head(encoder(x))"),
        by("leave it out of the optimizer", "*encoder.parameters(), ", ""),
        symptom="encoder.weight.grad is None and len(optimizer.param_groups[0]['params']) == 4",
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
        by("Add what is computed from it to the loss that backward() is called on", "loss = one", "loss = one + two"),
        by("leave it out of the optimizer", ", *second.parameters()", ""),
        symptom="second.weight.grad is None and len(optimizer.param_groups[0]['params']) == 6",
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
        by("Nothing, where the data choose the modules", "(0, 1)", "(0, 1, 2)"),
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
        by("out of the optimizer", "SGD(net.parameters()", "SGD([p for n, p in net.named_parameters() if n != 'out.bias']"),
        by("add a loss term that uses the values themselves", "loss = force.pow(2).mean()", "loss = force.pow(2).mean() + energy.pow(2)"),
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
        by("Call requires_grad_(True) before the forward", "    h = encoder(torch.randn(3, 4))\n", "", "        encoder.requires_grad_(True)\n", "        encoder.requires_grad_(True)\n    h = encoder(torch.randn(3, 4))\n"),
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
        by("Call it where grad mode is on and add the result to the loss", "with torch.no_grad():\n    penalty", "penalty", ".mean()", ".mean() + penalty"),
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
        by("pass allow_unused=True where it may be independent of it", "grad(loss, x)", "grad(loss, x, allow_unused=True)"),
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
        by("Make first first and compute loss from it", "loss = net(x).sum()\nfirst = x[0]\n", "first = x[0]\nloss = net(first).sum()\n"),
        by("ask for the gradient of x and take the part that belongs to first", "grad(loss, first)", "grad(loss, x)\nslope = slope[0]"),
    ),
    "the gradient of an intermediate tensor is read": case(
        "AG302",
        """
net = nn.Linear(4, 4)
h = net(torch.randn(3, 4))
h.pow(2).mean().backward()
size = h.grad
""",
        by("Call h.retain_grad() before backward()", "h.pow", "h.retain_grad()\nh.pow"),
        symptom="size is None",
    ),
    "a leaf is converted": case(
        "AG302",
        """
w = torch.randn(3, requires_grad=True)
w = w.to(torch.float64)
w.pow(2).sum().backward()
grad = w.grad
""",
        by("Make w with its final dtype and device and call requires_grad_() last", "torch.randn(3, requires_grad=True)", "torch.randn(3)", "w = w.to(torch.float64)", "w = w.to(torch.float64).requires_grad_()"),
        symptom="grad is None",
    ),
    "one line makes a leaf and scales it": case(
        "AG302",
        """
w = torch.randn(3, requires_grad=True) * 0.1
w.pow(2).sum().backward()
grad = w.grad
""",
        by("`w = (torch.randn(3) * 0.1).requires_grad_()`", "torch.randn(3, requires_grad=True) * 0.1", "(torch.randn(3) * 0.1).requires_grad_()"),
        symptom="grad is None",
    ),
    "a leaf is updated by an expression": case(
        "AG302",
        """
w = torch.randn(3, requires_grad=True)
for _ in range(2):
    loss = w.pow(2).sum()
    loss.backward()
    w = w - 0.1 * w.grad
""",
        by("clear its gradient before the next backward() where nothing does: `w.grad = None`", "    w = w - 0.1 * w.grad", "    with torch.no_grad():\n        w -= 0.1 * w.grad\n        w.grad = None"),
    ),
    "an iterate stays in the graph": case(
        "AG302",
        """
x = torch.randn(3, requires_grad=True)
for _ in range(2):
    x.pow(2).sum().backward()
    x = (x - 0.1 * x.grad.sign()).clamp(-1, 1)
""",
        by("Detach x in each iteration, so that it is a leaf again: `", "(x - 0.1 * x.grad.sign()).clamp(-1, 1)", "(x - 0.1 * x.grad.sign()).clamp(-1, 1).detach().requires_grad_()"),
    ),
    "an optimizer is given a non-leaf": case(
        "AG302",
        """
w = torch.randn(3, requires_grad=True).double()
optimizer = torch.optim.SGD([w], lr=0.1)
""",
        by("Make the tensor with its final dtype and device, call requires_grad_()", "torch.randn(3, requires_grad=True).double()", "torch.randn(3).double().requires_grad_()"),
        by("(or nn.Parameter) last", "torch.randn(3, requires_grad=True).double()", "nn.Parameter(torch.randn(3).double())"),
    ),
    "requires_grad is switched off on a result": case(
        "AG302",
        """
net = nn.Linear(4, 4)
h = net(torch.randn(3, 4))
h.requires_grad_(False)
""",
        by("Use `h.detach()` where no gradient is to flow back", "h.requires_grad_(False)", "h = h.detach()"),
        by("to freeze something, set requires_grad of the parameters", "h.requires_grad_(False)\n", "", "h = ", "net.requires_grad_(False)\nh = "),
    ),
    "a hook for leaves is registered on a result": case(
        "AG302",
        """
w = torch.randn(3, requires_grad=True)
h = w * 2
h.register_post_accumulate_grad_hook(lambda grad: None)
h.sum().backward()
""",
        by("Register the hook on the leaf that h is computed from", "h.register_post", "w.register_post"),
        by("use register_hook()", "register_post_accumulate_grad_hook", "register_hook"),
    ),
    "a gradient is read after it was cleared": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
optimizer.zero_grad()
size = net.weight.grad.norm()
""",
        by("Read it between backward() and zero_grad()", "optimizer.zero_grad()\nsize = net.weight.grad.norm()\n", "size = net.weight.grad.norm()\noptimizer.zero_grad()\n"),
    ),
    "a gradient is read before backward": case(
        "AG305",
        """
net = nn.Linear(4, 1)
loss = net(torch.randn(3, 4)).pow(2).mean()
size = net.weight.grad.norm()
""",
        by("Call loss.backward() before .grad is read", "size", "loss.backward()\nsize"),
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
        by("Leave what is frozen out (`if p.grad is not None`)", "    sizes", "    if p.grad is not None:\n        sizes"),
        by("call requires_grad_() on it before the forward", "net(torch", "net[0].requires_grad_()\nnet(torch"),
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
        by("skip what has no gradient (`if p.grad is not None`)", "    sizes", "    if p.grad is not None:\n        sizes"),
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
        by("Call x.requires_grad_() before the forward that uses it", "out = net(x)\nx.requires_grad_()\n", "x.requires_grad_()\nout = net(x)\n"),
    ),
}
