"""Stands in for torchvision, which `import streaming` asks for and which nothing here uses.

The real one from PyPI does not load beside a CPU build of torch.
"""
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType


def module(name, **content):
    made = sys.modules[name] = ModuleType(name)
    vars(made).update(content, __spec__=ModuleSpec(name, None))
    return made


functional = module("torchvision.transforms.functional", to_tensor=None)
transforms = module("torchvision.transforms", functional=functional)
datasets = module("torchvision.datasets", VisionDataset=type("VisionDataset", (), {}))
module("torchvision", transforms=transforms, datasets=datasets)
