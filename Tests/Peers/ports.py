"""Chooses a port for a server that cannot bind port 0."""
import random
import socket


def free_port():
    """Returns a free port below the ephemeral range, so that no other process takes it before the server binds it."""
    chooser = random.SystemRandom()
    while True:
        port = chooser.randrange(10_240, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
