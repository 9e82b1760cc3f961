"""The Loader, and the steps from the arguments of a user to a batch."""

from .loader import Loader

__all__ = ["Loader"]
