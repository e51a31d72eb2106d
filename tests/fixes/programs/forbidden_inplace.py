"""What autograd forbids to modify in place (AG203)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a parameter is an expanded view": case(
        "AG203",
        """
template = torch.ones(1, 4)
net = nn.Linear(4, 3, bias=False)
net.weight = nn.Parameter(template.expand(3, -1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=False)
net(torch.ones(2, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by("Call `.clone()` after the expand", "template.expand(3, -1)", "template.expand(3, -1).clone()"),
    ),
    "a leaf is modified": case(
        "AG203",
        """
w = torch.ones(3, requires_grad=True)
w.mul_(2)
""",
        by("Wrap the update in `with torch.no_grad():`", "w.mul_", "with torch.no_grad():\n    w.mul_"),
        by("work on `w.clone()`", "w.mul_", "w = w.clone()\nw.mul_"),
    ),
    "a view of a leaf is modified": case(
        "AG203",
        """
w = torch.ones(3, requires_grad=True)
w[0] = 2.0
loss = w.pow(2).sum()
loss.backward()
""",
        by("Wrap the update in `with torch.no_grad():`", "w[0] = 2.0", "with torch.no_grad():\n    w[0] = 2.0"),
        by(
            "compute a new tensor out of place instead",
            "w[0] = 2.0\n",
            "",
            "w.pow",
            "torch.cat([torch.tensor([2.0]), w[1:]]).pow",
        ),
    ),
    "a part of a leaf is modified": case(
        "AG203",
        """
w = torch.ones(3, requires_grad=True)
part = w[:2]
part.mul_(2)
""",
        by("Wrap the update in `with torch.no_grad():`", "part.mul_", "with torch.no_grad():\n    part.mul_"),
        by("compute a new tensor out of place instead", "part.mul_(2)", "part = part.mul(2)"),
    ),
    "an expanded tensor is modified": case(
        "AG203",
        """
w = torch.ones(3, 1, requires_grad=True)
wide = (w * 2).expand(3, 4)
wide += 1
wide.sum().backward()
""",
        by("Use an out-of-place form (`wide = wide + ...`)", "wide += 1", "wide = wide + 1"),
        by("call `.contiguous()`", ".expand(3, 4)", ".expand(3, 4).contiguous()"),
        by("`.clone()` after the expand", ".expand(3, 4)", ".expand(3, 4).clone()"),
    ),
    "a shift writes into what it reads": case(
        "AG203",
        """
buffer = torch.arange(5.0)
buffer[1:].copy_(buffer[:-1])
""",
        by("Read from a copy: `", "copy_(buffer[:-1])", "copy_(buffer[:-1].clone())"),
    ),
    "what unbind returned is modified": case(
        "AG203",
        """
w = torch.ones(2, 3, requires_grad=True)
first, second = (w * 2).unbind(0)
first.mul_(2)
(first + second).sum().backward()
""",
        by("Use the out-of-place form of the operation", "first.mul_(2)", "first = first.mul(2)"),
        by("modify a copy of what `unbind` returned (`.clone()`)", "first.mul_", "first = first.clone()\nfirst.mul_"),
    ),
    "rows that a loop goes over are modified": case(
        "AG203",
        """
w = torch.ones(2, 3, requires_grad=True)
h = w * 2
for row in h:
    row.mul_(2)
h.sum().backward()
""",
        by(
            "Compute a new tensor out of place, from all of h at once",
            "for row in h:\n    row.mul_(2)\n",
            "h = h.mul(2)\n",
        ),
        by(
            "collect the new parts in a list and join them with torch.stack",
            "for row in h:\n    row.mul_(2)\n",
            "parts = []\nfor row in h:\n    parts.append(row.mul(2))\nh = torch.stack(parts)\n",
        ),
    ),
    "a custom Function's view is modified": case(
        "AG203",
        """
class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[:2], x[2:]
    @staticmethod
    def backward(ctx, first, second):
        return torch.cat([first, second])
w = torch.ones(4, requires_grad=True)
first, second = Halves.apply(w * 2)
first.mul_(2)
(first.sum() + second.sum()).backward()
""",
        by("Use the out-of-place form of the operation", "first.mul_(2)", "first = first.mul(2)"),
        by("modify a copy (`.clone()`) of first", "first.mul_", "first = first.clone()\nfirst.mul_"),
    ),
    "a result goes into out=": case(
        "AG203",
        """
w = torch.ones(3, requires_grad=True)
total = torch.empty(3)
torch.add(w, 1, out=total)
""",
        by("Assign the result instead of passing out=", "torch.add(w, 1, out=total)", "total = torch.add(w, 1)"),
        by("compute under torch.no_grad()", "torch.add", "with torch.no_grad():\n    torch.add"),
    ),
    "a view is detached in place": case(
        "AG203",
        """
w = torch.ones(3, requires_grad=True)
part = w[:2]
part.detach_()
""",
        by(
            "Use `detach()`, which returns a new tensor, instead of `detach_()`",
            "part.detach_()",
            "part = part.detach()",
        ),
    ),
    "a view made under no_grad is modified": case(
        "AG203",
        """
net = nn.Linear(3, 4)
h = net(torch.ones(2, 3))
with torch.no_grad():
    part = h[:, :2]
part.mul_(2)
h.sum().backward()
""",
        by(
            "Create the view with grad mode on, outside of torch.no_grad()",
            "with torch.no_grad():\n    part",
            "part",
        ),
    ),
    "a module with a backward hook is followed by an in-place one": case(
        "AG203",
        """
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 4), nn.ReLU(inplace=True))
def look(module, grad_input, grad_output):
    return None
net[1].register_full_backward_hook(look)
net(torch.ones(2, 3)).sum().backward()
""",
        by(
            "Use the out-of-place form of the operation (`inplace=False`, if a module does it)",
            "inplace=True",
            "inplace=False",
        ),
        by(
            "register the hook on a module that neither works in place itself nor comes right before one that does",
            "net[1].register",
            "net[0].register",
        ),
    ),
    "a step of one's own updates with grad mode on": case(
        "AG203",
        """
class Plain(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(0.1 * p.grad)
net = nn.Linear(3, 1)
optimizer = Plain(net.parameters())
net(torch.ones(2, 3)).sum().backward()
optimizer.step()
""",
        by("Decorate step() with `@torch.no_grad()`", "    def step", "    @torch.no_grad()\n    def step"),
        by(
            "wrap the update in `with torch.no_grad():`",
            "                p.sub_",
            "                with torch.no_grad():\n                    p.sub_",
        ),
    ),
}
