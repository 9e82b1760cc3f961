"""WebDataset: shards shuffled and dealt to worker processes, each with a shuffle buffer."""
import torch
import webdataset

import places

torch.set_num_threads(1)


def epochs(decode, batch_size, workers):
    shards = places.shards(places.TAR_FOLDER, ".tar")
    dataset = (webdataset.WebDataset(shards, shardshuffle=len(shards)).shuffle(1000)
               .to_tuple("jpg", "cls").map_tuple(decode, int).batched(batch_size))
    loader = webdataset.WebLoader(dataset, batch_size=None, num_workers=workers)
    return lambda: iter(loader)
