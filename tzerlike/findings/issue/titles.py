"""Titles of issues: within 80 characters, and whole. One that is too long says less; none breaks off in the middle."""

from __future__ import annotations

import re

TITLE_LENGTH = 80
"""Characters of an issue's title, with what all have in front."""

_ADDRESS = re.compile(r"\(0x[0-9a-f]{6,}\)")

_ALWAYS = (
    (r"(does not compile|round trip fails): error: ", r"\1: "),
    (r'ir\.Op\(.*?name="([^"]+)".*?support_level=\d+\)', r"\1"),
    (r" as (?:ir|I)\.Range\b.* conflicts.*", " conflicts"),
    (r"(\w+)( fails)?: \1 ", r"\1\2: "),
    (r": Checked failed\. Minuend 's value is (\w+) and .*", r": unsigned subtraction from \1 underflows"),
    (r": Checked failed\. ", ": "),
    (r"more than one instance of overloaded function (\w+) matches the argument list", r"call of \1 is ambiguous"),
    (r"no suitable (?:user-defined )?conversion from \"?(\w+)\"? to \"?(\w+)\"? exists", r"no conversion of \1 to \2"),
    (r"\(SIGABRT: Check failed: \((.*)\) is false:?\)$", r"(check \1)"),
    (r"\(SIGABRT: what\(\):\)", "(SIGABRT)"),
    (r"\.as_or_throw<\w+>\(\)", ""),
    (r" leaves IR that [^:]+ (?:fails|crashes) on: it is ill-formed$", " leaves ill-formed IR"),
    (r" leaves ill-formed IR: variable (\w+) has been used before definition!$", r" leaves \1 undefined"),
    (r" leaves ill-formed IR: In PrimFunc \w+ variables \((\w+)[\w, ]*\) are used, .*", r" leaves \1 undefined"),
    (r" leaves IR that [^:]+ (?:fails|crashes) on: (\w+) of the block [\w.]+, whose index .*$", r" leaves a stale \1"),
    (r" fails: '([^']*)'$", r" fails: \1"),
    (r" leaves IR that ([^:]+ (?:fails|crashes) on): ill-formed Relax$", r" leaves ill-formed Relax that \1"),
)
"""What tells nothing, or the same thing twice, however short a title is."""

_SYMBOLIC = r"(?!-?\d)[^,()]*(?:\((?:[^()]|\([^()]*\))*\))?[^,()]*"
"""An extent that is no number, with parentheses within parentheses at most."""

_SHORTER = (
    (
        r"(?: fails)?: Buffer index .* dtype (\w+), but previous index for .* access used index type (\w+)",
        r" fails on indices of \2 and \1",
    ),
    (r" leaves ill-formed Relax that .*", " leaves ill-formed Relax"),
    (r" type mismatch: expected .*, given (\S+)$", r" type mismatch: given \1"),
    (r": The padding factor .* is not divisible by .*", ": the padding factor is not divisible"),
    (
        r" leaves ill-formed IR: Load/Store of buffer (\w+) *occurred before its declaration$",
        r" leaves a use of \1 before its declaration",
    ),
    (r" leaves a use of \w+ before its declaration$", " leaves a buffer used before its declaration"),
    (r": program with (\S+ and \S+)$", r": \1"),
    (r" in \w+: check ", ": check "),
    (r"Literal value \S+ ", "Literal "),
    (r" leaves an ill-formed module: (.*) is not defined$", r" leaves \1 undefined"),
    (r" leaves an ill-formed module: ", " leaves ill-formed IR: "),
    (r": Cannot convert from type (\S+) to ", r": Cannot convert \1 to "),
    (r"\bcheck (?:ffi::)?(\w+)\(\)\(", r"check \1("),
    (r"\b(?:s_tir|tirx)\.(?=[A-Z])", ""),
    (r" \(0x[0-9a-f]+ vs\. 0x[0-9a-f]+\)", ""),
    (r" leaves IR that [^:]+ (?:fails|crashes) on: ", " leaves IR with "),
    (r" leaves ill-typed IR: ", " leaves IR with "),
    (r"\b(?:tirx|prim)\.(?=[a-z])", ""),
    (r" leaves IR with \w+ of shape (\([^()]{,24}\))$", r" leaves a buffer of shape \1"),
    (rf" leaves IR with \w+ of shape \((?:-?\d+, )*({_SYMBOLIC})(?:, -?\d+)*,?\)$", r" leaves an extent of \1"),
    (r" leaves IR with (\w+) of shape \(.{30,}", r" leaves IR with bad extents of \1"),
    (r' leaves IR with T\.Cast\("\w+", T\.Cast\("(\w+)".*', r" leaves IR with a cast to \1 and back"),
    (r' leaves IR with T\.Cast\("(\w+)".*', r" leaves IR with a cast to \1"),
    (r" leaves IR with (T\.\w+)\(.*", r" leaves IR with \1"),
    (r"(?<=\w)\(\w+(?:, \w+)*\) -> ", "(...) -> "),
    (r" leaves IR with a buffer with an extent, stride or offset of (\S+)$", r" leaves a buffer sized by \1"),
    (r" leaves IR with a buffer of a negative extent$", " leaves a buffer of negative extent"),
    (r"(the lowered kernel [^:]*): .*", r"\1"),
    (r"the lowered kernel ", "kernel "),
    (r"Code generation\b", "Codegen"),
    (r" where there is ", " to "),
    (r"LLVM's verifier: ", ""),
    (r"TVMScript does not round-trip: the parser raises: ", "TVMScript is not parsed back: "),
    (r"parsed back: error: ", "parsed back: "),
    (r"(TVMScript is not printed: T\.\w+)\(.*", r"\1(...)"),
    (r"got an unexpected keyword argument", "has no argument"),
    (r"TVMScript is not parsed back: ", "TVMScript is not parsed: "),
    (r"TVMScript does not round-trip: ", "TVMScript round trip: "),
    (r"the compiled function\b", "the function"),
    (r" in (?:\w+::)+(\w+::\w+)$", r" in \1"),
    (r" \((?:which|also|with) [^()]*\)", ""),
    (r": The (?=[a-z])", ": "),
    (
        r"BufferType is (\d+)-dimensional, cannot be indexed with .*(\d+)-dim.*",
        r"\2 indices of a \1-dimensional buffer",
    ),
    (r" now only supports ", " supports only "),
    (r" that has (?=[A-Z])", " with "),
    (r"Buffer alias source \w+", "buffer alias source"),
    (r"Dimension of [^(]*\((.+)\) must equal dimension of [^(]*\(\1\)\.?$", r"\1 is not found equal to itself"),
    (r"Dimension of (\w+\[\d+\]) \(.*\) must equal dimension of (\w+\[\d+\]) .*", r"\1 and \2 differ"),
    (r" (?:for now|yet)$", ""),
    (r"the (\w+) (?:should|must) be inserted under at least one For or While stmts", r"\1 outside of any loop"),
    (r"\bmodule '(\w+\.)*(\w+)' has no", r"\2 has no"),
    (r" fails: ", ": "),
    (r" fails on ((?:an? )?[\w.]+(?: and [\w.]+)?): ", r" on \1: "),
    (r" on (?:nn|image|vision|grad)\.(\w+): ", r" on \1: "),
    (
        r'(?:The )?buffer "(\w+)" is \w+ in the block but is not in the block\'s signature.*',
        r"\1 is not in its block's signature",
    ),
    (r"\b\w{8,} is not in its block's signature", "a buffer is not in its block's signature"),
    (
        r"dtype of the extent of an IterVar \((\w+)\) must match its associated Var's dtype \((\w+)\)",
        r"extent of an IterVar is \1, its Var \2",
    ),
    (r"Trying to update var '\w+' with ", "var updated with "),
    (r" a different (?:const bound|(?:minimum|maximum) value): original=.*$", " different bounds"),
    (r"unsigned integer type ", ""),
    (r"ScheduleError: An error occurred in the schedule primitive ", "ScheduleError in "),
    (r' in function I\.GlobalVar\("\w+"\)', ""),
    (r"T\.int\d+\((-?\d+)\)", r"\1"),
    (r"could not be found", "not found"),
    (r"CUDA source( for [\w.]+)? does not compile: (?:identifier )?", r"Bad CUDA source\1: "),
    (r"(Bad CUDA source.*): \"?(\w+)\"? is undefined$", r"\1: no \2"),
    (r"(?<=\w) (?:is expected to be|should be) ", " must be "),
    (r": the function dies \((\w+)\)$", r": \1"),
    (r"(Wrong code \([^)]{30,}\)): \w+(?:\[[^]]*\])? is (\S+), not (\S+)$", r"\1: \2, not \3"),
    (r"(Wrong code \([^)]*\)): \w+\[[^]]*\] is (.*, not .*)$", r"\1: \2"),
    (r"\](.*Wrong code.*: \w+\[[^]]*\]) is .*, not .*$", r"]\1 is wrong"),
    (r"(Wrong code \([^)]*\)): .*", r"\1"),
    (r"(: check [^():]+) \(\S+ vs\. \S+\)$", r"\1"),
    (r"crashes \(SIGABRT: .*\)$", "crashes (SIGABRT)"),
    (r"crashes \(check .*\)$", "crashes (SIGABRT)"),
)
"""What is left out of a title, one after the other, until it is short enough."""

_ENDS = (
    r"[.;] (?=[A-Z])|; ",
    r", (?:but|and|or|so|since|because|check|indices|here)\b|: (?=[a-z0-9])|, |\s+\((?!\w+ vs\.)",
    r" (?:but|while|because|since|if|when|unless|before|after|instead) ",
    r" (?:in|for|at|implied|under|by|or|and) | \w{24,}$",
)
"""Where a sentence may end, the best first: behind it, before what explains, before a clause, before a place."""

DANGLES = re.compile(r" (?:with|on|of|for|to|in|at|a|an|the|is|has|and|or|not)$")
"""A word that no sentence ends in."""

_TELLING = 16
"""Characters that are left of what was said, at least."""


def title(label: str, text: str, instead: str = "") -> str:
    """The title of an issue, without what tells least where it is too long.

    Where no part of what is said is short enough and stands alone, `instead` takes its place.
    """
    whole = f"[Bug][{label}] {_ADDRESS.sub('', ' '.join(text.split()))}"
    for pattern, shorter in _ALWAYS:
        whole = re.sub(pattern, shorter, whole)
    whole = whole.rstrip(":. ")
    for pattern, shorter in _SHORTER:
        if len(whole) <= TITLE_LENGTH:
            return whole
        whole = re.sub(pattern, shorter, whole).rstrip(":. ")
    if len(whole) <= TITLE_LENGTH:
        return whole
    said = whole.find(": ", whole.find("] ")) + 2
    condition = whole.startswith("check ", said)
    for pattern in () if condition else _ENDS:
        places = [match.start() for match in re.finditer(pattern, whole)]
        good = [place for place in places if place <= TITLE_LENGTH and place - said >= _TELLING and said > 1]
        good = [place for place in good if whole[:place].count("(") == whole[:place].count(")")]
        good = [place for place in good if not DANGLES.search(whole[:place].rstrip(" ,;:."))]
        if good:
            return whole[: good[-1]].rstrip(" ,;:.")
    inner = re.sub(r" fails a check in (?:\w+::)*(\w+)$", r" fails in \1", instead)
    for other in (f"[Bug][{label}] {words}" for words in (instead, inner, re.sub(r" in \S+$", "", instead))):
        if instead and len(other) <= TITLE_LENGTH:
            return other
    head = whole[: said - 2] if 1 < said <= TITLE_LENGTH + 2 else ""
    return _ended(head or whole[:TITLE_LENGTH].rpartition(" ")[0].rstrip(" ,;:(."))


def _ended(head: str) -> str:
    """A title that was cut off, up to the last word that one may end in."""
    while dangling := DANGLES.search(head):
        head = head[: dangling.start()]
    return re.sub(" leaves IR$", " leaves wrong IR", head)
