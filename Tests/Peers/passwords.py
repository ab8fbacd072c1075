#!/usr/bin/env python3
"""httpbin, which asks for passwords: `/digest-auth/QOP/USER/PASSWORD/ALGORITHM/STALE_AFTER` and `/basic-auth/USER/PASSWORD`.

Prints {"ports": {"good": port}, "folder": ""} and exits when its standard input is closed.
"""

import json
import logging
import os
import sys
import threading

logging.disable(logging.CRITICAL)

from httpbin import app
from werkzeug.serving import make_server

server = make_server("127.0.0.1", 0, app, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(json.dumps({"ports": {"good": server.server_port}, "folder": ""}), flush=True)
sys.stdin.read()
os._exit(0)
