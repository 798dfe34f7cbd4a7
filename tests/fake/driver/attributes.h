// Device attributes, numbered as in both APIs (cudaDevAttr*, CU_DEVICE_ATTRIBUTE_*): the figures of an H100 SXM.
#pragma once
#include "objects.h"

namespace sim {

#define SIM_ATTRIBUTES(ATTRIBUTE)                    \
  ATTRIBUTE(threads_per_block, 1, 1024)              \
  ATTRIBUTE(block_x, 2, 1024)                        \
  ATTRIBUTE(block_y, 3, 1024)                        \
  ATTRIBUTE(block_z, 4, 64)                          \
  ATTRIBUTE(grid_x, 5, 2147483647)                   \
  ATTRIBUTE(grid_y, 6, 65535)                        \
  ATTRIBUTE(grid_z, 7, 65535)                        \
  ATTRIBUTE(shared_per_block, 8, 49152)              \
  ATTRIBUTE(constant_memory, 9, 65536)               \
  ATTRIBUTE(warp_size, 10, 32)                       \
  ATTRIBUTE(pitch_limit, 11, 2147483647)             \
  ATTRIBUTE(registers_per_block, 12, 65536)          \
  ATTRIBUTE(clock_khz, 13, 1980000)                  \
  ATTRIBUTE(multiprocessors, 16, 132)                \
  ATTRIBUTE(can_map_host_memory, 19, 1)              \
  ATTRIBUTE(concurrent_kernels, 31, 1)               \
  ATTRIBUTE(pci_bus, 33, 0x17)                       \
  ATTRIBUTE(memory_clock_khz, 36, 2619000)           \
  ATTRIBUTE(memory_bus_bits, 37, 5120)               \
  ATTRIBUTE(l2_bytes, 38, 52428800)                  \
  ATTRIBUTE(threads_per_multiprocessor, 39, 2048)    \
  ATTRIBUTE(copy_engines, 40, 3)                     \
  ATTRIBUTE(unified_addressing, 41, 1)               \
  ATTRIBUTE(major, 75, 9)                            \
  ATTRIBUTE(minor, 76, 0)                            \
  ATTRIBUTE(stream_priorities, 78, 1)                \
  ATTRIBUTE(shared_per_multiprocessor, 81, 233472)   \
  ATTRIBUTE(registers_per_multiprocessor, 82, 65536) \
  ATTRIBUTE(managed_memory, 83, 1)                   \
  ATTRIBUTE(concurrent_managed, 89, 1)               \
  ATTRIBUTE(cooperative_launch, 95, 1)               \
  ATTRIBUTE(shared_per_block_optin, 97, 232448)      \
  ATTRIBUTE(virtual_memory, 102, 1)                  \
  ATTRIBUTE(blocks_per_multiprocessor, 106, 32)      \
  ATTRIBUTE(reserved_shared_per_block, 111, 1024)    \
  ATTRIBUTE(memory_pools, 115, 1)

enum class Attribute : int {
#define ATTRIBUTE(name, number, value) name = number,
  SIM_ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
};

// What is not listed is 0: not supported.
inline int device_attribute(const Device& device, Attribute which) {
  switch (which) {
#define ATTRIBUTE(name, number, value) \
  case Attribute::name: return which == Attribute::pci_bus ? value + device.index : value;
    SIM_ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
  }
  return 0;
}

}  // namespace sim
