"""Trains until the first KeyboardInterrupt, then for another second; prints how many came."""
import time

import loop

loop.step(3)
print("ready", flush=True)
count = 0
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        loop.step()
        time.sleep(0.01)
    except KeyboardInterrupt:
        count += 1
        if count == 1:
            end = time.monotonic() + 1
print("interrupts", count, flush=True)
