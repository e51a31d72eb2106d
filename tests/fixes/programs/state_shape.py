"""State that is not shaped like its parameter (AG403)."""

from __future__ import annotations

from tests.fixes.cases import by, case

TRAINED = """
net = nn.Linear(4, 2)
x = torch.ones(3, 4)
old = torch.optim.Adam(net.parameters(), lr=0.1)
net(x).mean().backward()
old.step()
old.zero_grad()
checkpoint = copy.deepcopy(old.state_dict())
"""

CASES = {
    "a checkpoint has other shapes": case(
        "AG403",
        """
net = nn.Linear(4, 3)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by(
            "Pad or cut the loaded state to the new shape",
            "load_state_dict(checkpoint)",
            "load_state_dict(checkpoint)\nfor p, s in optimizer.state.items():\n    for k in ('exp_avg', 'exp_avg_sq'):\n        s[k] = torch.cat([s[k], torch.zeros_like(p)[:1]])",
        ),
        by(
            "start these parameters with fresh state: `optimizer.state.pop(parameter)`",
            "load_state_dict(checkpoint)",
            "load_state_dict(checkpoint)\nfor p in net.parameters():\n    optimizer.state.pop(p)",
        ),
        before=TRAINED,
    ),
    "points are added without their state": case(
        "AG403",
        """
points = nn.Parameter(torch.randn(3, 2))
optimizer = torch.optim.Adam([points], lr=0.1)
for i in range(2):
    optimizer.zero_grad()
    points.pow(2).sum().backward()
    optimizer.step()
    if i == 0:
        more = nn.Parameter(torch.cat([points.detach(), torch.randn(1, 2)]))
        optimizer.state[more] = optimizer.state.pop(points)
        optimizer.param_groups[0]["params"] = [more]
        points = more
""",
        by(
            "Pad or cut the state to the new shape",
            "optimizer.state[more] = optimizer.state.pop(points)",
            'optimizer.state[more] = {k: v if k == "step" else torch.cat([v, torch.zeros(1, 2)]) for k, v in optimizer.state.pop(points).items()}',
        ),
        by(
            "start these parameters with fresh state: `optimizer.state.pop(parameter)`",
            "points = more",
            "points = more\n        optimizer.state.pop(more)",
        ),
    ),
    "a parameter is resized through .data": case(
        "AG403",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
net.bias.data = torch.cat([net.bias.data, torch.zeros(1)])
net.weight.data = torch.cat([net.weight.data, torch.zeros(1, 4)])
optimizer.zero_grad()
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by(
            "Create a new nn.Parameter and a new optimizer when a shape changes",
            "net.bias.data = torch.cat([net.bias.data, torch.zeros(1)])",
            "net.bias = nn.Parameter(torch.cat([net.bias.data, torch.zeros(1)]))",
            "net.weight.data = torch.cat([net.weight.data, torch.zeros(1, 4)])\n",
            "net.weight = nn.Parameter(torch.cat([net.weight.data, torch.zeros(1, 4)]))\noptimizer = torch.optim.Adam(net.parameters(), lr=0.1)\n",
        ),
        by(
            "change the state the same way, `optimizer.state[parameter][",
            "optimizer.zero_grad()\n",
            "for p, s in optimizer.state.items():\n    for k in ('exp_avg', 'exp_avg_sq'):\n        s[k] = torch.cat([s[k], torch.zeros_like(p)[:1]])\noptimizer.zero_grad()\n",
        ),
        by(
            "drop it: `optimizer.state.pop(parameter)`",
            "optimizer.zero_grad()\n",
            "for p in net.parameters():\n    optimizer.state.pop(p)\noptimizer.zero_grad()\n",
        ),
    ),
    "parameters are in another order than when they were saved": case(
        "AG403",
        """
optimizer = torch.optim.Adam([net.bias, net.weight], lr=0.1)
optimizer.load_state_dict(checkpoint)
net(x).mean().backward()
optimizer.step()
""",
        by(
            "Build the optimizer from the same parameters in the same order and groups",
            "[net.bias, net.weight]",
            "[net.weight, net.bias]",
        ),
        before=TRAINED,
    ),
    "named parameters are in another order than when they were saved": case(
        "AG403",
        """
optimizer = torch.optim.Adam(list(net.named_parameters())[::-1], lr=0.1)
optimizer.load_state_dict(checkpoint)
net(x).mean().backward()
optimizer.step()
""",
        by(
            "Build the optimizer from the same parameters in the same order and groups",
            "list(net.named_parameters())[::-1]",
            "net.named_parameters()",
        ),
        by(
            "renumber the state by name: `names = ",
            "optimizer.load_state_dict(checkpoint)",
            'names = [n for g in checkpoint["param_groups"] for n in g["param_names"]]\nown = [n for g in optimizer.param_groups for n in g["param_names"]]\noptimizer.load_state_dict({"state": {i: checkpoint["state"][names.index(n)] for i, n in enumerate(own) if names.index(n) in checkpoint["state"]}, "param_groups": optimizer.state_dict()["param_groups"]})',
        ),
        before=TRAINED.replace("net.parameters()", "net.named_parameters()"),
    ),
    "a checkpoint is another optimizer's": case(
        "AG403",
        """
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
optimizer.load_state_dict(checkpoint)
net(x).mean().backward()
optimizer.step()
""",
        by(
            "Load the checkpoint into an optimizer of the class that wrote it",
            "torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)",
            "torch.optim.Adam(net.parameters(), lr=0.1)",
        ),
        by("start this optimizer with fresh state", "optimizer.load_state_dict(checkpoint)\n", ""),
        before=TRAINED,
    ),
    "state is not sharded like its parameters": case(
        "AG403",
        """
net = nn.Linear(4, 2)
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
torch.distributed.fsdp.fully_shard(net, mesh=mesh)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
net(x).mean().backward()
optimizer.step()
""",
        by(
            "which shards the state like its parameter",
            "optimizer.load_state_dict(checkpoint)",
            "set_optimizer_state_dict(net, optimizer, optim_state_dict=named, options=StateDictOptions(full_state_dict=True))",
        ),
        by(
            "state = torch.distributed.fsdp.FullyShardedDataParallel.rekey_optim_state_dict(checkpoint, OptimStateKeyType.PARAM_NAME, model)",
            "optimizer.load_state_dict(checkpoint)",
            "state = torch.distributed.fsdp.FullyShardedDataParallel.rekey_optim_state_dict(checkpoint, OptimStateKeyType.PARAM_NAME, net)\nset_optimizer_state_dict(net, optimizer, optim_state_dict=state, options=StateDictOptions(full_state_dict=True))",
        ),
        before=TRAINED
        + """
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict, set_optimizer_state_dict
from torch.distributed.fsdp import OptimStateKeyType
named = copy.deepcopy(get_optimizer_state_dict(net, old))
store = torch.distributed.HashStore()
if not torch.distributed.is_initialized():
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
""",
    ),
}
