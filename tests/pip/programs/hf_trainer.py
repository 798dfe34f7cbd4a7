"""The Trainer of transformers: a small BERT, four micro-batches to an update, an evaluation and a checkpoint each epoch."""
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments
from truth import tell


class Sentences(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        words = torch.randint(0, 1000, (32,), generator=torch.Generator().manual_seed(i))
        return {"input_ids": words, "attention_mask": torch.ones(32, dtype=torch.long), "labels": i % 2}


class Count(TrainerCallback):
    steps = batches = 0

    def on_step_end(self, *_, **__):
        Count.steps += 1

    def on_prediction_step(self, *_, **__):
        Count.batches += 1


torch.manual_seed(0)
model = BertForSequenceClassification(BertConfig(vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                                 intermediate_size=128))
with tempfile.TemporaryDirectory() as out:
    arguments = TrainingArguments(out, per_device_train_batch_size=4, per_device_eval_batch_size=4, num_train_epochs=2,
                                  gradient_accumulation_steps=4, eval_strategy="epoch", save_strategy="epoch", report_to=[],
                                  logging_steps=5, use_cpu=True, disable_tqdm=True)
    trainer = Trainer(model=model, args=arguments, train_dataset=Sentences(160), eval_dataset=Sentences(40),
                      callbacks=[Count()])
    trainer.train()
assert Count.steps == trainer.state.global_step
tell(steps=Count.steps, evaluation_batches=Count.batches)
