"""What a program keeps from round to round with its graph: the line that stored it is told, whatever stored it."""

from __future__ import annotations

import copy
from collections import deque

import torch
from torch import nn

from .programs import diagnosed, silent, trained

X = torch.randn(6, 4)


def test_a_queue_of_keys():
    """A contrastive queue holds keys with their graphs: its append() is to blame."""

    class Queue:
        def __init__(self, keep):
            self.keys, self.keep = deque(maxlen=3), keep

        def scores(self, query):
            return torch.stack([(query * key).sum() for key in self.keys]) if self.keys else query.sum()

        def push(self, key):
            self.keys.append(self.keep(key))

    def program(keep):
        net, queue = nn.Linear(4, 3), Queue(keep)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for row in X[:3]:
            encoded = net(row).tanh()
            trained(optimizer, queue.scores(encoded).exp().mean())
            queue.push(encoded)

    found = diagnosed(
        lambda: program(lambda key: key), "AG501", "self.keys.append(", "Queue.keys", "detach()", severity="error",
        where=Queue,
    )  # fmt: skip
    assert "self.keys.append(self.keep(key))" in found.fix
    silent(lambda: program(torch.Tensor.detach))


def test_a_memory_by_name():
    """An entry of a dictionary that a plain object has, two objects below the program's variable."""

    class Memory:
        def __init__(self):
            self.rows = {}

        def read(self, user):
            return self.rows.get(user, torch.zeros(4))

        def write(self, user, row):
            self.rows[user] = row

    class Recommender(nn.Module):
        def __init__(self, keep):
            super().__init__()
            self.cell, self.memory, self.keep = nn.GRUCell(4, 4), Memory(), keep

        def forward(self, user, event):
            row = self.cell(event[None], self.memory.read(user)[None])[0]
            self.memory.write(user, self.keep(row))
            return row

    def program(keep):
        model = Recommender(keep)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for user, event in zip(["ann", "bob", "ann"], X, strict=False):
            trained(optimizer, model(user, event).pow(2).sum())

    diagnosed(
        lambda: program(lambda row: row), "AG501", "self.rows[user] = row", "Memory.rows", severity="error",
        where=Memory,
    )  # fmt: skip
    silent(lambda: program(torch.Tensor.detach))


def test_an_attribute_that_the_loop_sets():
    """The loop itself stores the context on the model, where the next forward finds it."""

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.mix, self.context = nn.Linear(8, 4), torch.zeros(4)

        def forward(self, x):
            return self.mix(torch.cat([x, self.context])).tanh()

    def program(cut=False):
        reader = Reader()
        optimizer = torch.optim.SGD(reader.parameters(), lr=0.1)
        for x in X[:3]:
            out = reader(x)
            trained(optimizer, out.pow(2).sum())
            reader.context = out.detach() if cut else out

    diagnosed(program, "AG501", "reader.context = out.detach()", "context", severity="error")
    silent(lambda: program(cut=True))


def test_a_list_of_the_function_itself():
    """A list in a variable: the line that appends to it, and not another list of that name elsewhere."""

    def elsewhere(seen):
        seen.append(1)

    def program(cut=False):
        net, seen = nn.Linear(4, 2), []
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x in X[:3]:
            out = net(x)
            trained(optimizer, (out - sum(seen)).pow(2).sum())
            seen.append(out.detach() if cut else out)

    elsewhere([])
    diagnosed(program, "AG501", "seen.append(out.detach()", "seen", severity="error")
    silent(lambda: program(cut=True))


def test_one_of_two_states_is_detached():
    """Of the pair that a cell returns only one is detached between the windows: where, and which is not."""

    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.gates = nn.LSTMCell(4, 3)

        def forward(self, x, pair):
            return self.gates(x, pair)

    def cut(pair, both):
        hidden, cell = pair
        return (hidden.detach(), cell.detach()) if both else (hidden.detach(), cell)

    def program(both=False):
        model, pair = Cell(), None
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x in X[:3]:
            pair = model(x[None], pair and cut(pair, both))
            trained(optimizer, pair[0].pow(2).sum())

    found = diagnosed(program, "AG501", "return (hidden.detach()", severity="error", where=cut)
    assert "on it too" in found.fix
    silent(lambda: program(both=True))


def test_a_state_that_leads_back_behind_a_step():
    """retain_graph=True lets backward go on into a round whose weights were stepped: what kept the state is told."""

    class Agent:
        def __init__(self, keep):
            self.net, self.keep, self.belief = nn.Linear(8, 4), keep, torch.zeros(4)

        def act(self, seen):
            return self.net(torch.cat([seen, self.belief])).tanh()

        def learn(self, optimizer, seen):
            belief = self.act(seen)
            optimizer.zero_grad()
            belief.pow(2).sum().backward(retain_graph=True)
            optimizer.step()
            self.belief = self.keep(belief)

    def program(keep):
        agent = Agent(keep)
        optimizer = torch.optim.SGD(agent.net.parameters(), lr=0.1)
        for seen in X[:3]:
            agent.learn(optimizer, seen)

    found = diagnosed(
        lambda: program(lambda belief: belief), "AG201", "self.belief = self.keep(belief)", "belief", "earlier round",
        severity="error", where=Agent,
    )  # fmt: skip
    assert "detach()" in found.fix
    silent(lambda: program(torch.Tensor.detach))


def test_a_copy_of_what_remembers_a_result():
    """deepcopy() is refused where the copied object holds a result with its graph: the line that stored it is told."""

    class Policy:
        def __init__(self, keep):
            self.net, self.keep, self.trace = nn.Linear(4, 2), keep, []

        def act(self, seen):
            scores = self.net(seen).log_softmax(0)
            self.trace.append({"scores": self.keep(scores)})
            return scores

    def program(keep):
        policy = Policy(keep)
        trained(torch.optim.SGD(policy.net.parameters(), lr=0.1), policy.act(X[0]).sum())
        return copy.deepcopy(policy)

    diagnosed(
        lambda: program(lambda scores: scores), "AG503", "self.trace.append(", "Policy.trace", severity="error",
        where=Policy,
    )  # fmt: skip
    silent(lambda: program(torch.Tensor.detach))
