"""Hand-written: 16 chunks at a time are decoded by threads and their samples shuffled, as a patient user would who
gives up the full shuffle. The next window is decoded while this one is handed out."""
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from peers.plain_decoder import decoder

WINDOW_CHUNKS = 16


class WindowedBatches:
    def __init__(self, store, batch_size, threads):
        self.store, self.batch_size = store, batch_size
        self.pool, self.decode = ThreadPoolExecutor(threads), decoder(store)
        self.windows = [np.zeros((WINDOW_CHUNKS,) + store.chunks, np.float32) for _ in range(2)]

    def fill(self, number, destination):
        """Returns how many of the chunk's samples there are: the last chunk reaches beyond the array."""
        with open(f"{self.store.location}/{self.store.key(number, 0, 0, 0)}", "rb") as chunk:
            self.decode(chunk.read(), destination)
        return min(self.store.chunks[0], self.store.count - number * self.store.chunks[0])

    def start(self, chunks, window):
        return window, [self.pool.submit(self.fill, number, place) for number, place in zip(chunks, window)]

    def samples(self, window, tasks):
        """All samples of a window, shuffled: indices into its flat memory."""
        length = self.store.chunks[0]
        filled = [place * length + slot for place, task in enumerate(tasks) for slot in range(task.result())]
        random.shuffle(filled)
        return window.reshape((-1,) + self.store.shape[1:]), filled

    def __iter__(self):
        chunks = list(range(-(-self.store.count // self.store.chunks[0])))
        random.shuffle(chunks)
        groups = [chunks[at:at + WINDOW_CHUNKS] for at in range(0, len(chunks), WINDOW_CHUNKS)]
        ahead = self.start(groups[0], self.windows[0])
        for number, _ in enumerate(groups):
            samples, order = self.samples(*ahead)
            if number + 1 < len(groups):
                ahead = self.start(groups[number + 1], self.windows[(number + 1) % 2])
            for at in range(0, len(order), self.batch_size):
                yield samples[order[at:at + self.batch_size]]


def loader(store, batch_size, threads):
    return WindowedBatches(store, batch_size, threads)
