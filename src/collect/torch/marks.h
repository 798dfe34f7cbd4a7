// User ranges (record_function and its kin) as step tokens. They reach us twice: from torch's callback, and from
// Python, which announces the begin and the end of each record_function (3.12+). While the session is quiet no
// callback is registered and Python's word alone counts; else torch's does, and the announcement only proves that
// the range could have been heard without it. While everything is recorded Python is not asked.
#pragma once
#include "collect/thread.h"

namespace tprof {

// From torch's callback, inside enter().
void user_range_begins(ThreadBlock* block, const void* record_function, const char* name);
void user_range_ends(ThreadBlock* block, const void* record_function, const char* name);

// Whether Python announces: a mark that is not announced meanwhile could not be heard without torch's callback.
extern std::atomic<bool> g_labels_watched;
// Whether announced labels are open on this thread.
bool labels_announced();
// From Python: the __enter__ of `self` begins, its __exit__ has returned.
void label_announced(const void* self, const char* name);
void label_left(const void* self);

}  // namespace tprof
