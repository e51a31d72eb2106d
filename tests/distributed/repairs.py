"""What the fixes ask for: program -> pairs of its text and what takes the place of that."""

from tests.distributed.repairs_alike import ALIKE
from tests.distributed.repairs_by_authors import BY_AUTHORS

REPAIRS: dict[str, tuple[tuple[str, str], ...]] = ALIKE | {
    "ddp_module_called": (("model.module(x)", "model(x)"),),
    "no_sync_last": (
        ("for _ in range(3):\n            with model.no_sync():", "for _ in range(1):\n            if True:"),
    ),
    "no_sync_off_by_one": (("sync = i % K == 0", "sync = (i + 1) % K == 0"),),
    "flag_left_off": (("model.require_backward_grad_sync = False", "model.require_backward_grad_sync = True"),),
    "two_backwards_one_forward": (
        ("out[:, 0].square().mean().backward(retain_graph=True)", "first = out[:, 0].square().mean()"),
        ("out[:, 1].square().mean().backward()", "(first + out[:, 1].square().mean()).backward()"),
    ),
    "dtype_after_wrap": (
        (
            "DDP(nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1)))",
            "DDP(nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1)).to(torch.float64))",
        ),
        ("    model.to(torch.float64)  # cause\n", ""),
    ),
    "head_replaced_after_wrap": (
        ("model = DDP(Net(), find_unused_parameters=True)", "net = Net()"),
        ("model.module.head = nn.Linear(6, 3)", "net.head = nn.Linear(6, 3)\n    model = DDP(net)"),
    ),
    "thawed_after_wrap": (
        (
            "model.module.backbone.requires_grad_(True)",
            "model.module.backbone.requires_grad_(True)\n            globals().update(model=DDP(model.module))",
        ),
    ),
    "loss_module_outside": (("criterion = CenterLoss(3, 4)", "criterion = DDP(CenterLoss(3, 4))"),),
    "hand_average_partial": (("if p.dim() > 1:", "if True:"),),
    "sum_not_divided": (
        (
            "dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)",
            "dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)\n            p.grad /= dist.get_world_size()",
        ),
    ),
    "reduced_after_step": (
        ("        sgd.step()  # also\n        average(net)", "        average(net)\n        sgd.step()"),
    ),
    "loss_all_reduced": (
        ("dist.all_reduce(loss)", "dist.all_reduce(loss.detach().clone())"),
        (
            "loss.backward()  # also",
            "loss.backward()\n        for p in net.parameters():\n            dist.all_reduce(p.grad)",
        ),
    ),
    "clipped_before_reduction": (
        ("        nn.utils.clip_grad_norm_(net.parameters(), 0.1)  # cause\n", ""),
        ("        opt.step()", "        nn.utils.clip_grad_norm_(net.parameters(), 0.1)\n        opt.step()"),
    ),
    "async_not_awaited": (("async_op=True)", "async_op=True).wait()"),),
    "reduced_to_one": (("dist.reduce(p.grad, dst=0)", "dist.all_reduce(p.grad)"),),
    "gradients_of_rank_zero": (
        ("dist.broadcast(p.grad, src=0)", "dist.all_reduce(p.grad)\n            p.grad /= dist.get_world_size()"),
    ),
    "largest_gradient": (
        (
            "dist.all_reduce(p.grad, op=dist.ReduceOp.MAX)",
            "dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)\n            p.grad /= dist.get_world_size()",
        ),
    ),
    "never_wrapped": (("model = nn.Linear(4, 2)", "model = DDP(nn.Linear(4, 2))"),),
    "branch_per_rank": (
        ("DDP(Two())", "DDP(Two(), find_unused_parameters=True)"),
        ("use_extra=False", "use_extra=dist.get_rank() == 0"),
    ),
    "marked_ready_twice": (("find_unused_parameters=True", "static_graph=True"),),
    "set_epoch_forgotten": (
        ("    for _ in range(3):\n", "    for epoch in range(3):\n        loader.sampler.set_epoch(epoch)\n"),
    ),
    "same_shard_everywhere": (("DistributedSampler(data, num_replicas=2, rank=0)", "DistributedSampler(data)"),),
    "lr_scaled_on_one_rank": (("0.1 * (dist.get_rank() + 1)", "0.1"),),
    "frozen_on_one_rank": (("if dist.get_rank() == 1:", "if False:"),),
    "one_batch_more": (("for x in batches:", "for x in batches[:2]:"),),
    "other_order": (("if dist.get_rank() == 1:", "if False:"),),
    "validation_of_rank_zero": (("    if dist.get_rank() == 0:\n", "    if True:\n"),),
    "step_on_rank_zero": (("if dist.get_rank() == 0:", "if True:"),),
    "same_seed_same_data": (("torch.manual_seed(1234)", "torch.manual_seed(1234 + torch.distributed.get_rank())"),),
    "other_initial_weights": (
        ("torch.manual_seed(dist.get_rank())\n    model", "torch.manual_seed(0)\n    model"),
        ("def run():\n", "def run():\n    torch.manual_seed(dist.get_rank())\n"),
    ),
    "loaded_on_rank_zero": (("if dist.get_rank() == 0:", "if True:"),),
    "edited_on_rank_zero": (("if dist.get_rank() == 0:", "if True:"),),
    "around_wrapper_on_one_rank": (("called = net if rank == 1 and i == 1 else model", "called = model"),),
    "sampler_seed_per_rank": (("seed=rank", "seed=0"),),
    "clip_in_no_sync": (
        ("            nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # cause\n", ""),
        ("        opt.step()", "        nn.utils.clip_grad_norm_(model.parameters(), 0.01)\n        opt.step()"),
    ),
    "hook_sums_each_micro_batch": (
        ("p.register_post_accumulate_grad_hook(reduce)", "pass"),
        ("        opt.step()", "        for p in model.parameters():\n            reduce(p)\n        opt.step()"),
    ),
    "loaded_before_shard_on_rank_zero": (("if rank == 0:", "if True:"),),
    "broadcast_into_larger": (("5 if dist.get_rank() == 0 else 7", "7"),),
    "warmed_up_on_rank_zero": (("if rank == 0:", "if False:"),),
    "divided_twice": (("            p.grad /= dist.get_world_size()  # cause", "            pass"),),
    "divided_twice_loss": ((" / dist.get_world_size()", ""),),
    "divided_twice_hand": (("F.cross_entropy(model(x), y) / world", "F.cross_entropy(model(x), y)"),),
    "divided_while_reduced": (
        ("        works = [", "        works = []\n        [work.wait() for work in ["),
        ("model.parameters()]  # also", "model.parameters()]]"),
    ),
    "flat_always_no_sync": (("with model.no_sync():", "if True:"),),
    "loss_all_reduced_under_ddp": (
        ("dist.all_reduce(loss)", "dist.all_reduce(loss.detach().clone())"),
        ("        loss = loss / dist.get_world_size()\n", ""),
    ),
    "norm_without_gradient": (
        (
            "dist.all_reduce(both, op=dist.ReduceOp.SUM)",
            "both = torch.distributed.nn.functional.all_reduce(both)",
        ),
    ),
    "statistics_without_gradient": (("mean = x.mean(0)", "mean = x.mean(0).detach()"),),
    "zero_other_order": ((" * (-1) ** dist.get_rank()", ""),),
    "divided_twice_mean": (("        loss = loss * (1.0 / self.workers)  # cause\n", ""),),
    "random_split_per_rank": (
        ("random_split(data, [24, 8])", "random_split(data, [24, 8], generator=torch.Generator().manual_seed(0))"),
    ),
    "ema_copied_before_wrap": (
        ("    teacher = copy.deepcopy(student).requires_grad_(False)\n", ""),
        (
            "    student = DDP(student)\n",
            "    student = DDP(student)\n    teacher = copy.deepcopy(student.module).requires_grad_(False)\n",
        ),
    ),
    "gathered_same_tensor": (
        (
            "[torch.zeros_like(z)] * dist.get_world_size()",
            "[torch.zeros_like(z) for _ in range(dist.get_world_size())]",
        ),
    ),
    "irecv_read_early": (
        ("            arrives = dist.irecv(x, 0)\n", "            dist.irecv(x, 0).wait()\n"),
        ("            arrives.wait()\n", ""),
    ),
    "isend_overwritten": (
        ("            work = dist.isend(sent, 1)\n", "            dist.isend(sent, 1).wait()\n"),
        ("            work.wait()\n", ""),
    ),
    "broadcast_own_source": (("src=dist.get_rank()", "src=0"),),
    "to_local_without_grad_placements": (
        ("import Replicate, distribute_tensor", "import Partial, Replicate, distribute_tensor"),
        ("weight.to_local()", "weight.to_local(grad_placements=[Partial()])"),
    ),
    "tied_after_wrap": (
        ("model = DDP(Words())", "net = Words()"),
        (
            "model.module.head.weight = model.module.emb.weight",
            "net.head.weight = net.emb.weight\n    model = DDP(net)",
        ),
    ),
    "weight_norm_after_wrap": (
        ("model = DDP(", "net = "),
        (", find_unused_parameters=True)", ""),
        ("weight_norm(model.module[0])", "weight_norm(net[0])\n    model = DDP(net)"),
    ),
    "rollback_on_spike": (
        (
            "value = loss.item()",
            "total = loss.detach().clone()\n        dist.all_reduce(total)\n        value = total.item()",
        ),
    ),
    "weights_broadcast_each_step": (
        ("        opt.step()  # also\n", ""),
        ("        with torch.no_grad():\n", ""),
        (
            "            for p in net.parameters():\n                dist.broadcast(p, src=0)",
            "        for p in net.parameters():\n            dist.all_reduce(p.grad.div_(2))\n        opt.step()",
        ),
    ),
    "local_sgd_summed": (
        ("dist.all_reduce(p.data)", "dist.all_reduce(p.data)\n            p.data /= dist.get_world_size()"),
    ),
    "full_tensor_clamped": (("p.full_tensor().clamp_", "p.clamp_"),),
    "summon_without_writeback": (("writeback=False", "writeback=True"),),
    "own_batch_called_replicated": (("manual_seed(dist.get_rank())", "manual_seed(0)"),),
    "embedding_used_outside": (
        ("    fully_shard(model.emb)\n", ""),
        ("torch.tanh(self.body(self.emb(ids)))", "torch.tanh(self.body(self.emb(ids))) @ self.emb.weight.t()"),
        ("logits = hidden @ model.emb.weight.t()", "logits = hidden"),
    ),
    "state_consolidated_on_rank_zero": (
        ("        if dist.get_rank() == 0:\n", ""),
        ("            opt.consolidate_state_dict(to=0)", "        opt.consolidate_state_dict(to=0)"),
        ("            opt.state_dict()", "        if dist.get_rank() == 0:\n            opt.state_dict()"),
    ),
    "cleared_after_schedule": (
        ("        opt.zero_grad()  # cause\n", ""),
        ("opt.step()  # also", "opt.step()\n        opt.zero_grad()"),
    ),
    "lightning_gathered_without_gradient": (
        ("self.all_gather(a)", "self.all_gather(a, sync_grads=True)"),
        ("self.all_gather(b)", "self.all_gather(b, sync_grads=True)"),
    ),
    "accelerate_unwrapped": (("plain(x)", "model(x)"),),
    "forward_in_no_sync": (
        ("        first.backward()\n        last.backward()", "        last.backward()"),
        (
            "            last = F.mse_loss(model(x[4:]), y[4:]) / 2",
            "            first.backward()\n        last = F.mse_loss(model(x[4:]), y[4:]) / 2",
        ),
    ),
    "comm_hook_does_nothing": (("    model.register_comm_hook(None, noop_hook)  # cause\n", ""),),
    "comm_hook_sums": (("f.value()[0])", "f.value()[0] / dist.get_world_size())"),),
    "flat_shards_clipped": (("nn.utils.clip_grad_norm_(net.parameters(), 0.05)", "net.clip_grad_norm_(0.05)"),),
    "functional_result_dropped": (("funcol.all_reduce(p.grad", "p.grad = funcol.all_reduce(p.grad"),),
    "group_of_one": ((", process_group=mine)", ")"),),
    "hybrid_never_all_reduced": (("set_requires_all_reduce(False)", "set_requires_all_reduce(True)"),),
    "init_sync_off": ((", init_sync=False)", ")"),),
    "iterable_not_sharded": (("iter(self.rows)", "iter(self.rows[dist.get_rank() :: dist.get_world_size()])"),),
    "last_handle_awaited": (
        ("async_op=True)  # cause\n        work.wait()", "async_op=True)\n            work.wait()"),
    ),
    "loader_without_sampler": (("batch_size=4, shuffle=True)", "batch_size=4, sampler=sampler)"),),
    "method_of_module": (
        (
            "return self.head(self.encoder(x).relu())",
            "return F.cross_entropy(self.head(self.encoder(x[0]).relu()), x[1])",
        ),
        ("wrapped.module.training_step(batch)", "wrapped(batch)"),
    ),
    "model_not_prepared": (
        ("opt, loader = acc.prepare(opt, loader)", "model, opt, loader = acc.prepare(model, opt, loader)"),
    ),
    "norm_of_local_shards": (
        ("torch.stack(squares).sum().sqrt()", "reduced(torch.stack(squares).sum()).sqrt()"),
        ("def run():", "def reduced(total):\n    dist.all_reduce(total)\n    return total\n\n\ndef run():"),
    ),
    "optimizer_before_flat": (
        ("    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)  # cause\n", ""),
        (
            'net = FSDP(net, device_id=torch.device("cpu"))  # also',
            'net = FSDP(net, device_id=torch.device("cpu"))\n    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)',
        ),
    ),
    "optimizer_before_shard": (
        ("    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)  # also\n", ""),
        (
            "    fully_shard(model)  # cause",
            "    fully_shard(model)\n    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)",
        ),
    ),
    "raw_variable_called": (("prediction = net(x)", "prediction = ddp(x)"),),
    "reduced_before_backward": (
        ("        loss.backward()  # also\n", ""),
        (
            "        for p in net.parameters():\n            dist",
            "        loss.backward()\n        for p in net.parameters():\n            dist",
        ),
    ),
    "reentrant_twice": (("use_reentrant=True", "use_reentrant=False"),),
    "remainder_unsynced": (("boundary = (i + 1) % accum == 0", "boundary = (i + 1) % accum == 0 or i == batches - 1"),),
    "sharding_left_unsynced": (
        (
            "        model.set_requires_gradient_sync(False)  # cause\n        for _ in range(2):\n",
            "        for i in range(2):\n            model.set_requires_gradient_sync(i == 1)\n",
        ),
    ),
    "summed_after_ddp": (("        for p in model.parameters():\n            dist.all_reduce(p.grad)  # cause\n", ""),),
    "second_model_unwrapped": (("decoder = nn.Linear(3, 8)", "decoder = DDP(nn.Linear(3, 8))"),),
}
REPAIRS.update(BY_AUTHORS)
