"""Graphs that two backwards run through (AG501)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
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
        by(
            "Write `fake.detach()` in the loss that is backpropagated first",
            "\ncritic(fake)",
            "\ncritic(fake.detach())",
        ),
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
        by(
            "Sum the losses and call backward() once: `(one + two).backward()`",
            "one.backward()\ntwo.backward()",
            "(one + two).backward()",
        ),
        by("pass retain_graph=True to the first call", "one.backward()", "one.backward(retain_graph=True)"),
        by(
            "detach() the tensors that the first loss does not need to train", "first(hidden)", "first(hidden.detach())"
        ),
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
        by(
            "Sum the losses and call backward() once",
            "one.backward()\n",
            "",
            "two.backward()",
            "(one + two).backward()",
        ),
        by(
            "pass retain_graph=True to the first backward()",
            "one.backward()",
            "one.backward(retain_graph=True)",
        ),
        by("detach it: `hidden = hidden.detach()`", "two = ", "hidden = hidden.detach()\ntwo = "),
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
        by(
            "Compute loss again before each backward()",
            "optimizer.zero_grad()\n",
            "optimizer.zero_grad()\nloss = net(x).pow(2).mean()\n",
        ),
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
        by(
            "Compute loss again before each backward()",
            "loss = net(x).pow(2).mean()\n",
            "",
            "    loss.backward()",
            "    loss = net(x).pow(2).mean()\n    loss.backward()",
        ),
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
        by(
            "Compute out again for each backward() if it is trained",
            "out = net(x).pow(2)\n",
            "",
            "    loss =",
            "    out = net(x).pow(2)\n    loss =",
        ),
        by(
            "otherwise detach it: `out = out.detach()`",
            "    loss.backward()",
            "    loss.backward()\n    out = out.detach()",
        ),
        by(
            "pass retain_graph=True to each backward() but the last",
            "loss.backward()",
            "loss.backward(retain_graph=i == 0)",
        ),
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
        by(
            "Sum the losses and call backward() once",
            "for i, each in enumerate(out):\n    each.mean().backward()",
            "sum(each.mean() for each in out).backward()",
        ),
        by(
            "pass retain_graph=True to each backward() but the last",
            "each.mean().backward()",
            "each.mean().backward(retain_graph=i == 0)",
        ),
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
        by(
            "Sum the losses and call backward() once",
            "for i, each in enumerate(losses):\n    each.backward()",
            "sum(losses).backward()",
        ),
        by("pass retain_graph=True to each call but the last", "each.backward()", "each.backward(retain_graph=i == 0)"),
    ),
    "an earlier cell's features are used again": case(
        "AG501",
        """
net(features).pow(2).mean().backward()
""",
        by(
            "Compute features again for each backward()", "net(features)", "features = encoder(x).tanh()\nnet(features)"
        ),
        by("detach it where it is carried over: `features.detach()`", "net(features)", "net(features.detach())"),
        by(
            "pass retain_graph=True to the earlier one",
            "features.sum().backward()",
            "features.sum().backward(retain_graph=True)",
        ),
        before="encoder, net = nn.Linear(4, 4), nn.Linear(4, 1)\nx = torch.randn(3, 4)\nfeatures = encoder(x).tanh()\nfeatures.sum().backward()",
    ),
    "an earlier cell's loss is backpropagated again": case(
        "AG501",
        """
loss.backward()
""",
        by(
            "Compute loss again before its backward",
            "# What is inspected:\n",
            "# What is inspected:\nloss = net(x).tanh().mean()\n",
        ),
        by(
            "pass retain_graph=True to the earlier backward",
            "first = loss.backward()",
            "first = loss.backward(retain_graph=True)",
        ),
        before="net = nn.Linear(4, 1)\nx = torch.randn(3, 4)\nloss = net(x).tanh().mean()\nfirst = loss.backward()",
    ),
    "checkpointed layers share one pair of contexts": case(
        "AG501",
        """
stack = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3))
pair = create_selective_checkpoint_contexts(policy)
x = torch.randn(3, 4)
for layer in stack:
    x = checkpoint(layer, x, use_reentrant=False, context_fn=lambda: pair)
x.pow(2).mean().backward()
""",
        by(
            "`context_fn=lambda: create_selective_checkpoint_contexts(policy)`",
            "context_fn=lambda: pair",
            "context_fn=lambda: create_selective_checkpoint_contexts(policy)",
        ),
        before="""
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
policy = [torch.ops.aten.addmm.default]
""",
    ),
    "a selectively checkpointed region is run through twice": case(
        "AG501",
        """
layer = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
y = checkpoint(layer, torch.randn(3, 4), use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
loss, other = y.mean(), y.pow(2).mean()
loss.backward(retain_graph=True)
other.backward()
""",
        by(
            "`(loss + other).backward()`",
            "loss.backward(retain_graph=True)\nother.backward()",
            "(loss + other).backward()",
        ),
        by(
            "leave `context_fn` out of the checkpoint",
            ", context_fn=lambda: create_selective_checkpoint_contexts(policy)",
            "",
        ),
        before="""
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
policy = [torch.ops.aten.addmm.default]
""",
    ),
}
