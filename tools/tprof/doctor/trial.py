# A small training. Each line that it prints names what is done next, or what torch answered.
def line(word, *rest):
    print('tprof-doctor', word, *[str(part).partition('\n')[0] for part in rest], flush=True)
def ask(name, function):
    line('doing', 'torch.cuda.' + function + '()')
    try:
        answer = getattr(torch.cuda, function)()
        line('said', name, answer)
        return answer
    except Exception as e:
        line('said', name + '_error', e)
line('doing', 'import torch')
import torch  # noqa: E402
line('said', 'version', torch.__version__)
line('said', 'cuda', torch.version.cuda)
available = ask('available', 'is_available')
ask('capturing', 'is_current_stream_capturing')
if torch.version.cuda and not available:
    ask('init', 'init')
device = 'cuda' if available else 'cpu'
if available:
    ask('device', 'get_device_name')
line('doing', 'a training on the ' + ('GPU' if available else 'CPU'))
model = torch.nn.Linear(4, 4).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    model(torch.ones(2, 4, device=device)).sum().backward()
    optimizer.step()
if available:
    torch.cuda.synchronize()
line('doing', 'its end')
