"""A Ray cluster on one machine, told by lines what to do: `head`, `client`, `add OPTIONS`, `remove NODE`.

It ends with its input. OPTIONS is what Ray calls the node's parameters, as JSON.
"""

from __future__ import annotations

import json
import socket
import sys

from ray.cluster_utils import Cluster


def main() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    head = {"num_cpus": 0, "include_dashboard": False, "ray_client_server_port": port}
    cluster = Cluster(initialize_head=True, head_node_args=head)
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
