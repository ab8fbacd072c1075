#!/usr/bin/env python3
"""A server that accepts connections slowly: slow_accept.py BACKLOG PAUSE. Prints its port; accepts one connection every PAUSE
seconds, and responds to pending requests in between. Exits when its standard input is closed."""
import select, socket, sys, time

BODY = b'{"id":12345,"name":"a teapot of fine porc","price":12.50}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY


def main(backlog, pause):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(backlog)
    listener.setblocking(False)
    print(listener.getsockname()[1], flush=True)
    poll, connections, next_accept = select.epoll(), {}, 0.0
    poll.register(sys.stdin.fileno(), select.EPOLLIN)
    while True:
        if time.monotonic() >= next_accept:
            try:
                connection, _ = listener.accept()
                connection.setblocking(False)
                connections[connection.fileno()] = connection
                poll.register(connection.fileno(), select.EPOLLIN)
            except BlockingIOError:
                pass
            next_accept = time.monotonic() + pause
        for descriptor, _ in poll.poll(pause):
            if descriptor == sys.stdin.fileno():
                return
            try:
                data = connections[descriptor].recv(65536)
                if data:
                    connections[descriptor].send(ANSWER * data.count(b"\r\n\r\n"))
                    continue
            except OSError:
                pass
            poll.unregister(descriptor)
            connections.pop(descriptor).close()


main(int(sys.argv[1]), float(sys.argv[2]))
