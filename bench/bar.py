"""One bar, and the usual ways to hold a number against what is needed."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    text: str
    needed: str
    reached: str
    met: bool


def at_least(text, ratio, needed, aim=None, note=""):
    if ratio is None:
        return None
    wanted = f">= {needed:g}x" + (f" (aim {aim:g}x)" if aim else "")
    return Bar(text, wanted, f"{ratio:.2f}x{note}", ratio >= needed)


def quotient(numerator, denominator):
    return numerator / denominator if numerator and denominator else None


def at_most(text, value, limit, unit):
    """None for a value that is not there; otherwise the value has to stay below the limit."""
    return None if value is None else Bar(text, f"< {limit:g} {unit}", f"{value:.1f} {unit}", value < limit)
