// Puts what CUPTI delivers into the recording: into chunks of tid 0, for each window that may be meant.
//
// Work of a GPU belongs to the window in which its launch began, and its record comes late. So a window stays open here
// until what was launched in it is delivered, while the next one may run already; a record that may belong to two is
// written to both. Which of them it belongs to the reader sees from the launch's time. Records from before the active
// part are thrown away here, with some slack: clocks of host and device differ a little, and edges of steps may move.
//
// Written from CUPTI's threads, never from the program's hot path: under a lock of its own.
#pragma once
#include "collect/cuda/buffers.h"
#include "collect/cuda/library.h"
#include "record/writer.h"

namespace tprof {

// A window was opened; its record (state, begin, end) is read as it changes.
void gpu_log_open(WindowRecord* window);
// Nothing more is written into its chunks.
void gpu_log_close(WindowRecord* window);
bool gpu_log_has_windows();

// All records of a buffer that CUPTI completed. `scrap`: they are only counted, as lost.
void gpu_log_buffer(const CuptiLibrary& library, u8* buffer, size_t valid, bool scrap);

// --- the wait for delivery
// Whether a window has ended whose work is not known to be delivered.
bool gpu_log_waits();
// To be asked until true, then the window may be sealed.
bool gpu_log_delivered(const WindowRecord* window);
// After a flush that began at `flush_began_ns` (CLOCK_MONOTONIC): which windows are complete now.
void gpu_log_settle(const BufferPool& buffers, u64 flush_began_ns);
// Whether the wait of some window is over, but for settling.
bool gpu_log_overdue();
// Records that CUPTI itself had to drop: counted as such, and not waited for.
void gpu_log_dropped(u64 count);

// Calls returned errors after which a context is dead: nothing will come from it.
bool gpu_log_context_dead();
// Odd things seen, into the recording, if there are new ones.
void gpu_log_note_oddities();

// In a forked child.
void gpu_log_forget();

}  // namespace tprof
