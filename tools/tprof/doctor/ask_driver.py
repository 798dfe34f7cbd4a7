# What a program does first. Prints "error TEXT", or "answer CODE VERSION DEVICES".
import ctypes
try:
    driver = ctypes.CDLL('libcuda.so.1')
except OSError as e:
    print('tprof-doctor error', e)
else:
    version, devices = ctypes.c_int(), ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    code = driver.cuInit(0)
    if code == 0:
        driver.cuDeviceGetCount(ctypes.byref(devices))
    print('tprof-doctor answer', code, version.value, devices.value)
