"""A Ray cluster on one machine: a process that is told by lines what to do, and ends with its input.

They are `head`, `client`, `add OPTIONS`, and `remove NODE`; OPTIONS is what Ray calls the node's parameters, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.e2e.conftest import ROOT, environment


class Cluster:
    """A head without cores, and nodes of one core each, in a process of their own."""

    def __init__(self, nodes: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=ROOT,
            env=environment(PYTHONPATH=os.pathsep.join([str(ROOT), *filter(None, sys.path)])),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = self._ask("head")
        self.client = self._ask("client")
        self.nodes = [self.add() for _ in range(nodes)]
        self._joined: list[subprocess.Popen[bytes]] = []

    def add(self, **options: object) -> str:
        return self._ask(f"add {json.dumps(options)}")

    def remove(self, node: str) -> None:
        """Take a node away as a power cut would."""
        self._ask(f"remove {node}")

    def join(self, python: Path) -> None:
        """Have a node come as on another machine: `ray start` in an environment of its own."""
        words = [python, "-m", "ray.scripts.scripts", "start", "--address", self.address, "--num-cpus", "1", "--block"]
        around = {name: value for name, value in environment().items() if name != "PYTHONPATH"}
        where = python.parents[1]
        self._joined.append(subprocess.Popen(words, cwd=where, env=around, start_new_session=True))

    def close(self) -> None:
        for process in self._joined:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def _ask(self, command: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return next(line for line in self._process.stdout if line.startswith("> ")).removeprefix("> ").strip()


def python_without(where: Path, *packages: str) -> Path:
    """Make a Python environment with all that this one has but what begins like this; returns its interpreter."""
    venv.create(where, symlinks=True)
    site = next(where.glob("lib/python*/site-packages"))
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(packages):
            (site / path.name).symlink_to(path)
    return where / "bin" / "python"


def main() -> None:
    from ray.cluster_utils import Cluster as RayCluster

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    head = {"num_cpus": 0, "include_dashboard": False, "ray_client_server_port": port}
    cluster = RayCluster(initialize_head=True, head_node_args=head)
    nodes = []
    for line in sys.stdin:
        command, _, which = line.strip().partition(" ")
        if command == "add":
            nodes.append(cluster.add_node(**{"num_cpus": 1, **json.loads(which or "{}")}))
        elif command == "remove":
            cluster.remove_node(nodes[int(which)], allow_graceful=False)
        answers = {"head": cluster.address, "client": f"ray://{cluster.address.partition(':')[0]}:{port}"}
        sys.stdout.write(f"> {answers.get(command, len(nodes) - 1)}\n")
        sys.stdout.flush()
    cluster.shutdown()


if __name__ == "__main__":
    main()
