# inlined: trl.trainer.dpo_trainer
import tempfile

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig
from trl.trainer.dpo_trainer import DPOTrainer


def words():
    known = ["<pad>", "<s>", "</s>", "<unk>", *(f"w{number}" for number in range(20))]
    splitter = Tokenizer(models.WordLevel({word: i for i, word in enumerate(known)}, unk_token="<unk>"))
    splitter.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=splitter, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def tiny():
    config = LlamaConfig(
        vocab_size=24,
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        use_cache=False,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config)


def run():
    pairs = {
        "prompt": ["w1 w2", "w3 w4", "w5", "w6"] * 2,
        "chosen": [" w7 w8", " w9", " w10 w11", " w12"] * 2,
        "rejected": [" w13", " w14 w15", " w16", " w17 w18"] * 2,
    }
    with tempfile.TemporaryDirectory() as folder:
        arguments = DPOConfig(
            output_dir=folder,
            max_steps=4,
            per_device_train_batch_size=2,
            learning_rate=1e-3,
            beta=0.1,
            gradient_checkpointing=False,
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer = DPOTrainer(
            model=tiny(),
            ref_model=tiny(),
            args=arguments,
            train_dataset=Dataset.from_dict(pairs),
            processing_class=words(),
        )
        trainer.train()
    return trainer.model
