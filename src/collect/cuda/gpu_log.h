// Writes what CUPTI delivers to the recording: into chunks of tid 0, for each window that a record may belong to.
//
// GPU work belongs to the window in which its launch began, and its record arrives late. So a window stays open here
// until everything that was launched in it is delivered, while the next window may already run. A record that may
// belong to two windows is written to both; the reader decides by the time of the launch. Records from before the
// active part are discarded here, with some slack: the clocks of host and device differ a little, and the edges of
// steps may move.
//
// Runs on CUPTI's threads, never on the program's hot path, under a lock of its own.
#pragma once
#include "collect/cuda/buffers.h"
#include "collect/cuda/library.h"
#include "record/writer.h"

namespace tprof {

// A window was opened; its record (state, begin, end) is read as it changes.
void gpu_log_open(WindowRecord* window);
// It goes on in another epoch: nothing is written into its chunk any more.
void gpu_log_change_epoch(WindowRecord* window);
// From now on nothing is written to its chunks.
void gpu_log_close(WindowRecord* window);
bool gpu_log_has_windows();

// Takes all records of a buffer that CUPTI completed. `scrap`: they are only counted as lost.
void gpu_log_buffer(const CuptiLibrary& library, u8* buffer, size_t valid, bool scrap);

// --- the wait for delivery
// Whether some window has ended and its GPU work is not known to be delivered.
bool gpu_log_waits();
// To be polled until it is true; then the window may be sealed.
bool gpu_log_delivered(const WindowRecord* window);
// Decides after a flush that began at `flush_began_ns` (CLOCK_MONOTONIC) which windows are complete.
void gpu_log_settle(const BufferPool& buffers, u64 flush_began_ns);
// Whether the wait for some window has timed out, which the next gpu_log_settle() will act on.
bool gpu_log_overdue();
// Records that CUPTI itself had to drop: counted as such, and not waited for.
void gpu_log_dropped(u64 count);

// Whether a call returned an error that kills its context, from which no record will arrive.
bool gpu_log_context_dead();
// Writes the counts of odd records to the recording if they have changed.
void gpu_log_note_oddities();

// In a forked child.
void gpu_log_forget();

}  // namespace tprof
