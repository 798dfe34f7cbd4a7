"""Trains until the first KeyboardInterrupt, then for another second; prints how many came."""
import time

import loop

loop.step(3)
count = 0
ready = False
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        if not ready:
            ready = True
            print("ready", flush=True)  # here: from now on a Ctrl-C is caught
        loop.step()
        time.sleep(0.01)
    except KeyboardInterrupt:
        count += 1
        if count == 1:
            end = time.monotonic() + 1
print("interrupts", count, flush=True)
