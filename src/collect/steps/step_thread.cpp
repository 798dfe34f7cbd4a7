#include "collect/steps/step_thread.h"

namespace tprof {

// A thread that has ended hands over to the next one that sends a token. Before training is known, tokens of other
// threads count as well, such as those of threads that each serve one request. They stop counting as soon as one thread
// calls modules as a training does. Nor do they count while the first thread is inside a module's call: then nobody can
// tell what a step is. Backward passes may run on a thread of their own.
bool StepThread::counts(const ThreadBlock* block, Evidence evidence, StepDetector& detector) {
  if (evidence == Evidence::forward && !forward_block_) {
    forward_block_ = block;
    if (!sure_) lead(block);
  }
  if (!block || evidence == Evidence::backward) return true;
  bool updates = evidence == Evidence::update;
  bool ended = tid_ != 0 && (!block_->in_use.load(std::memory_order_relaxed) || block_->tid != tid_);
  if (ended) {
    detector.forget();
    forward_block_ = nullptr;
  }
  if (tid_ == 0 || ended || (updates && !sure_)) {
    detector.capture_ends();  // if another thread was in one
    lead(block);
    sure_ = updates;
  }
  if (block->tid == tid_) return true;
  if (sure_ || forward_block_ || detector.settled()) return false;
  bool inside_call = block_->in_module.load(std::memory_order_relaxed);
  if (inside_call) detector.guess();
  return !inside_call;
}

void StepThread::lead(const ThreadBlock* block) {
  tid_ = block->tid;
  block_ = block;
}

}  // namespace tprof
