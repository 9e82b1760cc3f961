"""SPDL: FFmpeg decodes, crops and scales in a thread pool; torch normalises the whole batch."""
import random

import spdl.io
import torch
from spdl.pipeline import PipelineBuilder

import places
from peers.random_crop import MEAN, SIZE, STD, coin, random_box

torch.set_num_threads(1)
mean = torch.tensor(MEAN).view(1, 3, 1, 1) * 255
std = torch.tensor(STD).view(1, 3, 1, 1) * 255
decode_config = spdl.io.decode_config(decoder_options={"threads": "1"})


def decode(sample):
    """sample: (path or bytes of the JPEG, class number)."""
    encoded, label = sample
    packets = spdl.io.demux_image(encoded)
    x, y, width, height = random_box(packets.codec.width, packets.codec.height)
    filters = [f"crop={width}:{height}:{x}:{y}", f"scale={SIZE}:{SIZE}:flags=bilinear"]
    filters += ["hflip"] if coin() else []
    description = ",".join(filters + ["format=rgb24"])
    return spdl.io.decode_packets(packets, filter_desc=description, decode_config=decode_config), label


def collate(samples):
    images = spdl.io.to_torch(spdl.io.convert_frames([frames for frames, _ in samples]))
    images = images.permute(0, 3, 1, 2).to(torch.float32, memory_format=torch.contiguous_format)
    return images.sub_(mean).div_(std), torch.tensor([label for _, label in samples])


def epochs(samples, batch_size, threads):
    """samples() gives one shuffled epoch of what decode() takes."""
    def epoch():
        pipeline = (PipelineBuilder().add_source(samples()).pipe(decode, concurrency=threads)
                    .aggregate(batch_size).pipe(collate).add_sink(2).build(num_threads=threads))
        with pipeline.auto_stop():
            yield from pipeline.get_iterator(timeout=60)

    return epoch


def images(batch_size, threads, antialias):
    assert antialias, "FFmpeg's scaler filters when it shrinks"
    files = places.jpeg_files()
    return epochs(lambda: random.sample(files, len(files)), batch_size, threads)
