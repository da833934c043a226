"""Asking another Python how its TVM behaves on a bundle."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.core.observation import Exit
from tzerlike.core.package import PACKAGE


class Guest(AbstractContextManager["Guest"]):
    """A process of another Python with its TVM; leaving the context ends it.

    Of ours it sees the sources of tzerlike alone, so that everything else is its own. `environment` is all that
    it gets of environment variables.
    """

    def __init__(self, python: Path, environment: Mapping[str, str]) -> None:
        """UserError when there is no such Python, or no TVM in it."""
        self._sources = tempfile.TemporaryDirectory()
        (Path(self._sources.name) / "tzerlike").symlink_to(PACKAGE)
        self.python = python
        try:
            self._process = subprocess.Popen(
                [str(python), "-m", "tzerlike.findings.versions.guest"],
                # Nothing is imported from the working directory.
                env={
                    **environment,
                    "PYTHONPATH": self._sources.name,
                    "PYTHONSAFEPATH": "1",
                    "PYTHONDONTWRITEBYTECODE": "1",
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        except OSError as error:
            self._sources.cleanup()
            raise UserError(f"--python: {python}: {error.strerror}; name the python of an environment") from error
        hello = self._answer()
        if "tvm" not in hello:
            self.close()
            raise UserError(
                f"--python: {python}: {hello.get('fault', 'does not start')}; it needs apache-tvm, numpy and msgspec"
            )
        self.version = str(hello["tvm"])

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._sources.cleanup()

    def ask(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Have a child of the guest do one thing; TzerlikeError when that fails by our own fault."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(item) + "\n")
            self._process.stdin.flush()
        answer = self._answer()
        if not answer or answer.get("exit") == Exit.FAULT:
            raise TzerlikeError(f"the judge in {self.python} failed: {answer.get('message', 'it ended')}")
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {}
        return answer
