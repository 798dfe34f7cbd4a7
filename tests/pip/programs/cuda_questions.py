"""What libraries ask torch about CUDA, whether there is a GPU or not, before, between and after training steps."""
import os
import threading

import torch
from truth import tell

QUESTIONS = ["torch.cuda.is_available()", "torch.cuda.is_current_stream_capturing()", "torch.cuda.device_count()",
             "torch.cuda.is_initialized()", "torch.cuda.is_bf16_supported()", "torch.cuda.current_device()",
             "torch.cuda.get_device_name(0)", "torch.cuda.mem_get_info()", "torch.cuda.manual_seed_all(0)",
             "torch.cuda.get_rng_state_all()", "torch.cuda.synchronize()", "torch.cuda.empty_cache()",
             "torch.cuda.memory_stats()", "torch.cuda.Stream()", "torch.cuda.nccl.version()",
             "torch.ones(1).pin_memory()", "torch.ones(1).cuda()", "torch._C._cuda_getDeviceCount()",
             "torch.accelerator.is_available()", "torch.backends.cudnn.version()"]


def ask(question):
    try:
        return repr(eval(question))
    except Exception as e:
        return "%s: %s" % (type(e).__name__, str(e).splitlines()[0])


model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step, question in enumerate(QUESTIONS):
    print(question, ask(question), flush=True)
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
thread = threading.Thread(target=lambda: print("in a thread:", ask(QUESTIONS[1]), flush=True))
thread.start()
thread.join()
child = os.fork()
if child == 0:
    print("in a child:", ask(QUESTIONS[1]), ask(QUESTIONS[2]), flush=True)
    os._exit(4)
print("a child's exit status:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
tell(steps=len(QUESTIONS))
