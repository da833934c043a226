"""A Ray cluster on one machine, told by lines what to do: `head`, `add`, `remove NODE`. It ends with its input."""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster


def main() -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = []
    for line in sys.stdin:
        command, _, which = line.strip().partition(" ")
        if command == "add":
            nodes.append(cluster.add_node(num_cpus=1))
        elif command == "remove":
            cluster.remove_node(nodes[int(which)], allow_graceful=False)
        answer = cluster.address if command == "head" else str(len(nodes) - 1)
        sys.stdout.write(f"> {answer}\n")
        sys.stdout.flush()
    cluster.shutdown()


if __name__ == "__main__":
    main()
