/* The part of NVTX 3's headers that our clients use, written anew: a machine without NVIDIA's headers can test too. One
 * module of a program, that is, one object built with this header, has a loader and pointers of its own.
 *
 * At the first call the library that NVTX_INJECTION64_PATH names is opened and given a way to the pointers; what it
 * leaves alone does nothing. */
#pragma once
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

#define NVTX_VERSION 3
#define NVTX_COLOR_ARGB 1
#define NVTX_NO_PUSH_POP_TRACKING (-2)
enum { NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE = 2, NVTX_MESSAGE_TYPE_REGISTERED = 3 };
enum {
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
  NVTX_PAYLOAD_TYPE_INT64 = 2,
  NVTX_PAYLOAD_TYPE_DOUBLE = 3,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 = 4,
  NVTX_PAYLOAD_TYPE_INT32 = 5,
  NVTX_PAYLOAD_TYPE_FLOAT = 6
};
typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomain* nvtxDomainHandle_t;
typedef struct nvtxString* nvtxStringHandle_t;
typedef struct {
  uint16_t version, size;
  uint32_t category;
  int32_t colorType;
  uint32_t color;
  int32_t payloadType, reserved0;
  union {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
    uint32_t uiValue;
    int32_t iValue;
    float fValue;
  } payload;
  int32_t messageType;
  union {
    const char* ascii;
    const wchar_t* unicode;
    nvtxStringHandle_t registered;
  } message;
} nvtxEventAttributes_t;
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

typedef void (*own_function)(void);
static own_function own_core[16], own_core2[16];
static own_function *own_core_slots[16], *own_core2_slots[16];
static int own_state; /* 1: being loaded, 2: ready */

static int own_slots(unsigned group, own_function*** out, unsigned* count) {
  if (group != 1 && group != 5) return 0;
  *out = group == 1 ? own_core_slots : own_core2_slots;
  *count = 16;
  return 1;
}
static const struct {
  size_t size;
  int (*slots)(unsigned, own_function***, unsigned*);
} own_callbacks = {sizeof own_callbacks, own_slots};
static const void* own_export_table(uint32_t id) { return id == 1 ? &own_callbacks : NULL; }

static void own_open(void) {
  for (int i = 0; i < 16; i++) {
    own_core_slots[i] = &own_core[i];
    own_core2_slots[i] = &own_core2[i];
  }
  const char* path = getenv("NVTX_INJECTION64_PATH");
  void* tool = path ? dlopen(path, RTLD_LAZY) : NULL;
  int (*begin)(const void* (*)(uint32_t)) = NULL;
  if (tool) *(void**)&begin = dlsym(tool, "InitializeInjectionNvtx2");
  if (begin && begin(own_export_table)) return;
  for (int i = 0; i < 16; i++) own_core[i] = own_core2[i] = NULL;
}
static void own_load(void) {
  int fresh = 0;
  if (__atomic_compare_exchange_n(&own_state, &fresh, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    own_open();
    __atomic_store_n(&own_state, 2, __ATOMIC_RELEASE);
  }
  while (__atomic_load_n(&own_state, __ATOMIC_ACQUIRE) != 2) sched_yield();
}

#define OWN_NVTX(result, nothing, name, table, slot, parameters, ...)                        \
  static inline __attribute__((unused)) result nvtx##name parameters {                       \
    if (__builtin_expect(__atomic_load_n(&own_state, __ATOMIC_ACQUIRE) != 2, 0)) own_load(); \
    if (!table[slot]) return nothing;                                                        \
    return ((result(*) parameters)table[slot])(__VA_ARGS__);                                 \
  }
OWN_NVTX(void, , MarkEx, own_core, 1, (const nvtxEventAttributes_t* a), a)
OWN_NVTX(void, , MarkA, own_core, 2, (const char* m), m)
OWN_NVTX(void, , MarkW, own_core, 3, (const wchar_t* m), m)
OWN_NVTX(nvtxRangeId_t, 0, RangeStartEx, own_core, 4, (const nvtxEventAttributes_t* a), a)
OWN_NVTX(nvtxRangeId_t, 0, RangeStartA, own_core, 5, (const char* m), m)
OWN_NVTX(nvtxRangeId_t, 0, RangeStartW, own_core, 6, (const wchar_t* m), m)
OWN_NVTX(void, , RangeEnd, own_core, 7, (nvtxRangeId_t id), id)
OWN_NVTX(int, -2, RangePushEx, own_core, 8, (const nvtxEventAttributes_t* a), a)
OWN_NVTX(int, -2, RangePushA, own_core, 9, (const char* m), m)
OWN_NVTX(int, -2, RangePushW, own_core, 10, (const wchar_t* m), m)
OWN_NVTX(int, -2, RangePop, own_core, 11, (void))
OWN_NVTX(void, , NameCategoryA, own_core, 12, (uint32_t c, const char* n), c, n)
OWN_NVTX(void, , NameCategoryW, own_core, 13, (uint32_t c, const wchar_t* n), c, n)
OWN_NVTX(void, , NameOsThreadA, own_core, 14, (uint32_t t, const char* n), t, n)
OWN_NVTX(void, , NameOsThreadW, own_core, 15, (uint32_t t, const wchar_t* n), t, n)
OWN_NVTX(void, , DomainMarkEx, own_core2, 1, (nvtxDomainHandle_t d, const nvtxEventAttributes_t* a), d, a)
OWN_NVTX(nvtxRangeId_t, 0, DomainRangeStartEx, own_core2, 2, (nvtxDomainHandle_t d, const nvtxEventAttributes_t* a), d,
         a)
OWN_NVTX(void, , DomainRangeEnd, own_core2, 3, (nvtxDomainHandle_t d, nvtxRangeId_t id), d, id)
OWN_NVTX(int, -2, DomainRangePushEx, own_core2, 4, (nvtxDomainHandle_t d, const nvtxEventAttributes_t* a), d, a)
OWN_NVTX(int, -2, DomainRangePop, own_core2, 5, (nvtxDomainHandle_t d), d)
OWN_NVTX(void, , DomainNameCategoryA, own_core2, 8, (nvtxDomainHandle_t d, uint32_t c, const char* n), d, c, n)
OWN_NVTX(void, , DomainNameCategoryW, own_core2, 9, (nvtxDomainHandle_t d, uint32_t c, const wchar_t* n), d, c, n)
OWN_NVTX(nvtxStringHandle_t, NULL, DomainRegisterStringA, own_core2, 10, (nvtxDomainHandle_t d, const char* s), d, s)
OWN_NVTX(nvtxStringHandle_t, NULL, DomainRegisterStringW, own_core2, 11, (nvtxDomainHandle_t d, const wchar_t* s), d, s)
OWN_NVTX(nvtxDomainHandle_t, NULL, DomainCreateA, own_core2, 12, (const char* n), n)
OWN_NVTX(nvtxDomainHandle_t, NULL, DomainCreateW, own_core2, 13, (const wchar_t* n), n)
OWN_NVTX(void, , DomainDestroy, own_core2, 14, (nvtxDomainHandle_t d), d)
OWN_NVTX(void, , Initialize, own_core2, 15, (const void* reserved), reserved)
#undef OWN_NVTX
