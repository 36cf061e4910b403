"""Who is at the other end of a Unix socket, as the kernel knows it, not as it says itself."""

import os
import socket
import struct
import sys
from typing import NamedTuple

import psutil

from harness.errors import AxtrialError

_LOCAL_PEERCRED, _LOCAL_PEERPID = 1, 2
"""From sys/un.h of macOS."""


class PeerUnknown(AxtrialError):
    """The system does not say who is at the other end."""


class Peer(NamedTuple):
    """The process that connected, and its user."""

    pid: int
    uid: int


def peer_of(connection: socket.socket) -> Peer:
    """
    Raises:
        PeerUnknown: the connection has ended, or the system has no such question.
    """
    try:
        return _ask(connection)
    except (OSError, struct.error) as error:
        raise PeerUnknown("the system does not say who connects") from error


def _ask(connection: socket.socket) -> Peer:
    if sys.platform == "linux":
        pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    else:  # as macOS has it; other systems refuse
        _version, uid = struct.unpack("2I", connection.getsockopt(0, _LOCAL_PEERCRED, 76)[:8])
        (pid,) = struct.unpack("i", connection.getsockopt(0, _LOCAL_PEERPID, 4))
    return Peer(pid, uid)


def is_own(peer: Peer, child: int | None) -> bool:
    """Whether the peer is of this user, and the child or one of its descendants; `child` None: any of this user's."""
    if peer.uid != os.geteuid():
        return False
    if child is None or peer.pid == child:
        return True
    try:
        return any(one.pid == child for one in psutil.Process(peer.pid).parents())
    except psutil.Error:
        return False
