"""Graphs that are used twice, kept, or sent away (AG501 to AG503)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
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
        by("Compute hidden again for each backward", "    optimizer.step()", "    optimizer.step()\n    hidden = torch.zeros(1, 4)"),
        by("cut it off where it is carried over: `hidden = hidden.detach()`", "    optimizer.step()", "    optimizer.step()\n    hidden = hidden.detach()"),
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
        by("Compute hidden again for each backward", "    hidden = cell(torch.randn(1, 4), hidden)", "    hidden = torch.zeros(1, 4)\n    hidden = cell(torch.randn(1, 4), hidden)"),
        by("cut it off where it is carried over: `hidden = hidden.detach()`", ".backward()", ".backward()\n    hidden = hidden.detach()"),
        by("pass retain_graph=True to each backward() but the last", ".backward()", ".backward(retain_graph=i == 0)"),
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
        by("Compute features again in each round instead of keeping it", "features = (kernel * 2).exp().sum()\n", "", "    optimizer.zero_grad()", "    features = (kernel * 2).exp().sum()\n    optimizer.zero_grad()"),
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
        by("Enter parametrize.cached() again in each round, inside the loop", "with torch.nn.utils.parametrize.cached():\n    for i in range(2):\n", "for i in range(2):\n    with torch.nn.utils.parametrize.cached():\n"),
    ),
    "a generator is under the discriminator's loss": case(
        "AG501",
        """
generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
fake = generator(torch.randn(3, 4)).tanh()
of_critic.zero_grad()
critic(fake).mean().backward()
of_critic.step()
of_generator.zero_grad()
(-critic(fake).mean()).backward()
of_generator.step()
""",
        by("Write `fake.detach()` in the loss that is backpropagated first", "\ncritic(fake)", "\ncritic(fake.detach())"),
    ),
    "two losses share a trunk": case(
        "AG501",
        """
trunk, first, second = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*trunk.parameters(), *first.parameters(), *second.parameters()], lr=0.1)
hidden = trunk(torch.randn(3, 4)).tanh()
one, two = first(hidden).mean(), second(hidden).mean()
one.backward()
two.backward()
optimizer.step()
""",
        by("Sum the losses and call backward() once: `(one + two).backward()`", "one.backward()\ntwo.backward()", "(one + two).backward()"),
        by("pass retain_graph=True to the first call", "one.backward()", "one.backward(retain_graph=True)"),
        by("detach() what the first loss does not have to train", "first(hidden)", "first(hidden.detach())"),
    ),
    "the second of two losses is computed after the first backward": case(
        "AG501",
        """
trunk, first, second = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*trunk.parameters(), *first.parameters(), *second.parameters()], lr=0.1)
hidden = trunk(torch.randn(3, 4)).tanh()
one = first(hidden).mean()
one.backward()
two = second(hidden).mean()
two.backward()
optimizer.step()
""",
        by("Sum the losses and call backward() once", "one.backward()\n", "", "two.backward()", "(one + two).backward()"),
        by("pass retain_graph=True to the backward that comes first", "one.backward()", "one.backward(retain_graph=True)"),
        by("cut it off: `hidden = hidden.detach()`", "two = ", "hidden = hidden.detach()\ntwo = "),
    ),
    "one loss is backpropagated twice": case(
        "AG501",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
loss = net(x).pow(2).mean()
loss.backward()
optimizer.zero_grad()
loss.backward()
optimizer.step()
""",
        by("Compute loss again before each backward()", "optimizer.zero_grad()\n", "optimizer.zero_grad()\nloss = net(x).pow(2).mean()\n"),
        by("remove one of the two calls", "optimizer.zero_grad()\nloss.backward()\n", ""),
    ),
    "a loss is computed before the loop": case(
        "AG501",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
loss = net(x).pow(2).mean()
for i in range(2):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        by("Compute loss again before each backward()", "loss = net(x).pow(2).mean()\n", "", "    loss.backward()", "    loss = net(x).pow(2).mean()\n    loss.backward()"),
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
        by("Compute features again in each round instead of keeping it", "features = encoder(x).tanh()\n", "", "    optimizer.zero_grad()", "    features = encoder(x).tanh()\n    optimizer.zero_grad()"),
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
        by("Compute features again for each backward if it is trained", "features = encoder(x).tanh()\n", "", "SGD(head.parameters()", "SGD([*encoder.parameters(), *head.parameters()]", "    optimizer.zero_grad()", "    features = encoder(x).tanh()\n    optimizer.zero_grad()"),
        by("otherwise cut it off: `features = features.detach()`", "features = encoder(x).tanh()\n", "features = encoder(x).tanh()\nfeatures = features.detach()\n"),
    ),
    "grad() comes before backward": case(
        "AG501",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
loss = net(torch.randn(3, 4)).pow(2).mean()
(slope,) = torch.autograd.grad(loss, net[0].weight)
loss.backward()
""",
        by("Pass retain_graph=True to the first call", "net[0].weight)", "net[0].weight, retain_graph=True)"),
    ),
    "backward runs twice in a loop": case(
        "AG501",
        """
net, scale = nn.Linear(4, 1), nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
x = torch.randn(2, 4)
out = net(x).pow(2)
for i in range(2):
    loss = (out[i] * scale).mean()
    loss.backward()
optimizer.step()
""",
        by("Compute out again for each backward if it is trained", "out = net(x).pow(2)\n", "", "    loss =", "    out = net(x).pow(2)\n    loss ="),
        by("otherwise cut it off: `out = out.detach()`", "    loss.backward()", "    loss.backward()\n    out = out.detach()"),
        by("pass retain_graph=True to each backward() but the last", "loss.backward()", "loss.backward(retain_graph=i == 0)"),
    ),
    "rows of one result are backpropagated one by one": case(
        "AG501",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(torch.randn(2, 4)).pow(2)
for i, each in enumerate(out):
    each.mean().backward()
optimizer.step()
""",
        by("Sum the losses and call backward() once", "for i, each in enumerate(out):\n    each.mean().backward()", "sum(each.mean() for each in out).backward()"),
        by("pass retain_graph=True to each backward() but the last", "each.mean().backward()", "each.mean().backward(retain_graph=i == 0)"),
    ),
    "losses of one forward are backpropagated one by one": case(
        "AG501",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(torch.randn(2, 4)).pow(2)
losses = [out[0].mean(), out[1].mean()]
for i, each in enumerate(losses):
    each.backward()
optimizer.step()
""",
        by("Sum the losses and call backward() once", "for i, each in enumerate(losses):\n    each.backward()", "sum(losses).backward()"),
        by("pass retain_graph=True to each call but the last", "each.backward()", "each.backward(retain_graph=i == 0)"),
    ),
    "an earlier cell's features are used again": case(
        "AG501",
        """
net(features).pow(2).mean().backward()
""",
        by("Compute features again for each backward", "net(features)", "features = encoder(x).tanh()\nnet(features)"),
        by("cut it off where it is carried over: `features.detach()`", "net(features)", "net(features.detach())"),
        by("pass retain_graph=True to the earlier one", "features.sum().backward()", "features.sum().backward(retain_graph=True)"),
        before="encoder, net = nn.Linear(4, 4), nn.Linear(4, 1)\nx = torch.randn(3, 4)\nfeatures = encoder(x).tanh()\nfeatures.sum().backward()",
    ),
    "an earlier cell's loss is backpropagated again": case(
        "AG501",
        """
loss.backward()
""",
        by("Compute loss again before its backward", "# What is inspected:\n", "# What is inspected:\nloss = net(x).tanh().mean()\n"),
        by("pass retain_graph=True to the earlier backward", "first = loss.backward()", "first = loss.backward(retain_graph=True)"),
        before="net = nn.Linear(4, 1)\nx = torch.randn(3, 4)\nloss = net(x).tanh().mean()\nfirst = loss.backward()",
    ),
    "losses are added up with their graphs": case(
        "AG502",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0
for i in range(4):
    optimizer.zero_grad()
    loss = net(torch.randn(3, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
    total += loss
""",
        by("`loss.item()`", "total += loss", "total += loss.item()"),
        by("`loss.detach()`", "total += loss", "total += loss.detach()"),
        symptom="getattr(total, 'grad_fn', None) is not None",
    ),
    "losses without a name are added up": case(
        "AG502",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
total = None
def of(x):
    return net(x).pow(2).mean()
for i in range(4):
    optimizer.zero_grad()
    for each in [of(torch.randn(3, 4))]:
        each.backward()
        total = each if total is None else 0.9 * total + 0.1 * each
    optimizer.step()
""",
        by("`.item()`", "0.1 * each", "0.1 * each.item()", "total = each if", "total = each.item() if"),
        by("`.detach()` of what is added", "0.1 * each", "0.1 * each.detach()", "total = each if", "total = each.detach() if"),
        symptom="getattr(total, 'grad_fn', None) is not None",
    ),
    "a running mean keeps its graph": case(
        "AG502",
        """
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
mean = torch.zeros(4)
for i in range(4):
    optimizer.zero_grad()
    h = net(torch.randn(3, 4)).mean(0)
    h.pow(2).mean().backward()
    optimizer.step()
    mean = 0.9 * mean + 0.1 * h
""",
        by("read `h.detach()` on this line", "0.1 * h", "0.1 * h.detach()"),
        symptom="mean.grad_fn is not None",
    ),
    "a running mean of what has no name keeps its graph": case(
        "AG502",
        """
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
mean = torch.zeros(4)
for i in range(4):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    optimizer.step()
    mean = 0.9 * mean + 0.1 * net.weight.mean(0)
""",
        by("call `.detach()` on what is added", "0.1 * net.weight", "0.1 * net.weight.detach()"),
        by("write `mean = mean.detach()` after this line", '0.1 * net.weight.mean(0)\n', '0.1 * net.weight.mean(0)\n    mean = mean.detach()\n'),
        symptom="mean.grad_fn is not None",
    ),
    "a buffer is updated with its graph": case(
        "AG502",
        """
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
mean = torch.zeros(4)
for i in range(4):
    optimizer.zero_grad()
    h = net(torch.randn(3, 4)).mean(0)
    h.pow(2).mean().backward()
    optimizer.step()
    mean.mul_(0.9).add_(h)
""",
        by("read `h.detach()` on this line", "add_(h)", "add_(h.detach())"),
        by("update under `with torch.no_grad():`", "    mean.mul_(0.9)", "    with torch.no_grad():\n        mean.mul_(0.9)"),
        symptom="mean.grad_fn is not None",
    ),
    "losses are kept in a list": case(
        "AG502",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
kept = []
for i in range(5):
    optimizer.zero_grad()
    loss = net(torch.randn(3, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
    kept.append(loss)
""",
        by("`loss.item()`", "append(loss)", "append(loss.item())"),
        by("`loss.detach()`", "append(loss)", "append(loss.detach())"),
        symptom="getattr(kept[0], 'grad_fn', None) is not None",
    ),
    "activations are kept in a list": case(
        "AG502",
        """
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
kept = []
for i in range(5):
    optimizer.zero_grad()
    out = net(torch.randn(3, 4))
    out.pow(2).mean().backward()
    optimizer.step()
    kept.append(out)
""",
        by("a copy without history: `out.detach()`", "append(out)", "append(out.detach())"),
        symptom="kept[0].grad_fn is not None",
    ),
    "hooks pile up": case(
        "AG502",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
seen = {}
def note(module, args, output):
    seen["shape"] = output.shape
for i in range(5):
    optimizer.zero_grad()
    net.register_forward_hook(note)
    net(torch.randn(3, 4)).mean().backward()
    optimizer.step()
""",
        by("Register it once, before the loop", "    net.register_forward_hook(note)\n", "", "for i", "net.register_forward_hook(note)\nfor i"),
        by("keep the handle that `register_forward_hook` returns and call its `remove()` after the forward", "    net.register", "    handle = net.register", "    optimizer.step()", "    handle.remove()\n    optimizer.step()"),
        symptom="len(net._forward_hooks) > 1",
    ),
    "a Function keeps its result on ctx": case(
        "AG502",
        """
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.exp()
        ctx.out = out
        return out
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.out
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(5):
    optimizer.zero_grad()
    last = Exp.apply(net(torch.randn(3, 4)))
    last.mean().backward()
    optimizer.step()
""",
        by("Give the result to `ctx.save_for_backward`", "ctx.out = out", "ctx.save_for_backward(out)", "ctx.out\n", "ctx.saved_tensors[0]\n"),
        by("`ctx.out = ....detach()`", "ctx.out = out", "ctx.out = out.detach()"),
        symptom="getattr(last.grad_fn, 'out', None) is last",
    ),
    "a tensor with its graph is pickled": case(
        "AG503",
        """
import multiprocessing.reduction
net = nn.Linear(4, 1)
x = torch.randn(3, 4)
out = net(x)
data = multiprocessing.reduction.ForkingPickler.dumps(out)
""",
        by("Send `out.detach()` instead of out", "dumps(out)", "dumps(out.detach())"),
        by("compute it under torch.no_grad() where nothing trains on it", "out = net(x)", "with torch.no_grad():\n    out = net(x)"),
    ),
    "a tensor with its graph is copied": case(
        "AG503",
        """
net = nn.Linear(4, 1)
x = torch.randn(3, 4)
out = net(x)
other = copy.deepcopy(out)
""",
        by("Copy `out.detach()` instead of out", "deepcopy(out)", "deepcopy(out.detach())"),
        by("compute it under torch.no_grad() where nothing trains on it", "out = net(x)", "with torch.no_grad():\n    out = net(x)"),
    ),
    "a model keeps features with their graph and is copied": case(
        "AG503",
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.head = nn.Linear(4, 4), nn.Linear(4, 1)
    def forward(self, x):
        self.last = self.net(x)
        return self.head(self.last)
model = Model()
out = model(torch.randn(3, 4))
other = copy.deepcopy(model)
""",
        by("keep the tensor itself under another name: `self.last = features.detach()`", "        self.last = self.net(x)\n        return self.head(self.last)", "        features = self.net(x)\n        self.last = features.detach()\n        return self.head(features)"),
    ),
    "what has no name is copied with its graph": case(
        "AG503",
        """
net = nn.Linear(4, 4)
other = copy.deepcopy(net(torch.randn(3, 4)))
""",
        by("Copy `.detach()` of", "net(torch.randn(3, 4)))", "net(torch.randn(3, 4)).detach())"),
        by("compute it under torch.no_grad() where nothing trains on it", "other =", "with torch.no_grad():\n    other ="),
    ),
    "a list keeps features with their graph and is copied": case(
        "AG503",
        """
net = nn.Linear(4, 4)
kept = []
kept.append(net(torch.randn(3, 4)))
other = copy.deepcopy(kept)
""",
        by("all detach() on what `kept.append(net(torch.randn(3, 4)))` stores in kept", "append(net(torch.randn(3, 4)))", "append(net(torch.randn(3, 4)).detach())"),
        by("compute it under torch.no_grad() where nothing trains on it", "kept.append", "with torch.no_grad():\n    kept.append"),
    ),
}
