#!/usr/bin/env python3
"""Stands in for the native child: speaks its protocol, and deviates at one step as the file `plan.json` beside it says.

A plan is `{"step": STEP, "fault": FAULT}`. A step is an action, or one of `start`, `version` and `socket`.
"""

import json
import os
import signal
import socket
import sys
import urllib.request
from pathlib import Path
from typing import Any

VERSION = "9.8.7"
FOLDER = Path(os.environ["AGENT_BROWSER_SOCKET_DIR"])
PLAN = json.loads(Path(__file__).with_name("plan.json").read_text())


def fault(step: str) -> str | None:
    """What this step does wrong."""
    return str(PLAN["fault"]) if PLAN.get("step") == step else None


class Child:
    """What the stand-in knows."""

    def __init__(self) -> None:
        self.stream = True
        self.address = ""

    def data(self, action: str, request: dict[str, Any]) -> dict[str, Any]:
        """The data of a reply that is right, but for the faults that data can have."""
        wrong = fault(action)
        match action:
            case "stream_disable" if wrong != "ignored":
                self.stream = False
                if wrong != "file stays":
                    (FOLDER / "s.stream").unlink()
            case "stream_status":
                return {"enabled": self.stream, "port": 1 if wrong == "port" else None}
            case "launch":
                self.launch(str(request["cdpUrl"]), wrong)
            case "tab_list":
                return {"tabs": self.tabs(wrong)}
            case "snapshot":
                return {"snapshot": "x" * PLAN.get("chars", 1)}
            case _:
                pass
        return {}

    def launch(self, address: str, wrong: str | None) -> None:
        if wrong == "own browser":
            (FOLDER / "s.engine").touch()
        if wrong == "opens a tab":
            http = address.replace("ws://", "http://").partition("/devtools/")[0]
            with urllib.request.urlopen(urllib.request.Request(f"{http}/json/new?about:blank", method="PUT")):
                pass

    def tabs(self, wrong: str | None) -> object:
        pinned = json.loads((FOLDER / "s.target").read_text())["targetId"]
        if wrong == "no list":
            return "none"
        return [7, {"targetId": "other", "active": wrong == "other"}, {"targetId": pinned, "active": wrong is None}]


def reply(child: Child, request: dict[str, Any]) -> bytes:
    """One line, right or wrong."""
    action = request["action"]
    line = json.dumps({"id": request["id"], "success": True, "data": child.data(action, request)}).encode() + b"\n"
    match fault(action):
        case "refused":
            answer = {"id": request["id"], "success": False, "error": "no", "code": "page text"}
            return json.dumps(answer).encode() + b"\n"
        case "broken":
            return b'{"id": "1", "succ\n'
        case "list":
            return b"[]\n"
        case "deep":
            return b"[" * 200_000 + b"\n"
        case "wrong id":
            return line.replace(b'"id": "', b'"id": "9')
        case "half":
            return line[:-5]
        case _:
            return line


def serve(listener: socket.socket) -> None:
    """One connection, until it or we end."""
    connection, _ = listener.accept()
    child = Child()
    with connection, connection.makefile("rb") as lines:
        for line in lines:
            request = json.loads(line)
            wrong = fault(request["action"])
            if wrong == "deaf":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if wrong in ("deaf", "silent"):
                signal.pause()
            connection.sendall(reply(child, request))
            if wrong == "half":
                return


def main() -> None:
    """As the native child: files, socket, answers."""
    if fault("start") == "exits":
        sys.exit(3)
    (FOLDER / "s.stream").write_text("1")
    if fault("version") != "missing":
        (FOLDER / "s.version").write_text("9.8.6" if fault("version") == "other" else VERSION)
    if fault("socket") == "none":
        signal.pause()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(FOLDER / "new"))
        listener.listen()
        (FOLDER / "new").rename(FOLDER / "s.sock")
        serve(listener)


main()
