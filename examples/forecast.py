"""Learns to forecast weather from a Zarr group: three time steps from the two before them.

    python examples/forecast.py                    # makes a small group of its own and learns it
    python examples/forecast.py era5.zarr --variables t2m msl --train 2015 2018 --test 2019 2019

Samples are windows over the time dimension. They are shuffled, but each chunk is read and decoded once for all samples
that need it soon. The group may be a URL. `penstock statistics GROUP --sample-dim time --select time=2015:2018` also
prints the mean and deviation for Normalize.
"""

import argparse
import pathlib
import tempfile
import time

import torch

import penstock as ps
import tiny_arrays

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("path", nargs="?", help="a group of your own, with a dimension called time")
parser.add_argument("--variables", nargs="+", default=["t2m", "msl"], help="over (time, lat, lon)")
parser.add_argument("--train", nargs=2, default=("2019-01", "2019-06"), metavar="DATE", help="first and last")
parser.add_argument("--test", nargs=2, default=("2019-07", "2019-08"), metavar="DATE")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--batch-size", type=int, default=16)
args = parser.parse_args()

path = args.path or tiny_arrays.write_weather(pathlib.Path(tempfile.mkdtemp(prefix="penstock-")) / "weather.zarr")
HISTORY, HORIZON = 2, 3


def mean_and_deviation(variable):
    """Returns mean and deviation over all values of the years to train on."""
    fields = ps.Zarr(path, variable, "time", select={"time": tuple(args.train)})
    parts = [(values.double().mean(), (values.double() ** 2).mean(), len(values))
             for values in ps.Loader(fields, 32, output="torch")]
    count = sum(part[2] for part in parts)
    mean, square = (float(sum(part[i] * part[2] for part in parts)) / count for i in (0, 1))
    return mean, (square - mean ** 2) ** 0.5


def windows(dates, **options):
    """Makes a loader of <variable>_history (batch, 2, lat, lon) and <variable>_horizon (batch, 3, lat, lon)."""
    source = ps.Zarr(path, args.variables, "time", window=(HISTORY, HORIZON), select={"time": tuple(dates)})
    return ps.Loader(source, args.batch_size, output="torch", **options,
                     fields={name: name for name in source.fields},
                     transform={f"{name}_{part}": [normalize[name]] for name in args.variables
                                for part in ("history", "horizon")})


normalize = {name: ps.Normalize(*mean_and_deviation(name)) for name in args.variables}
train, test = windows(args.train, shuffle=True, seed=0), windows(args.test)
print(f"{path}: {len(train)} batches to train on, {len(test)} to test")

torch.manual_seed(0)
torch.set_num_threads(1)  # the network is small, so the cores are for decoding
variables = len(args.variables)
model = torch.nn.Sequential(
    torch.nn.Conv2d(HISTORY * variables, 32, 5, padding=2, padding_mode="circular"), torch.nn.ReLU(),
    torch.nn.Conv2d(32, HORIZON * variables, 5, padding=2, padding_mode="circular"))
optimizer = torch.optim.Adam(model.parameters(), 3e-3)


def forecast_loss(batch):
    history = torch.cat([batch[f"{name}_history"] for name in args.variables], 1)
    horizon = torch.cat([batch[f"{name}_horizon"] for name in args.variables], 1)
    now = torch.cat([batch[f"{name}_history"][:, -1:].expand(-1, HORIZON, -1, -1) for name in args.variables], 1)
    # The network learns the change. A forecast is good if it beats the assumption that nothing changes.
    return (torch.nn.functional.mse_loss(now + model(history), horizon), torch.nn.functional.mse_loss(now, horizon))


for epoch in range(args.epochs):
    began, losses, seen = time.perf_counter(), [], 0
    for batch in train:
        loss, _ = forecast_loss(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seen += len(batch[f"{args.variables[0]}_history"])
    seconds = time.perf_counter() - began
    with torch.no_grad():
        errors = torch.tensor([forecast_loss(batch) for batch in test]).mean(0)
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}, of test {errors[0]:.4f} "
          f"({errors[1]:.4f} if nothing changed), {seen / seconds:.0f} windows/s")

chunks = train.stats()["chunks"]
print(f"chunks: {chunks['decoded']} decoded, {chunks['reused']} times one was found decoded")
print("waited for:", train.stats()["bottleneck"])
