// The functions of functions.def, which replace those of NVTX. The program's threads call them through C pointers: they
// do not throw or block, and preserve errno.
//
// Levels are counted per thread and domain even while nothing is recorded, since push and pop (push.cpp) return them.
// The id that start returns encodes where the range's record is, so that end needs no table.
#pragma once
#include "collect/nvtx/abi.h"
#include "collect/nvtx/names.h"

namespace tprof::nvtx {

void mark(const char* message);
void mark_wide(const wchar_t* message);
void mark_ex(const Attributes* attributes);
u64 start(const char* message);
u64 start_wide(const wchar_t* message);
u64 start_ex(const Attributes* attributes);
void end(u64 id);
int push(const char* message);
int push_wide(const wchar_t* message);
int push_ex(const Attributes* attributes);
int pop();
void name_category(u32 category, const char* name);
void name_category_wide(u32 category, const wchar_t* name);
void name_os_thread(u32 tid, const char* name);
void name_os_thread_wide(u32 tid, const wchar_t* name);

void domain_mark_ex(Domain* domain, const Attributes* attributes);
u64 domain_start_ex(Domain* domain, const Attributes* attributes);
void domain_end(Domain* domain, u64 id);
int domain_push_ex(Domain* domain, const Attributes* attributes);
int domain_pop(Domain* domain);
void domain_name_category(Domain* domain, u32 category, const char* name);
void domain_name_category_wide(Domain* domain, u32 category, const wchar_t* name);
const Text* domain_register_string(Domain* domain, const char* text);
const Text* domain_register_string_wide(Domain* domain, const wchar_t* text);
Domain* domain_create(const char* name);
Domain* domain_create_wide(const wchar_t* name);
void domain_destroy(Domain* domain);
void initialize(const void* reserved);

void mark_payload(Domain* domain, const void* payload, size_t count);
int push_payload(Domain* domain, const void* payload, size_t count);
int pop_payload(Domain* domain, const void* payload, size_t count);
u64 start_payload(Domain* domain, const void* payload, size_t count);
void end_payload(Domain* domain, u64 id, const void* payload, size_t count);

}  // namespace tprof::nvtx
