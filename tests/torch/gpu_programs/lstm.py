"""Recurrent layers, by cuDNN as it is set by default."""
import torch
import torch.nn as nn
from shared import told

STEPS, BATCH, LENGTH, WIDTH, HIDDEN = 4, 4, 12, 16, 24


def main():
    layers = [nn.LSTM(WIDTH, HIDDEN, num_layers=2, dropout=0.1, bidirectional=True), nn.GRU(WIDTH, HIDDEN),
              nn.RNN(WIDTH, HIDDEN), nn.LSTM(WIDTH, HIDDEN, proj_size=8), nn.LSTM(WIDTH, HIDDEN, bias=False)]
    for layer in layers:
        layer.cuda()
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        for _ in range(STEPS):
            out, _ = layer(torch.randn(LENGTH, BATCH, WIDTH).cuda())
            optimizer.zero_grad()
            out.sum().backward()
            optimizer.step()
        print(type(layer).__name__, tuple(out.shape), sum(p.numel() for p in layer.parameters()))
    told(steps=STEPS * len(layers))


if __name__ == "__main__":
    main()
