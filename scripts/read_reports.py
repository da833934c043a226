"""Do the reports of findings read like good issues?

    python scripts/read_reports.py PATH... [--out FILE] [--every N]

Renders the report of each bundle, or of every N-th bundle of a campaign, anew, one after the other into FILE for a
person to read, and says which break a rule that a program can check. Exits 1 when there is one.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tzerlike.findings.issue.titles import DANGLES
from tzerlike.findings.refresh import report_of
from tzerlike.reporting.triage.sightings import bundles_in

TITLE = 80
CHARACTERS = 65_536
"""What GitHub takes for an issue."""

SECTIONS = ["Expected behavior", "Actual behavior", "Environment", "Steps to reproduce", "Triage"]

_FENCED = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|workspace|opt|usr(?!/local/cuda\b)|var|mnt|Users|private)/\w")
_FILE = re.compile(r"attached|case\.json|module\.py|inputs\.npz|report\.md|observation\.json|reduced/")
_NOISE = re.compile(r"\d\.\d{9}|\d\.\d{7,}e[-+]\d")
_REDUCED = re.compile(r"reduced from (\d+) lines? to (\d+)")
_ODD = re.compile(r"\bNone\b|\s{2,}\S|(?<!\.)\.\.(?!\.)|\bnan\b| ,| \.(?!\.)|:\.|, ?\.")
_VALUES = re.compile(r"\w+\[[\d, ]+\] is \S+, not ")
_INPUTS = re.compile(r"np\.(?:array|full|zeros|ones|arange|random)|^\w+ = \[", re.MULTILINE)
_LABEL = re.compile(r"\A\[Bug\]\[\w+\] ")
_NEEDS = re.compile(r"\A\n(?:Only s|S)een .*\.\n")
_PLACE = re.compile(
    r"\b(?=\w*[a-z])\w*[A-Z]\w*[A-Z]\w*"  # a pass, an error
    r"|\b\w+[._]\w+"  # a primitive, an operator, a function
    r"|\b(?:Blockize|Codegen|Code generation|Reindex|CUDA|LLVM|TVMScript|VTIL|BYOC|IR|C\+\+)"
    r"|\([a-z0-9 -]+\)"
)


def _dangles(head: str) -> bool:
    """Whether a title ends in a word that none may end in, but for what something fails on."""
    return bool(DANGLES.search(head)) and not head.endswith((" fails on", " crashes on"))


def faults_of(text: str, kind: str = "") -> Iterator[str]:
    """Yield the rules that a report, of a finding of `kind`, breaks."""
    first, _, rest = text.partition("\n")
    head = first.removeprefix("# ")
    said = _LABEL.sub("", head)
    if first == head or said == head:
        yield "the title has no label"
    if len(head) > TITLE:
        yield f"the title has {len(head)} characters"
    if not _PLACE.search(said):
        yield "the title names no pass, primitive, operator or step"
    if len(said.split()) < 3:
        yield "the title does not say what is wrong"
    if head.count("(") != head.count(")") or head[-1] in ":,;(" or _dangles(head):
        yield "the title breaks off"
    rest = _NEEDS.sub("", rest)
    if not rest.startswith("\n```python\n") and "TVM cannot print this program" not in rest:
        yield "the program does not come first"
    sections = [each for each in re.findall(r"^### (.*)$", _FENCED.sub("", text), re.MULTILINE) if each in SECTIONS]
    if sections != SECTIONS:
        yield f"its sections are {', '.join(sections)}"
    if "* needs-triage" not in text:
        yield "there is no triage label"
    prose = _FENCED.sub("", text)
    if path := _PATH.search(text):
        yield f"a path of this machine: {text[path.start() : path.end() + 30]!r}"
    if file := _FILE.search(_own_words(prose)):
        yield f"a file that a reader lacks: {file[0]}"
    if address := re.search(r"\b0x[0-9a-f]{8,}", prose):
        yield f"an address: {address[0]}"
    if noise := _NOISE.search(head + prose):
        yield f"a number with noise: {noise[0]}"
    if (lines := _REDUCED.search(prose)) and int(lines[1]) < 2 * int(lines[2]):
        yield f"it is hardly shorter: {lines[0]}"
    if kind == "wrong-code" and _VALUES.search(prose) and not _INPUTS.search(text):
        yield "the inputs are not told"
    if len(text) > CHARACTERS:
        yield f"GitHub does not take {len(text)} characters"
    yield from _ugly(prose.partition("\n")[2])


def _own_words(prose: str) -> str:
    """The prose without the files that the report itself has the reader save."""
    return re.sub(r"Save this as `[\w.]+`", "", prose)


def _ugly(prose: str) -> Iterator[str]:
    """Traces of sentences that were put together by a program."""
    for line in prose.splitlines():
        words = _CODE.sub("X", line)
        if re.search(
            r"\bNone\b|\s{2,}\S|(?<!\.)\.\.(?!\.)|\bnan\b| ,| \.(?!\.)|:\.|, ?\.", words
        ) and not words.startswith(" "):
            yield f"an odd sentence: {line[:100]!r}"


def main() -> int:
    """Render and check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--out", type=Path, metavar="FILE")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    told = parser.parse_args()
    bundles = [bundle for path in told.paths for bundle in bundles_in(path)][:: told.every]
    texts = {bundle: report_of(bundle) for bundle in bundles}
    broken = {bundle: list(faults_of(text, _kind(bundle))) for bundle, text in texts.items()}
    if told.out is not None:
        told.out.write_text("\n\n".join(f"<!-- {bundle.name} -->\n\n{text}" for bundle, text in texts.items()))
    for bundle, rules in broken.items():
        for rule in rules:
            print(f"{bundle}: {rule}")
    bad = sum(map(bool, broken.values()))
    print(f"{len(texts)} reports, {bad} of them break a rule")
    return int(bad > 0)


def _kind(bundle: Path) -> str:
    kinds = ("wrong-code", "invalid-ir", "ice-on-valid", "slow-code", "crash", "hang", "oom")
    return next((kind for kind in kinds if bundle.name.startswith(f"{kind}-")), "")


if __name__ == "__main__":
    sys.exit(main())
