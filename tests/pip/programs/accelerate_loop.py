"""accelerate: a loop of one's own that accumulates four micro-batches, clips, and evaluates after each epoch."""
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
from truth import tell

torch.manual_seed(0)
accelerator = Accelerator(gradient_accumulation_steps=4, cpu=True)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 10))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
data = TensorDataset(torch.randn(320, 64), torch.randint(0, 10, (320,)))
model, optimizer, batches, held_out, schedule = accelerator.prepare(model, optimizer, DataLoader(data, 8, shuffle=True),
                                                                    DataLoader(data, 32), schedule)
updates = evaluated = 0
for epoch in range(2):
    model.train()
    for x, y in batches:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        updates += accelerator.sync_gradients
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in held_out:
            guessed, true = accelerator.gather_for_metrics((model(x).argmax(1), y))
            right += int((guessed == true).sum())
            evaluated += 1
    print("epoch", epoch, "loss %.4f" % loss.item(), "right", right)
tell(steps=updates, evaluation_batches=evaluated)
