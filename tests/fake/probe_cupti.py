"""probe_cupti.py LIBCUPTI: what a libcupti, real or simulated, says of itself without a driver, as JSON.

Record lengths come from stepping over crafted buffers; a kind that it does not know has length 0.
"""
import ctypes
import json
import sys

MAX_LIMIT_REACHED = 12


def stepped(cupti, kind):
    """The distance that cuptiActivityGetNextRecord goes from one record of this kind to the next."""
    words = (ctypes.c_uint32 * 1024)()
    for i in range(0, len(words), 2):
        words[i] = kind  # wherever a next record may begin, one of the same kind begins
    record = ctypes.c_void_p(ctypes.addressof(words))
    result = cupti.cuptiActivityGetNextRecord(ctypes.byref(words), ctypes.c_size_t(ctypes.sizeof(words)),
                                              ctypes.byref(record))
    return record.value - ctypes.addressof(words) if result == 0 else 0


def name(cupti, domain, cbid):
    text = ctypes.c_char_p()
    result = cupti.cuptiGetCallbackName(domain, cbid, ctypes.byref(text))
    return text.value.decode() if result == 0 and text.value else None


def main():
    cupti = ctypes.CDLL(sys.argv[1])
    version = ctypes.c_uint32()
    cupti.cuptiGetVersion(ctypes.byref(version))
    said = {"version": version.value, "bytes": {kind: stepped(cupti, kind) for kind in range(1, 55)}}
    said["names"] = {"%d:%d" % (domain, cbid): name(cupti, domain, cbid)
                     for domain in (1, 2) for cbid in range(1, 807) if name(cupti, domain, cbid)}
    callback = ctypes.CFUNCTYPE(None)(lambda: None)
    handle, number = ctypes.c_void_p(), ctypes.c_uint64()
    calls = {
        "cuptiActivityRegisterCallbacks": (callback, callback),
        "cuptiGetTimestamp": (ctypes.byref(number),),
        "cuptiActivityEnable": (10,),
        "cuptiActivityDisable": (10,),
        "cuptiActivityFlushAll": (0,),
        "cuptiActivityFlushPeriod": (100,),
        "cuptiSetThreadIdType": (1,),
        "cuptiSubscribe": (ctypes.byref(handle), callback, None),
        "cuptiActivityPushExternalCorrelationId": (3, ctypes.c_uint64(42)),
        "cuptiActivityPopExternalCorrelationId": (3, ctypes.byref(number)),
        "cuptiFinalize": (),
    }
    said["exports"] = [function for function in list(calls) + [
        "cuptiActivityEnableRuntimeApi", "cuptiActivityEnableDriverApi", "cuptiSubscribe_v2", "cuptiActivityEnableHWTrace",
        "cuptiActivityEnableAllocationSource", "cuptiActivityEnableAllSyncRecords",
        "cuptiActivityEnableCudaEventDeviceTimestamps", "cuptiGetGraphExecId", "cuptiActivityRegisterTimestampCallback",
        "cuptiActivityEnableAndDump"] if hasattr(cupti, function)]
    said["driverless"] = {function: getattr(cupti, function)(*arguments) for function, arguments in calls.items()
                          if function in said["exports"]}
    json.dump(said, sys.stdout)


main()
