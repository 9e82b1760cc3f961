"""Trains a small network with JAX.

    python examples/train_jax.py                   # makes a tiny class folder and learns it
    python examples/train_jax.py data/train --size 64

Batches are jax.Arrays over the loader's own memory, without a copy.
"""

import argparse
import time

import jax
import jax.numpy as jnp

import penstock as ps
import tiny_data

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("path", nargs="?", help="a class folder of your own")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--size", type=int, default=32, help="pixels a side that the network sees")
args = parser.parse_args()

source = ps.ImageFolder(args.path or tiny_data.write_folder(tiny_data.scratch_folder("folder")))
print(source)
# drop_last: all batches have one shape, so JAX compiles the step once.
loader = ps.Loader(source, args.batch_size, shuffle=True, drop_last=True, output="jax", layout="NHWC",
                   transform=[ps.RandomResizedCrop(args.size, scale=(0.6, 1)), ps.RandomHorizontalFlip(),
                              ps.Normalize(0.45, 0.25)])


def new_weights(key, classes, channels=16):
    first, second = jax.random.split(key)
    return {"filters": 0.1 * jax.random.normal(first, (5, 5, 3, channels)),
            "matrix": 0.1 * jax.random.normal(second, (4 * channels, classes)),
            "bias": jnp.zeros(classes)}


def loss_of(weights, images, labels):
    seen = jax.lax.conv_general_dilated(images, weights["filters"], (2, 2), "SAME",
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))
    seen = jax.nn.relu(seen)
    count, height, width, channels = seen.shape
    seen = seen.reshape(count, 2, height // 2, 2, width // 2, channels).mean((2, 4)).reshape(count, -1)
    scores = jax.nn.log_softmax(seen @ weights["matrix"] + weights["bias"])
    return -jnp.take_along_axis(scores, labels[:, None], 1).mean()


@jax.jit
def step(weights, images, labels):
    loss, slopes = jax.value_and_grad(loss_of)(weights, images, labels)
    return jax.tree.map(lambda weight, slope: weight - 0.3 * slope, weights, slopes), loss


weights = new_weights(jax.random.key(0), len(source.classes))
for epoch in range(args.epochs):
    began, losses = time.perf_counter(), []
    for images, labels in loader:
        weights, loss = step(weights, images, labels)
        losses.append(float(loss))
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}, "
          f"{len(losses) * args.batch_size / (time.perf_counter() - began):.0f} images/s")

print("waited for:", loader.stats()["bottleneck"])
