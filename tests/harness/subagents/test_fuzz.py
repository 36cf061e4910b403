"""Frames and messages under a fuzzer that is guided by coverage: no crash, no hang, no growth."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.subagents.frames import encode
from harness.subagents.messages import Call, Cancel, Hello, Ownership, Refused, Reply, Report, Result, Wanted

ROOT = Path(__file__).resolve().parents[3]
FUZZ_S = 45
BOUND_S = 60
MAX_RSS_MB = 512
MAX_LEN = 4_096
ONE_S = 5
TOKEN, OWNER = "t" * 64, "child-1"

SEEDS = (
    Hello(token=TOKEN, owner=OWNER),
    Call(token=TOKEN, owner=OWNER, request_id="1", payload=Wanted(tool="browser_eval", params={"expression": "1"})),
    Cancel(token=TOKEN, owner=OWNER, request_id="1"),
    Report(token=TOKEN, owner=OWNER, payload={"verdict": [1, None, "fine"]}),
    Ownership(owner=OWNER),
    Refused(message="no"),
    Reply(request_id="1", owner=OWNER, ok=True, result=Result(text="1", details={"result": 1})),
)


@pytest.mark.soak
@pytest.mark.timeout(120)
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not built for this system")
def test_no_bytes_crash_or_hang_what_reads_them(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(encode(seed.wire()))
    bounds = (f"-max_total_time={FUZZ_S}", f"-max_len={MAX_LEN}", f"-rss_limit_mb={MAX_RSS_MB}", f"-timeout={ONE_S}")
    command = [sys.executable, str(Path(__file__).with_name("fuzz.py")), *bounds, str(corpus)]
    environment = {"PYTHONPATH": os.pathsep.join((str(ROOT), *sys.path))}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    assert (done.returncode, "\nDone " in done.stderr) == (0, True), done.stderr[-2_000:]
