"""A small network learns from what the loader delivers."""

import numpy as np
import pytest

import penstock as ps
from pictures import save_jpeg


@pytest.fixture
def shapes(tmp_path):
    """Two classes that anybody can tell apart: bright on the left, bright on the right; noise on top."""
    random = np.random.default_rng(0)
    for name in ("left", "right"):
        for i in range(32):
            pixels = random.integers(0, 60, (48, 64, 3)).astype(np.uint8)
            part = slice(0, 32) if name == "left" else slice(32, 64)
            pixels[:, part] += 150
            save_jpeg(tmp_path / name / f"{i}.jpg", pixels)
    return tmp_path


@pytest.mark.parametrize("layout", ["NCHW", "channels_last"])
def test_the_loss_of_a_small_network_goes_down(shapes, layout):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 5, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                                torch.nn.Flatten(), torch.nn.Linear(128, 2))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    train, test = ps.ImageFolder(shapes).split(0.75, seed=0)
    steps = [ps.RandomResizedCrop(32, scale=(0.8, 1)), ps.RandomVerticalFlip(), ps.Normalize(0.5, 0.25)]
    with ps.Loader(train, batch_size=16, shuffle=True, transform=steps, layout=layout, output="torch") as loader:
        for _ in range(6):
            for images, labels in loader:
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        assert loader.stats()["delivered"] == 6 * 48
    assert np.mean(losses[-3:]) < 0.3 * np.mean(losses[:3])
    with ps.Loader(test, batch_size=16, transform=[ps.Resize(32), ps.CenterCrop(32), ps.Normalize(0.5, 0.25)],
                   output="torch") as loader, torch.no_grad():
        right = sum((model(images).argmax(1) == labels).sum().item() for images, labels in loader)
    assert right >= 15
