"""Models that share parameters with others, or with what was to be a copy of them, and ties that come undone."""

from __future__ import annotations

from tests.fixes.cases import by, case

LANGUAGE = """
class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(6, 4), nn.Linear(4, 6, bias=False)
        self.out.weight = self.table.weight
    def forward(self, ids):
        return self.out(self.table(ids))
net = Language()
"""
LEARNS = """
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(torch.arange(6)), torch.arange(6)).backward()
    optimizer.step()
"""
STEPS = """
for _ in range(3):
    with torch.no_grad():
        target = teacher(x)
    optimizer.zero_grad()
    nn.functional.mse_loss(student(x), target).backward()
    optimizer.step()
"""

CASES = {
    "a target network is assigned later": case(
        "AG204",
        """
import copy
policy = nn.Linear(4, 1)
target = copy.deepcopy(policy)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
x, later = torch.randn(2, 8, 4)
for i in range(6):
    with torch.no_grad():
        goal = target(later) + 1
    optimizer.zero_grad()
    F.mse_loss(policy(x), goal).backward()
    optimizer.step()
    if i % 2:
        target = policy
""",
        by("Copy the values", "        target = policy", "        target.load_state_dict(policy.state_dict())"),
        by("assign `copy.deepcopy(policy)`", "        target = policy", "        target = copy.deepcopy(policy)"),
        symptom="target is policy",
    ),
    "a second critic is a shallow copy of the first": case(
        "AG407",
        """
import copy
one = nn.Linear(4, 1)
other = copy.copy(one)
optimizer = torch.optim.SGD([*nn.ModuleList([one, other]).parameters()], lr=0.1)
x = torch.ones(3, 4)
for _ in range(2):
    optimizer.zero_grad()
    a, b = one(x), other(x)
    ((a - 1).pow(2) + (b + 1).pow(2)).mean().backward()
    optimizer.step()
""",
        by("`copy.deepcopy(...)`", "copy.copy(one)", "copy.deepcopy(one)"),
        by("create a new one", "copy.copy(one)", "nn.Linear(4, 1)"),
        symptom="torch.equal(a, b)",
    ),
    "a student has a layer of its teacher": case(
        "AG109",
        """
import copy
x = torch.randn(8, 4)
teacher = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
student = nn.Sequential(teacher[0], nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
"""
        + STEPS,
        by(
            "of the model",
            "nn.Sequential(teacher[0], nn.Tanh(), nn.Linear(4, 1))",
            "copy.deepcopy(teacher)\nnn.init.normal_(student[2].weight)",
        ),
        by("of the layers that both models have", "(teacher[0], nn", "(copy.deepcopy(teacher[0]), nn"),
        symptom="student[0].weight is teacher[0].weight",
    ),
    "a copied target calls a lambda of the original": case(
        "AG109",
        """
import copy
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)
        self.features = lambda x: self.body(x).tanh()
    def forward(self, x):
        return self.head(self.features(x))
student = Net()
teacher = copy.deepcopy(student)
x = torch.randn(8, 4)
with torch.no_grad():
    before = teacher(x)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(3):
    with torch.no_grad():
        target = 1 + 0.9 * teacher(x + 1)
    optimizer.zero_grad()
    nn.functional.mse_loss(student(x), target).backward()
    optimizer.step()
with torch.no_grad():
    after = teacher(x)
""",
        by(
            "Create teacher with its constructor",
            "teacher = copy.deepcopy(student)",
            "teacher = Net()\nteacher.load_state_dict(student.state_dict())",
        ),
        symptom="not torch.equal(before, after)",
    ),
    "a policy is its own reference": case(
        "AG109",
        """
import copy
from contextlib import contextmanager
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.base, self.adapter, self.on = nn.Linear(4, 1).requires_grad_(False), nn.Linear(4, 1), 1
    def forward(self, x):
        return self.base(x) + self.on * self.adapter(x)
    @contextmanager
    def disable_adapter(self):
        self.on = 0
        yield
        self.on = 1
model = Policy()
reference = model
optimizer = torch.optim.SGD(model.adapter.parameters(), lr=0.1)
def margin(model, chosen, rejected):
    return model(chosen) - model(rejected)
margins = []
for chosen, rejected in torch.randn(3, 2, 8, 4):
    optimizer.zero_grad()
    with torch.no_grad():
        old = margin(reference, chosen, rejected)
    gain = margin(model, chosen, rejected) - old
    (-F.logsigmoid(gain).mean()).backward()
    optimizer.step()
    margins.append(gain.detach())
""",
        by(
            "Compute the reference with a copy",
            "reference = model",
            "reference = copy.deepcopy(model).requires_grad_(False)",
        ),
        by("without its trained adapter", "with torch.no_grad():", "with torch.no_grad(), model.disable_adapter():"),
        symptom="not torch.cat(margins).any()",
    ),
    "a rollout writes over the state that it began with": case(
        "AG204",
        """
cell = nn.GRUCell(3, 4)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
state = torch.zeros(2, 4)
seen = [*torch.randn(3, 2, 3)]
initial = state
with torch.no_grad():
    for x in seen:
        new = cell(x, state)
        state.copy_(new)
replayed = initial
losses = []
for x in seen:
    replayed = cell(x, replayed)
    losses.append(replayed.pow(2).mean())
sum(losses).backward()
optimizer.step()
""",
        by("with `.clone()` of each tensor", "initial = state", "initial = state.clone()"),
        by("keep each new state as a new tensor", "state.copy_(new)", "state = new"),
        symptom="initial.any()",
    ),
    "a model is its own teacher": case(
        "AG303",
        """
import copy
x = torch.randn(8, 4)
student = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
teacher = student
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
"""
        + STEPS,
        by(
            "Compute the target with another model",
            "teacher = student",
            "teacher = copy.deepcopy(student)\nnn.init.normal_(teacher[0].weight)",
        ),
        by("from another view of the input", "teacher(x)", "teacher(x + 1)"),
        symptom="not student[0].weight.grad.any()",
    ),
    "an average is kept without a copy": case(
        "AG204",
        """
net = nn.Linear(4, 1)
kept = [p.detach() for p in net.parameters()]
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).pow(2).mean().backward()
    optimizer.step()
    with torch.no_grad():
        for average, p in zip(kept, net.parameters()):
            average.lerp_(p, 0.1)
""",
        by("`.detach().clone()` of a tensor", "[p.detach() for", "[p.detach().clone() for"),
        symptom="kept[0].data_ptr() == net.weight.data_ptr()",
    ),
    "a hook is on the weight that was replaced": case(
        "AG306",
        """
net = nn.Linear(4, 2)
mask = (net.weight.abs() > 0.2).float()
net.weight.register_hook(lambda grad: grad * mask)
net.weight = nn.Parameter(net.weight.detach() * mask)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Register the hook after",
            "net.weight.register_hook(lambda grad: grad * mask)\n",
            "",
            "net.weight = nn.Parameter(net.weight.detach() * mask)\n",
            "net.weight = nn.Parameter(net.weight.detach() * mask)\n"
            "net.weight.register_hook(lambda grad: grad * mask)\n",
        ),
        by(
            "keep the Parameter and change its values",
            "net.weight = nn.Parameter(net.weight.detach() * mask)\n",
            "with torch.no_grad():\n    net.weight.copy_(net.weight * mask)\n",
        ),
        symptom="net.weight.grad[mask == 0].any()",
    ),
    "clients are shallow copies of a server": case(
        "AG407",
        """
import copy
server, clients = nn.Linear(4, 2), []
for x in torch.randn(3, 8, 4):
    client = copy.copy(server)
    client(x)
    optimizer = torch.optim.SGD(client.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        nn.functional.mse_loss(client(x), x[:, :2]).backward()
        optimizer.step()
    clients.append(client)
""",
        by("Copy the model with its parameters", "copy.copy(server)", "copy.deepcopy(server)"),
        symptom="clients[0].weight is clients[1].weight",
    ),
    "a load gives both names a parameter": case(
        "AG407",
        LANGUAGE
        + "net.load_state_dict({name: value.clone() for name, value in net.state_dict().items()}, assign=True)"
        + LEARNS,
        by("Tie them again after loading", "assign=True)\n", "assign=True)\nnet.out.weight = net.table.weight\n"),
        by("load without assign=True", ", assign=True", ""),
        symptom="net.out.weight is not net.table.weight",
    ),
    "both modules of a tie are replaced": case(
        "AG407",
        LANGUAGE
        + """
table, out = nn.Embedding(8, 4), nn.Linear(4, 8, bias=False)
with torch.no_grad():
    out.weight.copy_(table.weight)
net.table = table
net.out = out
"""
        + LEARNS,
        by("Tie them again after", "net.out = out\n", "net.out = out\nnet.out.weight = net.table.weight\n"),
        symptom="net.out.weight is not net.table.weight",
    ),
}
