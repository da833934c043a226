"""The installed TVM and its ffi, which only work as a pair. Imports neither."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from tzerlike.core.errors import UserError
from tzerlike.systems import TVM

_NAMES = ("apache-tvm", "apache-tvm-ffi")


@dataclass(frozen=True, slots=True)
class TvmPair:
    """Versions of apache-tvm and apache-tvm-ffi; "" for one that is not installed."""

    tvm: str
    ffi: str

    def __str__(self) -> str:
        return " with ".join(f"{name} {own or '(missing)'}" for name, own in zip(_NAMES, self._both, strict=True))

    @property
    def _both(self) -> tuple[str, str]:
        return self.tvm, self.ffi


def installed_pair() -> TvmPair:
    """Return what this Python has."""
    return TvmPair(*map(_installed, _NAMES))


def mismatch(pair: TvmPair) -> str:
    """Say what to install where a pair cannot work; "" where it does, or was never tried."""
    tvm = pair.tvm or next(iter(TVM.releases))
    ffi = TVM.releases.get(tvm, pair.ffi)
    if pair == TvmPair(tvm, ffi) and pair.ffi:
        return ""
    wanted = " ".join(f"{name}=={own}" if own else name for name, own in zip(_NAMES, (tvm, ffi), strict=True))
    return f"{'this pair crashes' if pair.tvm and pair.ffi else 'both are needed'}; pip install {wanted}"


def require_pair() -> None:
    """UserError where this Python's TVM cannot work."""
    pair = installed_pair()
    if advice := mismatch(pair):
        raise UserError(f"{pair}: {advice}")


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
