"""Batches made two ahead by a thread pool: the loop under both hand-written loaders."""
from collections import deque
from concurrent.futures import ThreadPoolExecutor

AHEAD = 2


class ThreadedBatches:
    """Owns the threads; runs `fill(batch, slot, item)` for each item of each batch."""

    def __init__(self, threads, fill):
        self.pool, self.fill = ThreadPoolExecutor(threads), fill

    def run(self, groups, new_batch):
        """Yields (batch, group) in order; new_batch(number, size) gives the memory to fill."""
        waiting = deque()
        for number, group in enumerate(groups):
            batch = new_batch(number, len(group))
            tasks = [self.pool.submit(self.fill, batch, slot, item) for slot, item in enumerate(group)]
            waiting.append((batch, group, tasks))
            if len(waiting) > AHEAD:
                yield self.finish(waiting.popleft())
        while waiting:
            yield self.finish(waiting.popleft())

    @staticmethod
    def finish(entry):
        batch, group, tasks = entry
        for task in tasks:
            task.result()
        return batch, group


def shuffled_groups(items, batch_size, rng):
    order = rng.sample(items, len(items))
    return [order[start:start + batch_size] for start in range(0, len(order), batch_size)]
