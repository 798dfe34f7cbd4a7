"""An inference server of asyncio: clients in threads, a request that times out, and a loop that mostly waits."""
import asyncio
import json
import threading
import time
import urllib.request

import torch
from truth import tell

CLIENTS, REQUESTS, PAUSE_s = 3, 10, 0.5
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).eval()
answers = []


def infer(x):
    with torch.inference_mode():
        return model(torch.tensor(x)).argmax(-1).tolist()


async def answer(reader, writer):
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    x = json.loads(await reader.readexactly(length))
    body = json.dumps(await asyncio.to_thread(infer, x)).encode()
    writer.write(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    await writer.drain()
    writer.close()


def client(port, number):
    for i in range(REQUESTS):
        sent = urllib.request.Request("http://127.0.0.1:%d/" % port, json.dumps([[0.1 * number + i] * 64]).encode())
        answers.append((number, i, json.load(urllib.request.urlopen(sent))))


async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    pauses = []
    for _ in range(3):
        began = time.monotonic()
        await asyncio.sleep(PAUSE_s)
        pauses.append(time.monotonic() - began)
    threads = [threading.Thread(target=client, args=(port, number)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        await asyncio.sleep(0.01)
    try:
        await asyncio.wait_for(asyncio.Event().wait(), PAUSE_s)
    except TimeoutError:
        print("timed out")
    server.close()
    await server.wait_closed()
    print(sorted(answers))
    tell(requests=len(answers), pause=PAUSE_s, pauses=pauses)


asyncio.run(main())
