"""The example of skorch's README."""
import numpy as np
from sklearn.datasets import make_classification
from skorch import NeuralNetClassifier
from torch import nn

X, y = make_classification(500, 20, n_informative=10, random_state=0)
X = X.astype(np.float32)
y = y.astype(np.int64)


class MyModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 10), nn.ReLU(), nn.Dropout(0.5), nn.Linear(10, 2), nn.Softmax(dim=-1))

    def forward(self, X, **kwargs):
        return self.layers(X)


net = NeuralNetClassifier(MyModule, max_epochs=3, lr=0.1, batch_size=50, iterator_train__shuffle=True)
net.fit(X, y)
net.predict_proba(X)
