"""Draw the screen of a campaign at four sizes as SVG, for docs/pictures: any browser makes a picture of one.

python scripts/screen_pictures.py CAMPAIGN OUT
chromium --headless --screenshot=docs/pictures/screen.png --window-size=1483,1002 OUT/120x40.svg
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

from rich.console import Console

from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.stats import read_curve
from tzerlike.campaign.supervisor import View
from tzerlike.cli.screen import KEYS, FindingLines, render
from tzerlike.core.config import CampaignConfig

SIZES = ((60, 20), (80, 24), (120, 40), (200, 60))


def draw(root: Path, out: Path) -> None:
    """Write OUT/120x40.svg and the others."""
    directory = CampaignDir(root)
    stats = json.loads(directory.stats.read_text())
    curve, _ = read_curve(directory.coverage_csv)
    view = View(CampaignConfig.from_toml(directory.config), directory, stats, tuple(curve), "fuzzing")
    lines = FindingLines().of(directory)
    out.mkdir(parents=True, exist_ok=True)
    for width, height in SIZES:
        console = Console(record=True, width=width, height=height, file=io.StringIO(), force_terminal=True)
        console.print(render(view, width, height - 1, KEYS, lines))
        (out / f"{width}x{height}.svg").write_text(console.export_svg(title=f"tzerlike fuzz --out {root.name}"))


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
