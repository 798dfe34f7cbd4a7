# One statement per row of kExpected (calibrate.cpp), in its order. Data types and the device are explicit, since the
# program's defaults must not matter. Under no_grad, so nothing is kept for a backward pass.
import torch
with torch.no_grad():
  f = {'dtype': torch.float32, 'device': 'cpu'}
  a = torch.empty_strided((2, 3), (1, 2), **f)
  b = torch.empty_strided((1, 2, 1, 2, 1, 3), (12, 6, 6, 3, 3, 1), dtype=torch.float64, device='cpu')
  c = torch.zeros((1,), dtype=torch.int64, device='cpu')
  torch.cat([a, a, a], 1)
  a.sum(dim=[1], keepdim=True)
  torch.add(a, c, alpha=2.5)
  torch.div(a, a, rounding_mode='floor')
  b.clone()
  a[c]
  torch.full((1,), 1.5 - 2j, dtype=torch.complex128, device='cpu')
  del a, b, c, f
