"""Lightning's Trainer: three epochs with a validation each, a sanity check before, checkpoints and early stopping."""
import logging
import tempfile
import warnings

import lightning
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset
from truth import tell

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
                                       torch.nn.Flatten(), torch.nn.Linear(8, 10))

    def loss(self, batch):
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def training_step(self, batch, _):
        return self.loss(batch)

    def validation_step(self, batch, _):
        self.log("loss", self.loss(batch))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


class Count(Callback):
    steps = 0

    def on_train_batch_end(self, *_):
        Count.steps += 1

    def on_validation_end(self, trainer, _):
        print("loss", round(float(trainer.callback_metrics.get("loss", 0)), 4))


torch.manual_seed(0)
data = TensorDataset(torch.randn(96, 3, 32, 32), torch.randint(0, 10, (96,)))
with tempfile.TemporaryDirectory() as out:
    trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", logger=False, default_root_dir=out,
                                enable_progress_bar=False, enable_model_summary=False,
                                callbacks=[Count(), ModelCheckpoint(out, monitor="loss"), EarlyStopping("loss", patience=9)])
    trainer.fit(Classifier(), DataLoader(data, 8), DataLoader(TensorDataset(*data[:40]), 8))
assert Count.steps == trainer.global_step
tell(steps=Count.steps)
