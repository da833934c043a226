"""What an earlier reduction of a bundle left, to go on from."""

from __future__ import annotations

from dataclasses import replace

from tzerlike.core.errors import UserError
from tzerlike.findings.bundles.bundle import Bundle, read_bundle
from tzerlike.findings.reduction import REDUCED, ROUGHLY
from tzerlike.findings.reduction.place import recovered


def as_reduced(bundle: Bundle) -> Bundle:
    """Return the bundle with the case, the environment and the tier of the reduced one, if that is about the same
    finding; else as it is."""
    path = recovered(bundle.path / REDUCED)
    if path is None:
        return bundle
    try:
        smaller = read_bundle(path)
    except UserError:
        return bundle
    if not bundle.shown_by(smaller.signed.signatures):
        return bundle
    environment = {name: value for name, value in smaller.environment.items() if name != ROUGHLY}
    stored = replace(bundle.stored, case=smaller.stored.case)
    return replace(bundle, stored=stored, environment=environment, confirmed=smaller.confirmed)
