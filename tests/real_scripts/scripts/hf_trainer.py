"""A language model trained by transformers' Trainer. hf_trainer.py MICRO_BATCHES."""
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Tokens(torch.utils.data.Dataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        tokens = torch.arange(i, i + 16) % 64
        return {"input_ids": tokens, "labels": tokens}


model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2))
arguments = TrainingArguments(
    output_dir="output", per_device_train_batch_size=8, per_device_eval_batch_size=8, num_train_epochs=2,
    gradient_accumulation_steps=int(sys.argv[1]), eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True,
    logging_steps=5)
trainer = Trainer(model=model, args=arguments, train_dataset=Tokens(96), eval_dataset=Tokens(32))
trainer.train()
print("global_step", trainer.state.global_step)
