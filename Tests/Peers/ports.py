"""A port for a server that has to be told one."""
import random
import socket


def free_port():
    """Below the range from which the system gives ports to everybody else: nobody takes it before its server has it."""
    chooser = random.SystemRandom()
    while True:
        port = chooser.randrange(10_240, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
