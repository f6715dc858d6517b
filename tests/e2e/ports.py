"""Ports for servers that a test starts."""

import socket


def free_port(host: str = "127.0.0.1") -> int:
    """One that nobody has now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
