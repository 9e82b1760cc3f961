"""The transforms: descriptions of steps that the engine runs in its worker threads.

A transform is a small immutable value. It prints as the call that makes it, compares by its arguments, and can be
copied and pickled (a Map can if its function can). A Loader takes a list of transforms for each field.

Example:
    >>> transform = [ps.RandomResizedCrop(224), ps.RandomHorizontalFlip(), ps.Normalize(0.45, 0.22)]
    >>> loader = ps.Loader("data/train", batch_size=64, transform=transform)
"""

# "import x as x" marks a name that other modules of penstock import from here and that is not public.
from .base import Transform as Transform
from .checks import dtype_name as dtype_name
from .colour import ColorJitter, RandomErasing
from .decode import Decode
from .derive import Derive
from .geometry import CenterCrop, Pad, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, RandomVerticalFlip, Resize
from .map import Map
from .steps import engine_steps as engine_steps
from .steps import is_transform as is_transform
from .steps import joint_fields as joint_fields
from .steps import makes_image as makes_image
from .steps import moves_pixels as moves_pixels
from .values import Cast, Normalize, OneHot
from .volumes import RandomFlip3D, RandomRot90

__all__ = ["CenterCrop", "Cast", "ColorJitter", "Decode", "Derive", "Map", "Normalize", "OneHot", "Pad", "RandomCrop",
           "RandomErasing", "RandomFlip3D", "RandomHorizontalFlip", "RandomResizedCrop", "RandomRot90",
           "RandomVerticalFlip", "Resize"]

# Pickles and help() name a class by its module. With this name, classes can move between the files of this package.
for _name in ("Transform", *__all__):
    globals()[_name].__module__ = __name__
