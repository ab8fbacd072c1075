"""Makes the temporary folder of a script."""
import contextlib
import signal
import sys
import tempfile


def end(*_):
    # Once: another signal must not interrupt the cleaning.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)


@contextlib.contextmanager
def temporary_folder():
    """Yields a folder that is removed even if the script is ended by the time limit of the tests, a signal to their process group."""
    # Python runs no `finally` for a signal without a handler.
    signal.signal(signal.SIGTERM, end)
    with tempfile.TemporaryDirectory() as folder:
        yield folder
