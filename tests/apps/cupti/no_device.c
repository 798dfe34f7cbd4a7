/* A libcuda.so.1 that is installed where there is no device: cuInit gives NO_DEVICE_STATUS. Like everything that stands
   in for NVIDIA's driver it lacks the tables that only libcupti asks for. */
#include <stdlib.h>

static int status(void) {
  const char* text = getenv("NO_DEVICE_STATUS");
  return text ? atoi(text) : 100;
}

int cuInit(unsigned flags) {
  (void)flags;
  return status();
}

int cuDriverGetVersion(int* version) {
  *version = 13020;
  return 0;
}

int cuGetExportTable(const void** table, const void* id) {
  (void)id;
  *table = 0;
  return status();
}

int cuDeviceGet(int* device, int ordinal) {
  (void)device, (void)ordinal;
  return status();
}

int cuDeviceGetPCIBusId(char* text, int bytes, int device) {
  (void)text, (void)bytes, (void)device;
  return status();
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)value, (void)attribute, (void)device;
  return status();
}

int cuDeviceGetCount(int* count) {
  *count = 0;
  return status();
}
