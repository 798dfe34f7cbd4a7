// Records what the workers of a torch.utils.data.DataLoader do: wait for work, fetch a batch, send it; and in the
// program when a batch was drawn. A worker's loop gets its index queue, its data queue and collate_fn from its
// arguments; there, functions of ours are put before index_queue.get, data_queue.put, data_queue's _send_bytes (called
// by the queue's feeder thread) and collate_fn. Each calls the one that it stands before exactly once. They are C
// functions: no frame of theirs is in a traceback. Nothing of the dataset is called or looked at.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// The hook of torch.utils.data._utils.worker._worker_loop, see function_hook.h.
PyObject* worker_loop_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names);

// iter() of a DataLoader has returned this iterator.
void loader_made(PyObject* loader, PyObject* iterator);
// The program has drawn a batch from this iterator of a DataLoader, since `begin_ticks`.
void loader_drawn(PyObject* iterator, u64 begin_ticks);

}  // namespace tprof
