#!/usr/bin/python3
"""The wire between two guests: a switch with two ports.

    wire.py SOCKET SOCKET

Listens on two Unix sockets, for one QEMU each (-netdev stream), and carries frames from
one to the other. It outlives the guests, and that is its purpose: QEMU stops sending
when the peer's end closes or is not read, with a frame half sent, and the survivor's
driver then waits for that frame for ever instead of for its peer. Here, what cannot be
delivered is taken and dropped, as on a real network.

Orders are lines on standard input, each answered by a line "ok": cut (silently drop all
frames) and mend. The end of standard input ends the program.
"""

import os
import selectors
import socket
import sys

CHUNK = 256 * 1024
# Far above what two guests have in flight, so only a dead or frozen guest loses frames.
BUFFER_MAX = 64 * 1024 * 1024

selector = selectors.DefaultSelector()
wire_is_cut = False


class Port:
    """One guest's end: bytes received but not yet a whole frame, frames yet to be sent."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        selector.register(self.listener, selectors.EVENT_READ, self.on_connect)
        self.peer = None
        self.guest = None
        self.received = bytearray()
        self.to_send = bytearray()

    def on_connect(self, _):
        guest, _ = self.listener.accept()
        self.close()
        guest.setblocking(False)
        self.guest = guest
        selector.register(guest, selectors.EVENT_READ, self.on_event)

    def on_event(self, mask):
        try:
            if mask & selectors.EVENT_READ:
                self.receive()
            if self.guest and mask & selectors.EVENT_WRITE:
                self.send()
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def close(self):
        if self.guest:
            selector.unregister(self.guest)
            self.guest.close()
        self.guest = None
        self.received.clear()
        self.to_send.clear()

    def receive(self):
        data = self.guest.recv(CHUNK)
        if not data:
            self.close()
            return
        self.received += data
        whole = self.whole_frames()
        if not wire_is_cut:
            self.peer.deliver(self.received[:whole])
        del self.received[:whole]

    def whole_frames(self):
        """How many of the received bytes are whole frames: length, 4 bytes, and payload."""
        end = 0
        while end + 4 <= len(self.received):
            after = end + 4 + int.from_bytes(self.received[end : end + 4], "big")
            if after > len(self.received):
                break
            end = after
        return end

    def deliver(self, frames):
        if not frames or not self.guest:
            return
        if len(self.to_send) + len(frames) > BUFFER_MAX:
            return
        self.to_send += frames
        try:
            self.send()
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def send(self):
        try:
            del self.to_send[: self.guest.send(self.to_send[:CHUNK])]
        finally:
            mask = selectors.EVENT_READ
            if self.to_send:
                mask |= selectors.EVENT_WRITE
            selector.modify(self.guest, mask, self.on_event)


def on_order(_):
    global wire_is_cut
    orders = os.read(0, 4096)
    if not orders:
        sys.exit(0)
    for order in orders.split():
        wire_is_cut = order == b"cut"
        print("ok", flush=True)


left, right = Port(sys.argv[1]), Port(sys.argv[2])
left.peer, right.peer = right, left
selector.register(0, selectors.EVENT_READ, on_order)
print("ok", flush=True)
while True:
    for key, mask in selector.select():
        # An earlier event of this round may have closed the port.
        if key.fileobj == 0 or key.fileobj.fileno() >= 0:
            key.data(mask)
