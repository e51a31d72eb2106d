"""Snapshots that are none, results that nothing keeps, sums that overwrite (AG204 to AG206)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a tensor's snapshot is an alias": case(
        "AG204",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
old = net.weight.detach()
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
moved = (net.weight - old).abs().sum()
""",
        by("`.detach().clone()` of a tensor", "net.weight.detach()", "net.weight.detach().clone()"),
        symptom="moved == 0",
    ),
    "a model's snapshot is its live state_dict": case(
        "AG204",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
best = net.state_dict()
start = net.weight.detach().clone()
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
net.load_state_dict(best)
""",
        by("`copy.deepcopy(model.state_dict())` of a model", "net.state_dict()", "copy.deepcopy(net.state_dict())"),
        symptom="not torch.equal(start, net.weight)",
    ),
    "a snapshot becomes the parameter": case(
        "AG204",
        """
net = nn.Linear(4, 1, bias=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
best = net.weight.detach().clone()
start, x = best.clone(), torch.randn(3, 4)
for _ in range(2):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
    with torch.no_grad():
        net.weight.data = best
""",
        by("Assign a copy of the snapshot, `.clone()`", "data = best", "data = best.clone()"),
        by("`p.copy_(value)`", "net.weight.data = best", "net.weight.copy_(best)"),
        symptom="not torch.equal(start, net.weight)",
    ),
    "an optimizer's snapshot is its live state": case(
        "AG204",
        """
import copy
net = nn.Linear(4, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for i in range(3):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    optimizer.step()
    if i == 0:
        good = optimizer.state_dict()
        before = optimizer.state[net.weight]["exp_avg"].clone()
optimizer.load_state_dict(good)
""",
        by(
            "Keep a copy: `copy.deepcopy(optimizer.state_dict())`",
            "good = optimizer.state_dict()",
            "good = copy.deepcopy(optimizer.state_dict())",
        ),
        symptom='not torch.equal(before, optimizer.state[net.weight]["exp_avg"])',
    ),
    "a batch of the data is normalised in place": case(
        "AG204",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.randn(8, 4)
raw = data.clone()
for epoch in range(2):
    for i in range(0, 8, 4):
        batch = data[i : i + 4]
        batch.sub_(0.5)
        optimizer.zero_grad()
        net(batch).pow(2).mean().backward()
        optimizer.step()
""",
        by("Compute a new tensor", "batch.sub_(0.5)", "batch = batch.sub(0.5)"),
        by("copy it where it is taken: `.clone()`", "data[i : i + 4]", "data[i : i + 4].clone()"),
        symptom="not torch.equal(raw, data)",
    ),
    "a pool hands out what it then overwrites": case(
        "AG204",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
pool = torch.zeros(2, 4)
given, shown = torch.randn(4, 4), []
for i in range(4):
    old = pool[i % 2]
    pool[i % 2] = given[i]
    shown.append(torch.stack([old if i > 1 else given[i], given[i]]))
    optimizer.zero_grad()
    net(shown[-1]).pow(2).mean().backward()
    optimizer.step()
""",
        by("Copy the entry where it is taken: `.clone()`", "old = pool[i % 2]", "old = pool[i % 2].clone()"),
        symptom="torch.equal(shown[3][0], given[3])",
    ),
    "a clamped weight is dropped": case(
        "AG205",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    optimizer.step()
    for p in net.parameters():
        p.data.clamp(-0.01, 0.01)
""",
        by(
            "`p.copy_(new_value)`",
            "        p.data.clamp(-0.01, 0.01)",
            "        with torch.no_grad():\n            p.copy_(p.clamp(-0.01, 0.01))",
        ),
        by(
            "`p.clamp_(...)`, `p.mul_(...)`",
            "        p.data.clamp(-0.01, 0.01)",
            "        with torch.no_grad():\n            p.clamp_(-0.01, 0.01)",
        ),
        symptom="bool((net.weight.abs() > 0.011).any())",
    ),
    "an average of gradients is dropped": case(
        "AG205",
        """
net = nn.Linear(4, 1)
params = list(net.parameters())
states = [torch.zeros_like(p) for p in params]
for _ in range(2):
    net.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    with torch.no_grad():
        for p, m in zip(params, states):
            m = m * 0.9 + p.grad * 0.1
            p -= 0.1 * m
""",
        by(
            "`m.mul_(beta).add_(grad, alpha=1 - beta)`",
            "m = m * 0.9 + p.grad * 0.1",
            "m.mul_(0.9).add_(p.grad, alpha=0.1)",
        ),
        by("`m.copy_(new_m)`", "m = m * 0.9 + p.grad * 0.1", "m.copy_(m * 0.9 + p.grad * 0.1)"),
        symptom="not states[0].any()",
    ),
    "an average of gradients is dropped in a step": case(
        "AG205",
        """
class Averaged(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            m = self.state[p].setdefault("m", torch.zeros_like(p))
            m = m * 0.9 + p.grad * 0.1
            p -= 0.1 * m
net = nn.Linear(4, 1)
optimizer = Averaged(net.parameters())
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
""",
        by(
            "`m.mul_(beta).add_(grad, alpha=1 - beta)`",
            "m = m * 0.9 + p.grad * 0.1",
            "m.mul_(0.9).add_(p.grad, alpha=0.1)",
        ),
        by("`m.copy_(new_m)`", "m = m * 0.9 + p.grad * 0.1", "m.copy_(m * 0.9 + p.grad * 0.1)"),
        symptom="not optimizer.state[net.weight]['m'].any()",
    ),
    "scaled gradients are dropped": case(
        "AG205",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    for p in net.parameters():
        p.grad.clamp(-0.001, 0.001)
    optimizer.step()
""",
        by("`p.grad.copy_(new_value)`", "p.grad.clamp(-0.001, 0.001)", "p.grad.copy_(p.grad.clamp(-0.001, 0.001))"),
        by("`p.grad.clamp_(...)`", "p.grad.clamp(-0.001, 0.001)", "p.grad.clamp_(-0.001, 0.001)"),
        symptom="bool((net.weight.grad.abs() > 0.002).any())",
    ),
    "a step of the forward is dropped": case(
        "AG205",
        """
net, shift = nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *shift.parameters()], lr=0.1)
x = torch.randn(3, 4)
h = net(x)
h.add(shift(x))
h.pow(2).mean().backward()
optimizer.step()
""",
        by("`x = x.add(...)`", "h.add(shift(x))", "h = h.add(shift(x))"),
        symptom="shift.weight.grad is None",
    ),
    "a function that scales a gradient is called in vain": case(
        "AG205",
        """
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
seen = []

def scaled(x, by):
    return x * by + x.detach() * (1 - by)

h = net(torch.randn(3, 4))
h.register_hook(lambda gradient: seen.append(gradient))
scaled(h, 0.5)
h.sum().backward()
optimizer.step()
""",
        by("`x = scaled(x, ...)`", "\nscaled(h, 0.5)", "\nh = scaled(h, 0.5)"),
        symptom="bool((seen[0] == 1).all())",
    ),
    "a parametrized weight is written and lost": case(
        "AG205",
        """
net = nn.Linear(4, 4)
net = torch.nn.utils.parametrizations.weight_norm(net)
nn.init.ones_(net.weight)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = net.weight.detach().clone()
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "`module.weight = new_values`",
            "nn.init.ones_(net.weight)",
            "with torch.no_grad():\n    net.weight = torch.ones(4, 4)",
        ),
        by(
            "initialize before the parametrization is registered",
            "nn.init.ones_(net.weight)\n",
            "",
            "net = torch.nn.utils",
            "nn.init.ones_(net.weight)\nnet = torch.nn.utils",
        ),
        symptom="not torch.allclose(start, torch.ones(4, 4))",
    ),
    "a hook drops the clamped gradient": case(
        "AG205",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def clip(grad):
    grad = grad.clamp(-0.001, 0.001)
net.weight.register_hook(clip)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by("`return new_grad`", "    grad = grad.clamp(-0.001, 0.001)", "    return grad.clamp(-0.001, 0.001)"),
        symptom="bool((net.weight.grad.abs() > 0.002).any())",
    ),
    "a backup is never put back": case(
        "AG205",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
for _ in range(3):
    backup = [p.detach().clone() for p in net.parameters()]
    with torch.no_grad():
        for p in net.parameters():
            p.add_(torch.randn_like(p))
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
    left = backup
""",
        by(
            "`p.copy_(backup)` under torch.no_grad()",
            "    optimizer.step()",
            "    with torch.no_grad():\n        for p, old in zip(net.parameters(), backup):\n            p.copy_(old)\n    optimizer.step()",
        ),
        symptom="(net.weight - left[0]).abs().max() > 0.1 * net.weight.grad.abs().max() + 1e-4",
    ),
    "sums by index overwrite each other": case(
        "AG206",
        """
net = nn.Linear(4, 2)
index = torch.tensor([0, 0, 1])
values = net(torch.randn(3, 4))
total = torch.zeros(2, 2)
total[index] += values
total.pow(2).sum().backward()
""",
        by("`total.index_add_(0, index, values)`", "total[index] += values", "total.index_add_(0, index, values)"),
        by(
            "index_put_(..., accumulate=True)",
            "total[index] += values",
            "total.index_put_((index,), values, accumulate=True)",
        ),
        symptom="not torch.allclose(total[0], values[0] + values[1])",
    ),
    "a sum of losses is assigned in each round": case(
        "AG206",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
heads = [nn.Linear(2, 1) for _ in range(3)]
for head in heads:
    optimizer.add_param_group({"params": head.parameters()})
loss = torch.zeros(())
for head in heads:
    loss = head(net(torch.ones(2, 4))).sum()
(loss / 3).backward()
optimizer.step()
""",
        by("Add each term to the sum: `loss = loss + ...`", "    loss = head(", "    loss = loss + head("),
        symptom="heads[0].weight.grad is None",
    ),
    "a list gets one tensor in each round": case(
        "AG204",
        """
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
place, kept = torch.zeros(3), []
for i in range(4):
    place += torch.ones(3)
    kept.append(place)
batch = torch.stack(kept)
net(batch).mean().backward()
optimizer.step()
""",
        by("`place.clone()` where it is stored", "kept.append(place)", "kept.append(place.clone())"),
        by(
            "compute a new tensor instead of changing it in place",
            "place += torch.ones(3)",
            "place = place + torch.ones(3)",
        ),
        symptom="torch.equal(batch[0], batch[3])",
    ),
    "a target network is the network itself": case(
        "AG204",
        """
net = nn.Linear(4, 1)
target = net
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 4)
for i in range(3):
    with torch.no_grad():
        goal = 1 + target(x)
    optimizer.zero_grad()
    (net(x) - goal).pow(2).mean().backward()
    optimizer.step()
    target.load_state_dict(net.state_dict())
""",
        by("`copy.deepcopy(model)`", "target = net", "target = copy.deepcopy(net)"),
        symptom="target is net",
    ),
    "a tensor has a second name for a copy": case(
        "AG204",
        """
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 4)
noisy = x
noisy += 1
(net(noisy) - x).pow(2).mean().backward()
optimizer.step()
""",
        by("`noisy = x.clone()`", "noisy = x", "noisy = x.clone()"),
        by("compute a new tensor instead of changing noisy in place", "noisy += 1", "noisy = noisy + 1"),
        symptom="x[0, 0] == 2",
    ),
    "a module overwrites the input that a skip connection adds": case(
        "AG204",
        """
stem, act, body = nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 4)
optimizer = torch.optim.SGD([*stem.parameters(), *body.parameters()], lr=0.1)
h = stem(torch.randn(3, 4))
old = h.detach().clone()
(h + body(act(h))).pow(2).mean().backward()
optimizer.step()
""",
        by("Call the module with a copy: `h.clone()`", "act(h)", "act(h.clone())"),
        by("make it with inplace=False: `nn.ReLU()`", "nn.ReLU(inplace=True)", "nn.ReLU()"),
        symptom="not torch.equal(h, old)",
    ),
    "adapted parameters are not used": case(
        "AG205",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(3, 4), torch.randn(3, 4)
support = net(x).pow(2).mean()
gradients = torch.autograd.grad(support, list(net.parameters()), create_graph=True)
fast = {n: p - 0.1 * g for (n, p), g in zip(net.named_parameters(), gradients)}
plain = net(y).pow(2).mean()
loss = net(y).pow(2).mean()
same = torch.equal(loss, plain)
del fast, gradients
loss.backward()
optimizer.step()
""",
        by(
            "pass it to the forward (torch.func.functional_call)",
            "loss = net(y)",
            "loss = torch.func.functional_call(net, fast, (y,))",
        ),
        by(
            "add it as a term",
            "loss = net(y).pow(2).mean()",
            "loss = net(y).pow(2).mean() + sum(p.pow(2).sum() for p in fast.values())",
        ),
        by(
            "leave out create_graph=True",
            ", create_graph=True",
            "",
            "same = torch.equal(loss, plain)",
            "same = False  # It is measured.",
        ),
        symptom="same",
    ),
    "a copy of the gradients is changed and never copied back": case(
        "AG205",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(3, 4)).pow(2).mean().backward()
old = net.weight.grad.clone()
def center():
    flat = torch.cat([p.grad.view(-1) for p in net.parameters()])
    flat -= flat.mean()

center()
same = torch.equal(net.weight.grad, old)
optimizer.step()
""",
        by(
            "Copy the new values back before step(): `p.grad.copy_(new_value)`",
            "    flat -= flat.mean()\n",
            "    flat -= flat.mean()\n    net.weight.grad.copy_(flat[:4].view_as(net.weight))\n    net.bias.grad.copy_(flat[4:].view_as(net.bias))\n",
        ),
        symptom="same",
    ),
    "samples augmented in place in each epoch": case(
        "AG204",
        """
kept = [torch.rand(8, 4) + 0.5 for _ in range(4)]
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def augment(x):
    at = int(torch.randint(0, 6, ()))
    x[at : at + 2] = 0.0
    return x
for epoch in range(2):
    for sample in kept:
        optimizer.zero_grad()
        net(augment(sample)).pow(2).mean().backward()
        optimizer.step()
""",
        by("Change a copy: `x.clone()` before the change", "    x[at", "    x = x.clone()\n    x[at"),
        by("where the samples are taken from what keeps them", "augment(sample)", "augment(sample.clone())"),
        symptom="any((x == 0).any() for x in kept)",
    ),
    "loaded weights are initialized again": case(
        "AG205",
        """
class Probe(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.encoder, self.head = nn.Linear(4, 4), nn.Linear(4, 2)
        self.encoder.load_state_dict(weights)
        self.apply(self.begin)
        self.done = True

    @staticmethod
    def begin(module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.02)

weights = nn.Linear(4, 4).state_dict()
net = Probe(weights)
start = net.encoder.weight.detach().clone()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.head(net.encoder(torch.ones(3, 4))).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Initialize first, and load afterwards",
            "        self.encoder.load_state_dict(weights)\n        self.apply(self.begin)\n",
            "        self.apply(self.begin)\n        self.encoder.load_state_dict(weights)\n",
        ),
        by(
            "or initialize only the layers that are not loaded", "self.apply(self.begin)", "self.head.apply(self.begin)"
        ),
        symptom="not torch.equal(start, weights['weight'])",
    ),
}
