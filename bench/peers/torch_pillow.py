"""torch's DataLoader with Pillow: the pipeline that most training scripts start from."""
from peers import pillow_sample, torch_files


def images(batch_size, threads, antialias):
    assert antialias, "Pillow always filters when it shrinks"
    return torch_files.epochs(torch_files.ImageFiles(pillow_sample.load), batch_size, threads)
