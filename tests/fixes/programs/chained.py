"""Graphs that are kept alive by a sum, a list or a hook (AG502)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a hook holds its own tensor": case(
        "AG502",
        """
import weakref
net, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
scores, made = [], []
def score(out):
    made.append(weakref.ref(out))
    handle = out.register_hook(lambda grad: scores.append((out * grad).detach().mean()))
    return handle
for _ in range(4):
    optimizer.zero_grad()
    out = net(torch.ones(3, 4)).tanh()
    handle = score(out)
    head(out).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Let the hook use a copy that is detached before register_hook(): `out.detach()`.",
            "    handle = out.register_hook(lambda grad: scores.append((out * grad)",
            "    value = out.detach()\n    handle = out.register_hook(lambda grad: scores.append((value * grad)",
        ),
        by(
            "Or keep the handle that register_hook() returns, and call its `remove()` after backward().",
            "    optimizer.step()",
            "    handle.remove()\n    optimizer.step()",
        ),
        symptom="sum(each() is not None for each in made) > 1",
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
    "losses are added into a tensor with their graphs": case(
        "AG502",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
total = torch.zeros(())
for i in range(4):
    optimizer.zero_grad()
    loss = net(torch.randn(3, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
    total.add_(loss)
""",
        by("`loss.item()`", "add_(loss)", "add_(loss.item())"),
        by("`loss.detach()`", "add_(loss)", "add_(loss.detach())"),
        by(
            "update under `with torch.no_grad():`",
            "    total.add_(loss)",
            "    with torch.no_grad():\n        total.add_(loss)",
        ),
        symptom="total.grad_fn is not None",
    ),
    "a hook collects activations": case(
        "AG502",
        """
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
kept = []
net.register_forward_hook(lambda module, args, output: kept.append(output))
for i in range(5):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by("a detached copy: `.detach()`", "append(output)", "append(output.detach())"),
        symptom="kept[0].grad_fn is not None",
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
        by(
            "call `.item()` or `.detach()` on the added tensor",
            "0.1 * each",
            "0.1 * each.detach()",
            "total = each if",
            "total = each.detach() if",
        ),
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
        by("use `h.detach()` on this line", "0.1 * h", "0.1 * h.detach()"),
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
        by("call `.detach()` on the added tensor", "0.1 * net.weight", "0.1 * net.weight.detach()"),
        by(
            "write `mean = mean.detach()` after this line",
            "0.1 * net.weight.mean(0)\n",
            "0.1 * net.weight.mean(0)\n    mean = mean.detach()\n",
        ),
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
        by("use `h.detach()` on this line", "add_(h)", "add_(h.detach())"),
        by(
            "update under `with torch.no_grad():`",
            "    mean.mul_(0.9)",
            "    with torch.no_grad():\n        mean.mul_(0.9)",
        ),
        symptom="mean.grad_fn is not None",
    ),
    "gradients have graphs that nothing differentiates": case(
        "AG502",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(3):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).square().mean().backward(create_graph=True)
    optimizer.step()
""",
        by("Call backward() without create_graph=True", "backward(create_graph=True)", "backward()"),
        symptom="net.weight.grad.requires_grad",
    ),
    "a flag gives gradients graphs that nothing differentiates": case(
        "AG502",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
second = hasattr(optimizer, "step")
for i in range(3):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).square().mean().backward(create_graph=second)
    optimizer.step()
""",
        by("Let `second` be False", 'hasattr(optimizer, "step")', "False"),
        symptom="net.weight.grad.requires_grad",
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
        by("a detached copy: `out.detach()`", "append(out)", "append(out.detach())"),
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
        by(
            "Register the hook once, before the loop",
            "    net.register_forward_hook(note)\n",
            "",
            "for i",
            "net.register_forward_hook(note)\nfor i",
        ),
        by(
            "keep the handle that `register_forward_hook` returns and call its `remove()` after the forward",
            "    net.register",
            "    handle = net.register",
            "    optimizer.step()",
            "    handle.remove()\n    optimizer.step()",
        ),
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
        by(
            "Pass the result to `ctx.save_for_backward`",
            "ctx.out = out",
            "ctx.save_for_backward(out)",
            "ctx.out\n",
            "ctx.saved_tensors[0]\n",
        ),
        by("`ctx.out = ....detach()`", "ctx.out = out", "ctx.out = out.detach()"),
        symptom="getattr(last.grad_fn, 'out', None) is last",
    ),
}
