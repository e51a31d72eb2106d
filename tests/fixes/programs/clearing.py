"""Gradients that are cleared too late, too early or not at all (AG305)."""

from __future__ import annotations

from tests.fixes.cases import by, case

NET = """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 4)
start = net.weight.detach().clone()
"""

STILL = "torch.equal(net.weight, start)"

CASES = {
    "a refused batch is not cleared": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
norms = []
for scale in (1.0, 1.0, 1e4, 1.0):
    (scale * net(torch.ones(3, 4))).pow(2).mean().backward()
    norms.append(net.weight.grad.norm().item())
    if norms[-1] > 1e3:
        continue
    optimizer.step()
    optimizer.zero_grad()
""",
        by(
            "call `optimizer.zero_grad()` there",
            "> 1e3:\n        continue",
            "> 1e3:\n        optimizer.zero_grad()\n        continue",
        ),
        by(
            "or at the beginning of each iteration",
            "    (scale * net",
            "    optimizer.zero_grad()\n    (scale * net",
        ),
        symptom="norms[-1] > 1e3",
    ),
    "a guard leaves out every step": case(
        "AG305",
        """
net = nn.ModuleList([nn.Linear(4, 1), nn.Linear(4, 1).requires_grad_(False)])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = net[0].weight.detach().clone()
for _ in range(3):
    optimizer.zero_grad()
    net[0](torch.ones(3, 4)).mean().backward()
    if all(p.grad is not None and bool(p.grad.isfinite().all()) for p in net.parameters()):
        optimizer.step()
""",
        by(
            "Skip parameters whose `.grad` is None",
            "p.grad is not None and bool(p.grad.isfinite().all())",
            "p.grad is None or bool(p.grad.isfinite().all())",
        ),
        symptom="torch.equal(net[0].weight, start)",
    ),
    "the condition of a guard is the wrong way round": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = net.weight.detach().clone()
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    if not bool(net.weight.grad.isfinite().all()):
        optimizer.step()
""",
        by("Compare it with the gradients that it sees", "if not bool(", "if bool("),
        symptom="torch.equal(net.weight, start)",
    ),
    "a picture is made between backward and step": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    x = torch.ones(3, 4)
    optimizer.zero_grad()
    net(x).mean().backward()
    mine = net.weight.grad.clone()
    if step % 2:
        image = torch.ones(1, 4, requires_grad=True)
        score = net(image).sum()
        score.backward()
        picture = image.grad
    same = torch.equal(mine, net.weight.grad)
    optimizer.step()
""",
        by(
            "`torch.autograd.grad(loss, image)` does not write to `.grad` of the parameters",
            "        score.backward()\n        picture = image.grad\n",
            "        (picture,) = torch.autograd.grad(score, image)\n",
        ),
        by(
            "run this backward() before the gradients are cleared",
            "    optimizer.zero_grad()\n    net(x).mean().backward()\n    mine = net.weight.grad.clone()\n",
            "",
            "    same = torch",
            "    optimizer.zero_grad()\n    net(x).mean().backward()\n    mine = net.weight.grad.clone()\n    same = torch",
        ),
        symptom="not same",
    ),
    "zeros let momentum go on": case(
        "AG305",
        """
trunk, heads = nn.Linear(4, 4), nn.ModuleList([nn.Linear(4, 1), nn.Linear(4, 1)])
optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=0.1)
kept = []
for i in range(4):
    optimizer.zero_grad(set_to_none=False)
    heads[i % 2](trunk(torch.ones(3, 4))).mean().backward()
    optimizer.step()
    kept.append(heads[0].weight.detach().clone())
""",
        by("Let zero_grad() set the gradients to None", "set_to_none=False", ""),
        symptom="not torch.equal(kept[0], kept[1])",
    ),
    "a module does not clear the layers of a plain list": case(
        "AG305",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 1)
        self.layers = []
    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return self.out(x)
net = Net()
net.layers.append(nn.Linear(4, 4))
optimizer = torch.optim.SGD([*net.out.parameters(), *net.layers[0].parameters()], lr=0.1)
for _ in range(3):
    net.zero_grad()
    loss = net(torch.ones(3, 4)).mean()
    true = torch.autograd.grad(loss, net.layers[0].weight, retain_graph=True)[0]
    loss.backward()
    optimizer.step()
""",
        by("Hold the layers in an nn.ModuleList", "self.layers = []", "self.layers = nn.ModuleList()"),
        by("or call zero_grad() of the optimizer", "    net.zero_grad()", "    optimizer.zero_grad()"),
        symptom="not torch.allclose(true, net.layers[0].weight.grad)",
    ),
    "gradients add up over steps": case(
        "AG305",
        NET
        + """
for _ in range(2):
    loss = net(x).mean()
    loss.backward()
    optimizer.step()
""",
        by(
            "Call optimizer.zero_grad() before backward()",
            "    loss.backward",
            "    optimizer.zero_grad()\n    loss.backward",
        ),
        symptom="torch.allclose(net.weight.grad, torch.full((1, 4), 2.0))",
    ),
    "gradients add up over steps of several backwards": case(
        "AG305",
        NET
        + """
for i in range(4):
    loss = net(x).mean()
    loss.backward()
    if i % 2:
        optimizer.step()
""",
        by(
            "Call optimizer.zero_grad() once for each step(), right after it",
            "        optimizer.step()",
            "        optimizer.step()\n        optimizer.zero_grad()",
        ),
        symptom="net.weight.grad is not None",
    ),
    "a program adds to gradients that a step has used": case(
        "AG305",
        NET
        + """
for _ in range(2):
    sent = torch.ones(1, 4)
    net.weight.grad = sent if net.weight.grad is None else net.weight.grad + sent
    optimizer.step()
""",
        by(
            "Call `optimizer.zero_grad()` right after step()",
            "    optimizer.step()",
            "    optimizer.step()\n    optimizer.zero_grad()",
        ),
        symptom="net.weight.grad is not None",
    ),
    "a gradient was there before": case(
        "AG305",
        """
net(x).mean().backward()
optimizer.step()
""",
        by(
            "Call optimizer.zero_grad() before backward()",
            "net(x).mean().backward()\noptimizer",
            "optimizer.zero_grad()\nnet(x).mean().backward()\noptimizer",
        ),
        symptom="torch.allclose(net.weight.grad, torch.full((1, 4), 2.0))",
        before=NET + "net(x).sum().backward()\nnet.weight.grad.fill_(1.0)\n",
    ),
    "a closure does not clear": case(
        "AG305",
        NET
        + """
def closure():
    loss = net(x).pow(2).mean()
    loss.backward()
    return loss
for _ in range(2):
    wanted = torch.autograd.grad(net(x).pow(2).mean(), net.weight)[0]
    optimizer.step(closure)
""",
        by(
            "Call `optimizer.zero_grad()` at the beginning of the closure",
            "    loss = net",
            "    optimizer.zero_grad()\n    loss = net",
        ),
        symptom="not torch.allclose(net.weight.grad, wanted)",
    ),
    "a closure is evaluated several times and does not clear": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=4)
x = torch.ones(3, 4)
def closure():
    loss = net(x).pow(2).mean()
    loss.backward()
    return loss
first = torch.autograd.grad(net(x).pow(2).mean(), net.weight)[0]
for _ in range(2):
    optimizer.step(closure)
""",
        by(
            "Call `optimizer.zero_grad()` at the beginning of the closure",
            "    loss = net",
            "    optimizer.zero_grad()\n    loss = net",
        ),
        symptom="net.weight.grad.abs().sum() > 3 * first.abs().sum()",
    ),
    "gradients are cleared before the step": case(
        "AG305",
        NET
        + """
for _ in range(2):
    loss = net(x).mean()
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
""",
        by(
            "Call zero_grad() before backward()",
            "    optimizer.zero_grad()\n",
            "",
            "    loss.backward",
            "    optimizer.zero_grad()\n    loss.backward",
        ),
        by(
            "after step(): zero_grad, backward, step",
            "    optimizer.zero_grad()\n    optimizer.step()",
            "    optimizer.step()\n    optimizer.zero_grad()",
        ),
        symptom=STILL,
    ),
    "gradients of micro-batches are cleared": case(
        "AG305",
        NET
        + """
for i in range(4):
    optimizer.zero_grad()
    loss = net(x * (i + 1)).mean()
    loss.backward()
    if i % 2:
        optimizer.step()
""",
        by(
            "call zero_grad() once for each step(), right after it",
            "    optimizer.zero_grad()\n",
            "",
            "        optimizer.step()",
            "        optimizer.step()\n        optimizer.zero_grad()",
        ),
        symptom="torch.allclose(net.weight, start - 0.1 * 6)",
    ),
    "the last micro-batches are left over": case(
        "AG305",
        NET
        + """
batches = [torch.ones(2, 4) for _ in range(5)]
start = net.weight.detach().clone()
for _ in range(3):
    optimizer.zero_grad()
    for i, x in enumerate(batches):
        net(x).mean().backward()
        if (i + 1) % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
""",
        by(
            "behind the loop",
            "            optimizer.zero_grad()",
            "            optimizer.zero_grad()\n    optimizer.step()",
        ),
        by(
            "at its last round: `if (i + 1) % 2 == 0 or i + 1 == len(loader):`",
            "if (i + 1) % 2 == 0:",
            "if (i + 1) % 2 == 0 or i + 1 == len(batches):",
        ),
        symptom="torch.allclose(net.weight, start - 0.1 * 12)",
    ),
    "the last micro-batches count in the next epoch": case(
        "AG305",
        NET
        + """
batches = [torch.ones(2, 4) for _ in range(5)]
counts, pending = [], 0
for _ in range(2):
    for i, x in enumerate(batches):
        net(x).mean().backward()
        pending += 1
        if (i + 1) % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
            counts.append(pending)
            pending = 0
""",
        by(
            "behind the loop",
            "            pending = 0",
            "            pending = 0\n    optimizer.step()\n    optimizer.zero_grad()\n    pending = 0",
        ),
        by(
            "at its last round: `if (i + 1) % 2 == 0 or i + 1 == len(loader):`",
            "if (i + 1) % 2 == 0:",
            "if (i + 1) % 2 == 0 or i + 1 == len(batches):",
        ),
        symptom="max(counts) > 2",
    ),
    "another optimizer clears the gradients": case(
        "AG305",
        NET
        + """
other = torch.optim.SGD([net.weight], lr=0.01)
for _ in range(2):
    optimizer.zero_grad()
    net(x).mean().backward()
    other.zero_grad()
    net(2 * x).mean().backward()
    optimizer.step()
moved = start - net.weight
""",
        by(
            "Call other.zero_grad() before that backward()",
            "    other.zero_grad()\n",
            "",
            "    net(x).mean()",
            "    other.zero_grad()\n    net(x).mean()",
        ),
        by(
            "after optimizer.step()",
            "    other.zero_grad()\n",
            "",
            "    optimizer.step()",
            "    optimizer.step()\n    other.zero_grad()",
        ),
        symptom="torch.allclose(moved, torch.full((1, 4), 0.4))",
    ),
    "another loss leaves gradients": case(
        "AG305",
        """
generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
x = torch.randn(3, 4)
for _ in range(2):
    of_generator.zero_grad()
    of_critic.zero_grad()
    (-critic(generator(x)).mean()).backward()
    of_generator.step()
    fake = generator(x).detach()
    (critic(fake).mean() - critic(x).mean()).backward()
    of_critic.step()
wanted = (fake - x).mean(0)
""",
        by(
            "Call `of_critic.zero_grad()` right before the backward() of their own loss",
            "    fake =",
            "    of_critic.zero_grad()\n    fake =",
        ),
        symptom="not torch.allclose(critic.weight.grad[0], wanted, atol=1e-6)",
    ),
    "both gradients may be meant": case(
        "AG305",
        NET
        + """
for i in range(2):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    with torch.no_grad():
        moves = [0.05 * p.grad for p in net.parameters()]
        for p, move in zip(net.parameters(), moves):
            p.add_(move)
    (net(2 * x) - 1).abs().mean().backward()
    with torch.no_grad():
        for p, move in zip(net.parameters(), moves):
            p.sub_(move)
    optimizer.step()
""",
        by(
            "If the step should use only the gradients at the new point: call `optimizer.zero_grad()` between the two backward() calls",
            "            p.add_(move)\n",
            "            p.add_(move)\n    optimizer.zero_grad()\n",
        ),
        symptom="not torch.allclose(net.weight.grad.abs(), torch.full((1, 4), 2.0))",
    ),
    "an attack leaves gradients in the weights": case(
        "AG305",
        """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def attacked(x, y):
    for _ in range(2):
        x = x.detach().requires_grad_(True)
        loss = F.mse_loss(net(x), y)
        loss.backward()
        x = x + 0.1 * x.grad.sign()
    return x.detach()
for _ in range(2):
    optimizer.zero_grad()
    x, y = torch.randn(8, 4), torch.rand(8, 1)
    x = attacked(x, y)
    own = torch.autograd.grad(F.mse_loss(net(x), y), net[0].weight)[0]
    F.mse_loss(net(x), y).backward()
    optimizer.step()
""",
        by(
            "Call `optimizer.zero_grad()` right before the backward() of the training loss",
            "    own =",
            "    optimizer.zero_grad()\n    own =",
        ),
        by(
            "take the gradient of x alone, with torch.autograd.grad(loss, x)",
            "        loss.backward()\n        x = x + 0.1 * x.grad.sign()",
            "        (slope,) = torch.autograd.grad(loss, x)\n        x = x + 0.1 * slope.sign()",
        ),
        symptom="not torch.allclose(net[0].weight.grad, own)",
    ),
    "the gradient of an input is summed with the training's": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 4)
for _ in range(2):
    optimizer.zero_grad()
    moved = x.clone().requires_grad_()
    net(moved).mean().backward()
    moved = (moved + 0.1 * moved.grad.sign()).detach()
    net(moved).mean().backward()
    optimizer.step()
wanted = torch.autograd.grad(net(moved).mean(), net.weight)[0]
""",
        by(
            "all `optimizer.zero_grad()` right before the backward() of the training loss",
            "    moved = (",
            "    optimizer.zero_grad()\n    moved = (",
        ),
        by(
            "torch.autograd.grad(loss, moved)",
            "    net(moved).mean().backward()\n    moved = (moved + 0.1 * moved.grad.sign())",
            "    (slope,) = torch.autograd.grad(net(moved).mean(), moved)\n    moved = (moved + 0.1 * slope.sign())",
        ),
        symptom="not torch.allclose(net.weight.grad, wanted)",
    ),
    "gradients of two places are summed": case(
        "AG305",
        NET
        + """
for _ in range(2):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    with torch.no_grad():
        moves = [0.05 * p.grad for p in net.parameters()]
        for p, move in zip(net.parameters(), moves):
            p.add_(move)
    net(x).pow(2).mean().backward()
    with torch.no_grad():
        for p, move in zip(net.parameters(), moves):
            p.sub_(move)
    optimizer.step()
    moved = [p.detach() + m + 0.1 * p.grad for p, m in zip(net.parameters(), moves)]
wanted = torch.autograd.grad(torch.func.functional_call(net, dict(weight=moved[0].requires_grad_(), bias=moved[1]), (x,)).pow(2).mean(), moved[0])[0]
""",
        by(
            "between the two backward() calls, after the gradients have moved the parameters",
            "            p.add_(move)\n",
            "            p.add_(move)\n    optimizer.zero_grad()\n",
        ),
        symptom="not torch.allclose(net.weight.grad, wanted, atol=1e-5)",
    ),
    "an update by hand is assigned to a variable, and the gradient is cleared": case(
        "AG305",
        """
net = nn.Linear(4, 1)
x = torch.ones(3, 4)
start = net.weight.detach().clone()
for _ in range(2):
    net.zero_grad()
    net(x).pow(2).mean().backward()
    for p in net.parameters():
        p = p - 0.1 * p.grad
""",
        by(
            "Update in place, under torch.no_grad(): `p -= 0.1 * p.grad`.",
            "        p = p - 0.1 * p.grad",
            "        with torch.no_grad():\n            p -= 0.1 * p.grad",
        ),
        symptom=STILL,
    ),
}
