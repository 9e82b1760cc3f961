"""Hand-written: aiohttp fetches chunks, two threads decode them straight into the batch."""
import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import aiohttp
import numpy as np

from peers.plain_decoder import can_read, decoder, jobs  # noqa: F401  (can_read: for the workload)

DECODING_THREADS = 2


async def new_session(requests):
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=requests))


def reader(store, threads):
    """threads: requests on their way."""
    loop, pool, decode = asyncio.new_event_loop(), ThreadPoolExecutor(DECODING_THREADS), decoder(store)
    threading.Thread(target=loop.run_forever, daemon=True).start()
    session = asyncio.run_coroutine_threadsafe(new_session(threads), loop).result()

    async def fill(key, destination):
        async with session.get(f"{store.url}/{key}") as answer:
            encoded = await answer.read()
        await loop.run_in_executor(pool, decode, encoded, destination)

    async def fill_all(indices, batch):
        await asyncio.gather(*[fill(*job) for job in jobs(store, indices, batch)])

    def read(indices):
        batch = np.empty((len(indices),) + store.shape[1:], np.float32)
        asyncio.run_coroutine_threadsafe(fill_all(indices, batch), loop).result()
        return batch

    return read
