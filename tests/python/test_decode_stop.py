"""A sample that takes long to decode does not hold up close()."""

import time

import pytest

import penstock as ps
from bombs.images import png, zeros

SIDE = 13000
PROMISED = 1.0  # seconds
SLACK = 2.0  # of a busy machine


@pytest.mark.slow
def test_close_does_not_wait_for_a_slow_picture(tmp_path):
    path = tmp_path / "slow.png"
    # 16-bit RGBA: 700 MB go through zlib before the middle of the picture is there.
    path.write_bytes(png(SIDE, SIDE, zeros((8 * SIDE + 1) * SIDE), 16, 6))
    loader = ps.Loader(ps.Files([(path, 0)] * 8), batch_size=8, memory="512MiB", threads=2, output="numpy",
                       transform=[ps.CenterCrop(16)])
    iter(loader)
    time.sleep(0.5)  # the workers are at it
    began = time.monotonic()
    loader.close()
    assert time.monotonic() - began < PROMISED + SLACK
