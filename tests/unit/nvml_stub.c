/* Two GPUs: one that works, its clock held down by its power limit, and one that does not. For machine_test. */
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 2, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** device) { return *device = (void*)(unsigned long)(i + 1), 0; }
int nvmlDeviceGetClockInfo(void* device, unsigned type, unsigned* mhz) {
  *mhz = (unsigned long)device == 1 ? (type == 1 ? 1410 : 2619) : 210;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned percent[2]) {
  percent[0] = (unsigned long)device == 1 ? 97 : 0;
  return percent[1] = 0, 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  return *reasons = (unsigned long)device == 1 ? 0x4 : 0x1, 0; /* SwPowerCap, GpuIdle */
}
