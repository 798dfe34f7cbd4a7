"""Planetoid's graphs, which would be downloaded."""


def before(work, spec):
    import torch
    import torch_geometric.datasets as datasets

    def planetoid(*args, transform=None, **kwargs):
        made = datasets.FakeDataset(num_graphs=1, avg_num_nodes=200, num_classes=7, task="node", transform=transform)
        third = torch.arange(made._data.num_nodes) % 3
        made._data.train_mask, made._data.val_mask, made._data.test_mask = third == 0, third == 1, third == 2
        return made
    datasets.Planetoid = planetoid
