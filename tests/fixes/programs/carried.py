"""Graphs that are carried into the next round (AG501)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a plan that is bounded into a new tensor": case(
        "AG501",
        """
actions = torch.zeros(4, requires_grad=True)
optimizer = torch.optim.SGD([actions], lr=1.0)
for _ in range(4):
    optimizer.zero_grad()
    (actions - 3).pow(2).sum().backward()
    optimizer.step()
    actions = actions.clamp(-1, 1)
""",
        by(
            "Write the new values into actions under torch.no_grad()",
            "    actions = actions.clamp(-1, 1)",
            "    with torch.no_grad():\n        actions.copy_(actions.clamp(-1, 1))",
        ),
    ),
    "a plan that noise is added to": case(
        "AG501",
        """
actions = torch.zeros(4, requires_grad=True)
optimizer = torch.optim.SGD([actions], lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    (actions - 3).pow(2).sum().backward()
    optimizer.step()
    actions = actions + 0.01 * torch.randn(4)
""",
        by(
            "Write the new values into actions under torch.no_grad()",
            "    actions = actions + 0.01 * torch.randn(4)",
            "    with torch.no_grad():\n        actions += 0.01 * torch.randn(4)",
        ),
        symptom="not actions.is_leaf",
    ),
    "a hidden state is carried over batches": case(
        "AG501",
        """
cell = nn.GRUCell(4, 4)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
hidden = torch.zeros(1, 4)
for i in range(3):
    optimizer.zero_grad()
    hidden = cell(torch.randn(1, 4), hidden)
    hidden.pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Compute hidden again for each backward()",
            "    optimizer.step()",
            "    optimizer.step()\n    hidden = torch.zeros(1, 4)",
        ),
        by(
            "detach it where it is carried over: `hidden = hidden.detach()`",
            "    optimizer.step()",
            "    optimizer.step()\n    hidden = hidden.detach()",
        ),
    ),
    "a state is carried between two backwards of one step": case(
        "AG501",
        """
cell = nn.GRUCell(4, 4)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
hidden = torch.zeros(1, 4)
for i in range(2):
    hidden = cell(torch.randn(1, 4), hidden)
    hidden.pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Compute hidden again for each backward()",
            "    hidden = cell(torch.randn(1, 4), hidden)",
            "    hidden = torch.zeros(1, 4)\n    hidden = cell(torch.randn(1, 4), hidden)",
        ),
        by(
            "detach it where it is carried over: `hidden = hidden.detach()`",
            ".backward()",
            ".backward()\n    hidden = hidden.detach()",
        ),
        by("pass retain_graph=True to each backward() but the last", ".backward()", ".backward(retain_graph=i == 0)"),
    ),
    "the state of an LSTM is carried over batches": case(
        "AG501",
        """
lstm = nn.LSTM(4, 4)
optimizer = torch.optim.SGD(lstm.parameters(), lr=0.1)
state = (torch.zeros(1, 1, 4), torch.zeros(1, 1, 4))
for i in range(3):
    optimizer.zero_grad()
    out, state = lstm(torch.randn(2, 1, 4), state)
    out.pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Compute state again for each backward()",
            "    optimizer.step()",
            "    optimizer.step()\n    state = (torch.zeros(1, 1, 4), torch.zeros(1, 1, 4))",
        ),
        by(
            "detach it where it is carried over: `state = tuple(t.detach() for t in state)`",
            "    optimizer.step()",
            "    optimizer.step()\n    state = tuple(t.detach() for t in state)",
        ),
    ),
    "two states are carried over batches": case(
        "AG501",
        """
cell = nn.LSTMCell(4, 4)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
hidden, memory = torch.zeros(1, 4), torch.zeros(1, 4)
for i in range(3):
    optimizer.zero_grad()
    hidden, memory = cell(torch.randn(1, 4), (hidden, memory))
    hidden.pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Compute hidden again for each backward()",
            "    optimizer.step()",
            "    optimizer.step()\n    hidden, memory = torch.zeros(1, 4), torch.zeros(1, 4)",
        ),
        by(
            "detach it where it is carried over: `hidden, memory = hidden.detach(), memory.detach()`",
            "    optimizer.step()",
            "    optimizer.step()\n    hidden, memory = hidden.detach(), memory.detach()",
        ),
    ),
    "one of two states is detached": case(
        "AG501",
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, 4)
    def forward(self, x, state):
        hidden, memory = self.cell(x, state)
        return hidden, (hidden.detach(), memory)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
state = torch.zeros(1, 4), torch.zeros(1, 4)
for i in range(3):
    optimizer.zero_grad()
    out, state = model(torch.randn(1, 4), state)
    out.pow(2).mean().backward()
    optimizer.step()
""",
        by("Compute", "    optimizer.step()", "    optimizer.step()\n    state = torch.zeros(1, 4), torch.zeros(1, 4)"),
        by(
            "call detach() on it too where hidden is detached: `return hidden, (hidden.detach(), memory)`",
            "(hidden.detach(), memory)",
            "(hidden.detach(), memory.detach())",
        ),
    ),
    "an item of a batch keeps its graph": case(
        "AG501",
        """
net, batch = nn.Linear(4, 4), {}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
batch["old"] = net(torch.randn(3, 4)).tanh()
for i in range(2):
    optimizer.zero_grad()
    (net(torch.randn(3, 4)) - batch["old"]).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Compute batch['old'] again for each backward() if it is trained",
            "    optimizer.zero_grad()",
            '    batch["old"] = net(torch.randn(3, 4)).tanh()\n    optimizer.zero_grad()',
            'batch["old"] = net(torch.randn(3, 4)).tanh()\nfor',
            "for",
        ),
        by(
            'otherwise detach it: call detach() on the value that `batch["old"] = net(torch.randn(3, 4)).tanh()` stores in batch',
            ".tanh()",
            ".tanh().detach()",
        ),
    ),
    "a queue keeps keys with their graphs": case(
        "AG501",
        """
class Queue(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.keys = nn.Linear(4, 4), []
    def forward(self, x):
        key = self.net(x).tanh()
        self.keys.append(key)
        return torch.stack(self.keys).pow(2).mean()
queue = Queue()
optimizer = torch.optim.SGD(queue.parameters(), lr=0.1)
for i in range(2):
    optimizer.zero_grad()
    loss = queue(torch.randn(3, 4))
    loss.backward()
    optimizer.step()
""",
        by(
            "Compute key again for each backward() if it is trained",
            "        self.keys.append(key)",
            "        self.inputs.append(x)\n        self.keys = [self.net(x).tanh() for x in self.inputs]",
            "self.keys = nn.Linear(4, 4), []",
            "self.keys, self.inputs = nn.Linear(4, 4), [], []",
        ),
        by(
            "otherwise detach it: call detach() on the contents of Queue.keys after each backward()",
            "    loss.backward()",
            "    loss.backward()\n    queue.keys = [key.detach() for key in queue.keys]",
        ),
    ),
    "fast weights are carried over rounds": case(
        "AG501",
        """
weight = torch.randn(4, requires_grad=True)
updated = weight.exp()
for i in range(2):
    loss = (updated * torch.randn(4)).pow(2).sum()
    (slope,) = torch.autograd.grad(loss, updated)
    updated = updated - 0.1 * updated.tanh() * slope
    updated.sum().backward()
""",
        by(
            "Compute updated again for each backward()",
            "    updated.sum().backward()",
            "    updated.sum().backward()\n    updated = weight.exp()",
        ),
        by(
            "detach it where it is carried over: `updated = updated.detach().requires_grad_()`",
            "    updated.sum().backward()",
            "    updated.sum().backward()\n    updated = updated.detach().requires_grad_()",
        ),
        by(
            "pass retain_graph=True to each backward() but the last",
            "sum().backward()",
            "sum().backward(retain_graph=i == 0)",
        ),
    ),
    "a learned table is cached": case(
        "AG501",
        """
kernel, net = nn.Parameter(torch.ones(4)), nn.Linear(4, 1)
optimizer = torch.optim.SGD([kernel, *net.parameters()], lr=0.1)
x = torch.randn(3, 4)
features = (kernel * 2).exp().sum()
for i in range(2):
    optimizer.zero_grad()
    (net(x * kernel).pow(2).mean() + features).backward()
    optimizer.step()
""",
        by(
            "Compute features again in each iteration instead of keeping it",
            "features = (kernel * 2).exp().sum()\n",
            "",
            "    optimizer.zero_grad()",
            "    features = (kernel * 2).exp().sum()\n    optimizer.zero_grad()",
        ),
    ),
    "parametrized weights are cached over rounds": case(
        "AG501",
        """
net = torch.nn.utils.parametrizations.weight_norm(nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
with torch.nn.utils.parametrize.cached():
    for i in range(2):
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        optimizer.step()
""",
        by(
            "Enter parametrize.cached() in each iteration, inside the loop",
            "with torch.nn.utils.parametrize.cached():\n    for i in range(2):\n",
            "for i in range(2):\n    with torch.nn.utils.parametrize.cached():\n",
        ),
    ),
    "features of a trained encoder are cached": case(
        "AG501",
        """
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(3, 4)
features = encoder(x).tanh()
for i in range(2):
    optimizer.zero_grad()
    head(features).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Compute features again in each iteration instead of keeping it",
            "features = encoder(x).tanh()\n",
            "",
            "    optimizer.zero_grad()",
            "    features = encoder(x).tanh()\n    optimizer.zero_grad()",
        ),
    ),
    "features of an encoder that nothing trains are cached": case(
        "AG501",
        """
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
x = torch.randn(3, 4)
features = encoder(x).tanh()
for i in range(2):
    optimizer.zero_grad()
    head(features).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Compute features again for each backward() if it is trained",
            "features = encoder(x).tanh()\n",
            "",
            "SGD(head.parameters()",
            "SGD([*encoder.parameters(), *head.parameters()]",
            "    optimizer.zero_grad()",
            "    features = encoder(x).tanh()\n    optimizer.zero_grad()",
        ),
        by(
            "otherwise detach it: `features = features.detach()`",
            "features = encoder(x).tanh()\n",
            "features = encoder(x).tanh()\nfeatures = features.detach()\n",
        ),
    ),
    "features are written into a bank": case(
        "AG501",
        """
encoder = nn.Linear(4, 4)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
bank = torch.randn(6, 4)
for i in range(3):
    optimizer.zero_grad()
    z = encoder(torch.randn(2, 4))
    loss = (z @ bank.clone().T).pow(2).mean()
    bank[:2] = z
    loss.backward()
    optimizer.step()
""",
        by("Write `z.detach()` into bank", "bank[:2] = z", "bank[:2] = z.detach()"),
        by("write under torch.no_grad()", "    bank[:2] = z", "    with torch.no_grad():\n        bank[:2] = z"),
    ),
    "what is written into a bank has no name": case(
        "AG501",
        """
encoder = nn.Linear(4, 4)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
bank = torch.randn(6, 4)
for i in range(3):
    optimizer.zero_grad()
    x = torch.randn(2, 4)
    (encoder(x) @ bank.clone().T).pow(2).mean().backward()
    bank[:2].copy_(encoder(x) * 2)
    optimizer.step()
""",
        by("without its graph: call detach() on it", "encoder(x) * 2", "(encoder(x) * 2).detach()"),
        by(
            "write under torch.no_grad()",
            "    bank[:2].copy_(encoder(x) * 2)",
            "    with torch.no_grad():\n        bank[:2].copy_(encoder(x) * 2)",
        ),
    ),
}
