"""d1m: 1,000,000 records of about 200 bytes in 100 shards, as tar (N.txt, N.cls) and as TFRecord."""
import random
import shutil
import string

import places
from data_sets.tar_format import END, member
from data_sets.tfrecord_format import bytes_feature, example, int64_feature, record

SHARDS = 100
TEXT_BYTES = (150, 250)
CLASSES = 10


def samples(shard, seed):
    """Yields (number, text, class number)."""
    rng = random.Random(f"{seed} {shard} many records")
    pool = "".join(rng.choices(string.ascii_lowercase + " ", k=1 << 16)).encode()
    size = places.MANY_RECORDS_COUNT // SHARDS
    for number in range(shard * size, (shard + 1) * size):
        begin = rng.randrange(len(pool) - TEXT_BYTES[1])
        yield number, pool[begin:begin + rng.randint(*TEXT_BYTES)], number % CLASSES


def tar_sample(number, text, label):
    return member(b"%07d.txt" % number, text) + member(b"%07d.cls" % number, b"%d" % label)


def tfrecord_sample(number, text, label):
    return record(example({b"text": bytes_feature(text), b"label": int64_feature(label)}))


def make(seed):
    for folder in (places.MANY_TAR_FOLDER, places.MANY_TFRECORD_FOLDER):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for shard in range(SHARDS):
        with (open(places.MANY_TAR_FOLDER / f"shard-{shard:04d}.tar", "wb") as tar,
              open(places.MANY_TFRECORD_FOLDER / f"part-{shard:04d}.tfrecord", "wb") as tfrecord):
            for sample in samples(shard, seed):
                tar.write(tar_sample(*sample))
                tfrecord.write(tfrecord_sample(*sample))
            tar.write(END)
    return {"count": places.MANY_RECORDS_COUNT, "shards": SHARDS}
