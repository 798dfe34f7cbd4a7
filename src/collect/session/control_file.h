// How `tprof trigger` reaches a program: see record/trigger_file.h.
#pragma once
#include "base/types.h"

namespace tprof {

enum class Request { none, taken, refused };

// Takes the request beside this recording, if there is one: reads it and removes it. Only a regular file that belongs
// to the user of this process, and that nobody else can write, is a request; anything else is left alone, and `why_not`
// says what is wrong with it. `steps`: how many are wanted, 0: no number was given.
Request take_request(const char* recording, i64& steps, const char*& why_not);

// What one rank tells the others of its job, see there.
struct RankRequest {
  i32 rank = -1;
  i64 step = 0, steps = 0;
  u64 at_ns = 0;
};
// The last request in this log directory. `none`: there is none; `refused` as above.
Request read_rank_request(const char* logdir, RankRequest& out, const char*& why_not);
// False: it cannot be written.
bool write_rank_request(const char* logdir, const RankRequest& request);

}  // namespace tprof
