"""What the authors of programs wrote instead of the faults that they had put in."""

BY_AUTHORS: dict[str, tuple[tuple[str, str], ...]] = {
    "targets_of_rank_zero": (("torch.arange(len(q)))  # cause", "torch.arange(len(q)) + dist.get_rank() * len(q))"),),
    "moco_queue_of_local_keys": (("self.update(k)  # also", "self.update(gathered(k))"),),
    "two_views_through_buffered_normaliser": (("return x / self.scale  # also", "return x / self.scale.clone()"),),
    "learner_uses_log_probs_from_the_wire": (
        (
            "adv = (reward - value).detach()",
            "adv = (reward - value).detach()\n    log_prob = Categorical(logits=net.policy(obs)).log_prob(action)",
        ),
    ),
    "hf_trainer_own_loss": (("self.model(input_ids", "model(input_ids"),),
    "wrapped_every_other_step": (("        if step % 2 == 0:\n            return self.model  # cause\n", ""),),
    "frozen_when_train_is_called": (
        ("model = DDP(Classifier())  # also", "net = Classifier()\n    net.train()\n    model = DDP(net)"),
    ),
    "accelerate_accumulate": (("_, opt, loader = prepared  # cause", "model, opt, loader = prepared"),),
    "clip_gathered_negatives": (
        (
            "dist.all_gather(out, t.contiguous())  # cause",
            (
                "dist.all_gather(out, t.contiguous())\n"
                "    out[dist.get_rank()] = t * dist.get_world_size()\n"
                "    out[dist.get_rank()] = out[dist.get_rank()] - (t * (dist.get_world_size() "
                "- 1)).detach()"
            ),
        ),
    ),
    "clip_then_reduce": (
        (
            "nn.utils.clip_grad_norm_(params, 1.0)  # cause",
            "reduce_([p.grad for p in params])\n        nn.utils.clip_grad_norm_(params, 1.0)",
        ),
    ),
    "ddp_aux_loss": (("logits = self.net(x)  # cause", "logits = self.ddp(x)"),),
    "ddp_branch_by_rank": (("ddp = DDP(TwoTask())  # cause", "ddp = DDP(TwoTask(), find_unused_parameters=True)"),),
    "ddp_grad_penalty": (
        ("grads = torch.autograd.grad(loss, params)  # cause", "loss.backward()\n    grads = [p.grad for p in params]"),
    ),
    "ddp_gradual_unfreeze": (
        ("set_trainable(net.encoder, True)  # cause", "set_trainable(net.encoder, True)\n            ddp = DDP(net)"),
    ),
    "ddp_logged_hook": (("return out  # cause", "return out.div_(dist.get_world_size(state.group))"),),
    "ddp_micro_sync": (("sync_now = i % ACCUM == 0  # cause", "sync_now = boundary"),),
    "ddp_reinit_head": (
        (
            "nn.init.normal_(net.head.weight, std=0.02)  # cause",
            "nn.init.normal_(net.head.weight, std=0.02)\n    dist.broadcast(net.head.weight.data, src=0)",
        ),
    ),
    "ddp_step_in_backward": (("FUSED = True  # cause", "FUSED = False"),),
    "dtensor_local_scale": (
        ("s = self.scale.to_local()  # cause", "s = self.scale.to_local(grad_placements=[Partial()])"),
    ),
    "epochs_with_sampler": (
        ("for i, x, y in loader:  # cause", "sampler.set_epoch(epoch)\n        for i, x, y in loader:"),
    ),
    "fsdp1_clip": (
        ("nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)  # cause", "model.clip_grad_norm_(MAX_NORM)"),
    ),
    "fsdp2_decay_groups": (("param_groups = groups(model)  # cause", "param_groups = groups(shard(model))"),),
    "fsdp2_hand_clip": (("norm = sq.sqrt()  # cause", "dist.all_reduce(sq)\n    norm = sq.sqrt()"),),
    "funcol_average": (("p.grad.div_(dist.get_world_size())  # cause", "p.grad = g / dist.get_world_size()"),),
    "local_sgd_batchnorm": (
        ("for t in module.parameters():  # cause", "for t in [*module.parameters(), *module.buffers()]:"),
    ),
    "mean_teacher": (("if is_main():  # cause", "if True:"),),
    "pipe_all_forward": (("y = outs.pop(0)  # cause", "y = outs.pop()"),),
    "pipe_tied_ends": (
        ("dist.all_reduce(shared)  # cause", "dist.all_reduce(shared)\n        stage.wte.weight.grad.copy_(shared)"),
    ),
    "resume_run": (("if dist.get_rank() == 0:  # cause", "if state['opt']:"),),
    "rollout_seeds": (("self.env = Bandit(seed)  # cause", "self.env = Bandit(seed + 1000 * dist.get_rank())"),),
    "skip_spikes": (("if guard.ok(value.item()):  # cause", "if guard.ok(mean_over_ranks(value).item()):"),),
    "token_normalizer": (
        (
            "loss = summed_loss(ddp(t[:, :-1]), t) / count  # cause",
            "loss = summed_loss(ddp(t[:, :-1]), t) * world / count",
        ),
    ),
    "tp_column_row": (("return g  # cause", "g = g.clone()\n        dist.all_reduce(g)\n        return g"),),
    "zero1_adam": (
        (
            "opt.step()  # cause",
            (
                "for p in model.parameters():\n"
                "            dist.all_reduce(p.grad)\n"
                "            p.grad /= world\n"
                "        opt.step()"
            ),
        ),
    ),
    "accumulation_reduces_the_running_sum": (
        (
            "        average_gradients(net)  # cause\n        if (i + 1) % ACCUM == 0:\n",
            "        if (i + 1) % ACCUM == 0:\n            average_gradients(net)\n",
        ),
    ),
    "pipeline_reuses_the_receive_buffer": (
        (
            "        back.append(inbox.grad.clone())\n",
            "        back.append(inbox.grad.clone())\n        inbox.grad = None\n",
        ),
    ),
    "heads_per_dataset_reduced_where_present": (
        (
            (
                "        if p.grad is not None:  # cause\n"
                "            dist.all_reduce(p.grad)  # also\n"
                "            p.grad /= world\n"
            ),
            (
                "        if p.grad is None:\n"
                "            p.grad = torch.zeros_like(p)\n"
                "        dist.all_reduce(p.grad)\n"
                "        p.grad /= world\n"
            ),
        ),
    ),
    "backbone_unfrozen_after_wrapping": (
        (
            "            model.module.backbone.requires_grad_(True)  # cause\n",
            (
                "            model.module.backbone.requires_grad_(True)\n"
                "            globals()['model'] = DDP(model.module)\n"
            ),
        ),
    ),
    "optimizer_made_before_fully_shard": (
        ("    net, opt = build()\n", "    net, _ = build()\n"),
        (
            "    fully_shard(net, mesh=mesh)  # also\n",
            "    fully_shard(net, mesh=mesh)\n    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)\n",
        ),
    ),
    "optimizer_steps_inside_backward": (
        ("        p.register_post_accumulate_grad_hook(hook)  # also\n", "        pass\n"),
        (
            "        loss.backward()\n",
            (
                "        loss.backward()\n"
                "        for o in optimizers.values():\n"
                "            o.step()\n"
                "            o.zero_grad()\n"
            ),
        ),
    ),
    "scaler_unscales_before_the_average": (
        (
            "        scaler.unscale_(opt)  # cause\n        average(net.parameters())  # also\n",
            "        average(net.parameters())\n        scaler.unscale_(opt)\n",
        ),
    ),
    "weights_clamped_in_summoned_params": (("writeback=False):  # cause", "writeback=True):"),),
    "experts_reached_by_plain_all_to_all": (
        (
            "        there = exchange(h)  # also\n        back = exchange(self.expert(there))  # also\n",
            "        there = Exchange.apply(h)\n        back = Exchange.apply(self.expert(there))\n",
        ),
    ),
    "accelerate_with_the_bare_optimizer": (
        (
            "    model, _ = accelerator.prepare(net, optimizer)  # also\n",
            "    model, optimizer = accelerator.prepare(net, optimizer)\n",
        ),
    ),
    "diloco_outer_step_from_moved_weights": (
        ("        p.grad /= world\n", "        p.grad /= world\n        p.data.copy_(a)\n"),
    ),
    "early_stopping_decided_alone": (
        ("        loss = validate()\n", "        loss = validate()\n        dist.all_reduce(loss)\n"),
    ),
    "sequence_parallel_norm_not_reduced": (
        ("        opt.step()  # cause\n", "        reduce_replicated()\n        opt.step()\n"),
    ),
    "gradient_sync_left_off": (
        (
            "            if micro < ACCUM - 1:\n                net.set_requires_gradient_sync(False)  # cause\n",
            "            net.set_requires_gradient_sync(micro == ACCUM - 1)\n",
        ),
    ),
    "reentrant_checkpoint_on_shared_block": (("use_reentrant=True)  # cause", "use_reentrant=False)"),),
    "tied_embedding_read_outside_forward": (("    fully_shard(net.embed, mesh=mesh)  # also\n", ""),),
    "zero_owners_disagree": (
        (
            "    for i, p in enumerate(net.parameters()):\n        dist.broadcast(p.data, src=i % world)  # cause\n",
            "    for p in net.parameters():\n        dist.broadcast(p.data, src=owner[p])\n",
        ),
    ),
    "plateau_scheduler_on_local_loss": (
        ("        loss = evaluate()  # also\n", "        loss = evaluate()\n        dist.all_reduce(loss)\n"),
    ),
    "eval_on_rank_zero_leaves_eval_mode": (
        (
            "        if dist.get_rank() == 0:\n            confidence.append(round(evaluate(), 4))\n",
            (
                "        if dist.get_rank() == 0:\n"
                "            confidence.append(round(evaluate(), 4))\n"
                "            model.train()\n"
            ),
        ),
    ),
    "batchnorm_synchronised_by_hand": (
        (
            "    t = t.clone()\n    dist.all_reduce(t)  # cause\n    return t /",
            "    t = dnn.all_reduce(t)\n    return t /",
        ),
    ),
    "partial_dtensor_taken_as_local": (
        (
            "        return y.to_local()  # cause\n",
            "        return y.redistribute(placements=[Replicate()]).to_local()\n",
        ),
    ),
    "gradients_by_autograd_grad": (
        (
            "    for p, d in zip(params, second):\n        p.grad = d  # also\n",
            (
                "    for p, d in zip(params, second):\n"
                "        dist.all_reduce(d)\n"
                "        p.grad = d / dist.get_world_size()\n"
            ),
        ),
    ),
    "diloco_outer_on_moved_weights": (
        (
            "p.grad = delta / dist.get_world_size()  # also",
            "p.data.copy_(s)\n        p.grad = delta / dist.get_world_size()",
        ),
    ),
    "micro_batches_of_sharded": (
        ("model.set_requires_gradient_sync(full)", "model.set_requires_gradient_sync(full or i == len(batches))"),
    ),
    "own_count_for_all": (
        ("dist.all_reduce(p.grad)  # also", "dist.all_reduce(p.grad)\n            p.grad /= dist.get_world_size()"),
    ),
    "syncbn_gathered_statistics": (
        (
            (
                "    parts = [torch.zeros_like(t) for _ in range(dist.get_world_size())]\n"
                "    dist.all_gather(parts, t)  # cause\n"
                "    return torch.stack(parts)"
            ),
            "    return torch.stack(dist.nn.functional.all_gather(t))",
        ),
    ),
    "stage_sends_zeros_back": (("h = receive((2, 4), 0)  # also", "h = receive((2, 4), 0).requires_grad_()"),),
    "norms_of_sequence_parts": (
        (
            "        opt.step()  # cause",
            "        for p in model.norm.parameters():\n            dist.all_reduce(p.grad)\n        opt.step()",
        ),
    ),
    "zero2_whole_stepped": (
        (
            (
                "    flat = torch.cat([flat, flat.new_zeros(pad)])\n"
                "    own = torch.empty(len(flat) // world)\n"
                "    dist.reduce_scatter_tensor(own, flat)  # also\n"
                "    flat.chunk(world)[rank].copy_(own / world)\n"
            ),
            "    flat = torch.cat([flat, flat.new_zeros(pad)]) / world\n    dist.all_reduce(flat)\n",
        ),
    ),
    "zero2_owner_by_reduce": (("dist.reduce(p.grad, dst=i % world)  # also", "dist.all_reduce(p.grad)"),),
    "average_of_replaced_head": (("for p in shared:", "for p in model.parameters():"),),
    "averaged_over_tensor_parallel_ranks": (
        (
            "    [dist.new_group([0, 2]), dist.new_group([1, 3])]\n",
            "    rows = [dist.new_group([0, 2]), dist.new_group([1, 3])]\n",
        ),
        ("global model, opt, replica", "global model, opt, replica, alike"),
        ("    replica = rank // 2\n", "    replica = rank // 2\n    alike = rows[rank % 2]\n"),
        ("dist.all_reduce(p.grad)  # cause", "dist.all_reduce(p.grad, group=alike)"),
        ("p.grad /= dist.get_world_size()  # also", "p.grad /= dist.get_world_size(alike)"),
    ),
    "experts_averaged_with_the_rest": (
        (
            "    for p in module.parameters():  # also\n        dist.all_reduce(p.grad)",
            (
                "    for name, p in module.named_parameters():\n"
                '        if name.startswith("expert"):\n'
                "            p.grad /= dist.get_world_size()\n"
                "            continue\n"
                "        dist.all_reduce(p.grad)"
            ),
        ),
    ),
    "flat_offset_stuck": (("    at += p.numel()  # also", "        at += p.numel()"),),
    "gradients_kept_in_buckets": (
        ("[p.grad for p in model.parameters()]  # cause", "[p.grad.clone() for p in model.parameters()]"),
    ),
    "kv_gathered_without_gradient": (
        (
            (
                "    parts = [torch.empty_like(t) for _ in range(dist.get_world_size())]\n"
                "    dist.all_gather(parts, t.contiguous())  # cause\n"
                "    return torch.cat(parts)  # also"
            ),
            "    return torch.cat(torch.distributed.nn.functional.all_gather(t.contiguous()))",
        ),
    ),
    "server_keeps_last_gradient": (
        (
            "            p.grad = torch.empty_like(p)  # also\n            dist.recv(p.grad, worker)  # cause",
            (
                "            new = torch.empty_like(p)\n"
                "            dist.recv(new, worker)\n"
                "            p.grad = new if p.grad is None else p.grad + new"
            ),
        ),
        ("    opt.step()\n\n\ndef work", "    opt.step()\n    opt.zero_grad()\n\n\ndef work"),
    ),
    "weights_received_into_copies": (("dist.recv(value.clone(), 0)", "dist.recv(value, 0)"),),
    "zero2_overwrites_micro_batches": (
        ("    shard.grad = own", "    shard.grad = own if shard.grad is None else shard.grad + own"),
    ),
    "diloco_delta_of_own": (("        averaged(s.grad)  # cause", "        s.grad = averaged(s.grad)"),),
    "experts_all_to_all_lists": (
        (
            "def exchange(parts):\n",
            (
                "def exchange(parts):\n"
                "    arrived = [torch.empty_like(p) for p in parts]\n"
                "    return list(dist.nn.functional.all_to_all(arrived, [p.contiguous() for p in parts]))\n"
                "\n"
                "\n"
                "def by_messages(parts):\n"
            ),
        ),
        ("from torch import nn\n", "import torch.distributed.nn.functional\nfrom torch import nn\n"),
    ),
    "batch_given_to_distribute_tensor": (
        (
            "    return distribute_tensor(local, mesh, [Shard(0)])  # cause\n",
            "    return DTensor.from_local(local, mesh, [Shard(0)])\n",
        ),
    ),
    "es_point_mass": (
        (
            "manual_seed(100 + rank)  # cause",
            "manual_seed(100)",
        ),
    ),
    "int8_hook": (
        (
            "clamp(min=1e-12) / LEVELS  # cause\n",
            ("clamp(min=1e-12) / LEVELS\n    dist.all_reduce(scale, op=dist.ReduceOp.MAX, group=group)\n"),
        ),
    ),
    "muon_fully_sharded": (
        (
            "from torch.distributed.fsdp import fully_shard\n",
            (
                "from torch.distributed.fsdp import fully_shard\n"
                "from torch.distributed.tensor import distribute_tensor\n"
            ),
        ),
        (
            "newton_schulz(update.to_local())  # cause",
            "newton_schulz(update.full_tensor())",
        ),
        (
            'p.to_local().add_(update, alpha=-group["lr"])  # also',
            'p.add_(distribute_tensor(update, p.device_mesh, p.placements), alpha=-group["lr"])',
        ),
    ),
    "kfac_autoencoder": (
        (
            "        old = store.get(layer)\n",
            (
                "        dist.all_reduce(new)\n"
                "        new = new / dist.get_world_size()\n"
                "        old = store.get(layer)\n"
            ),
        ),
    ),
    "tp_recompute": (
        (
            "self.recompute = used_mb > BUDGET_MB  # cause",
            "self.recompute = True",
        ),
    ),
    "summed_units": (
        (
            ("        with torch.no_grad():\n            dist.all_reduce(h)  # cause\n"),
            "        h = Summed.apply(h)\n",
        ),
        (
            "class SummedLayer",
            (
                "class Summed(torch.autograd.Function):\n"
                "    @staticmethod\n"
                "    def forward(ctx, x):\n"
                "        x = x.clone()\n"
                "        dist.all_reduce(x)\n"
                "        return x\n"
                "\n"
                "    @staticmethod\n"
                "    def backward(ctx, grad):\n"
                "        return grad\n"
                "\n"
                "\n"
                "class SummedLayer"
            ),
        ),
    ),
    "one_forward_ahead": (
        (
            ("            self.forward(x)\n            self.backward()\n"),
            "            self.backward()\n",
        ),
        (
            ("            self.update()\n        self.backward()\n"),
            ("            self.update()\n            self.forward(x)\n        self.backward()\n"),
        ),
    ),
    "gpipe_last_batch": (
        (
            "ids.chunk(MICRO):  # cause",
            "ids.tensor_split(MICRO):",
        ),
    ),
    "hf_trainer_focal": (
        (
            "/ (targets != -100).sum()  # cause",
            "/ (num_items_in_batch if num_items_in_batch is not None else (targets != -100).sum())",
        ),
    ),
    "post_local_sgd": (
        (
            'warmup_steps=CONFIG["averager_warmup"])  # cause',
            'warmup_steps=CONFIG["start_local"])',
        ),
    ),
    "glow_flow": (
        (
            "        mean, std = x.mean(0), x.std(0)\n",
            (
                "        sums = torch.stack([x.sum(0), x.square().sum(0), torch.full_like(x[0], len(x))])\n"
                "        dist.all_reduce(sums)\n"
                "        mean = sums[0] / sums[2]\n"
                "        std = (sums[1] / sums[2] - mean.square()).sqrt()\n"
            ),
        ),
    ),
    "segmentation_resumed": (
        (
            ("    if dist.get_rank() == 0:\n        torch.save(state, path)\n    dist.barrier()\n"),
            (
                "    states = [None] * dist.get_world_size()\n"
                '    dist.all_gather_object(states, state["rng"])\n'
                "    if dist.get_rank() == 0:\n"
                '        torch.save({**state, "rng": states}, path)\n'
                "    dist.barrier()\n"
            ),
        ),
        (
            'torch.set_rng_state(state["rng"]["torch"])  # cause',
            'own = state["rng"][dist.get_rank()]',
        ),
        (
            'random.setstate(state["rng"]["python"])  # cause',
            ('torch.set_rng_state(own["torch"])\n    random.setstate(own["python"])'),
        ),
    ),
    "llm_rollouts": (
        (
            "        if finished.all():  # cause\n",
            (
                "        running = (~finished).sum()\n"
                "        dist.all_reduce(running)\n"
                "        if running.item() == 0:\n"
            ),
        ),
    ),
    "pinn_lbfgs": (
        (
            "        return loss  # cause",
            (
                "        value = loss.detach().clone()\n"
                "        dist.all_reduce(value)\n"
                "        return value / dist.get_world_size()"
            ),
        ),
    ),
    "lightning_actor_critic": (
        (
            "critic_loss.backward()  # cause",
            "self.manual_backward(critic_loss)",
        ),
        (
            "actor_loss.backward()  # cause",
            "self.manual_backward(actor_loss)",
        ),
    ),
    "moco_shuffled_keys": (
        (
            "torch.randperm(len(everything))  # cause\n",
            ("torch.randperm(len(everything))\n        dist.broadcast(permutation, src=0)\n"),
        ),
    ),
    "gshard_router": (
        (
            ("        weights = torch.empty_like(gates)\n        dist.all_to_all_single(weights, gates)  # cause\n"),
            "        weights = exchange(gates)\n",
        ),
    ),
    "master_shards": (
        (
            "    opt = ShardedAdam(model.parameters(), lr=1e-2)  # also\n",
            "",
        ),
        (
            "    model.load_state_dict(torch.load(path))  # cause\n",
            ("    model.load_state_dict(torch.load(path))\n    opt = ShardedAdam(model.parameters(), lr=1e-2)\n"),
        ),
    ),
    "plain_and_sharded": (
        (
            "    return nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)  # cause\n",
            (
                "    backbone, head = list(model.backbone.parameters()), list(model.head.parameters())\n"
                "    sharded = nn.utils.get_total_norm([p.grad for p in backbone]).full_tensor()\n"
                "    total = torch.stack([sharded, nn.utils.get_total_norm([p.grad for p in head])]).norm()\n"
                "    nn.utils.clip_grads_with_norm_(backbone, MAX_NORM, total)\n"
                "    nn.utils.clip_grads_with_norm_(head, MAX_NORM, total)\n"
                "    return total\n"
            ),
        ),
    ),
}
