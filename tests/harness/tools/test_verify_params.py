"""The bounds of the eight tools' parameters, at and beyond each edge."""

from typing import Any

import pytest
from pydantic import JsonValue

from harness.tools.verify import BadParameters, checked
from harness.tools.verify_params import TOOLS, bound_ms, schema

GOOD: list[tuple[str, dict[str, JsonValue]]] = [
    ("browser_goto", {"url": "http://a.test"}),
    ("browser_goto", {"url": "HTTPS://A.test/" + "x" * 2_033, "timeout": 100}),
    ("browser_eval", {"expression": "x" * 10_000, "timeout": 120_000}),
    ("browser_console", {}),
    ("browser_console", {"limit": 1_000, "filter": "", "clear": False}),
    ("browser_network", {"limit": 1, "urlFilter": "x" * 1_000, "status": 599, "verbose": True}),
    ("browser_network", {"includeHeaders": ["x"] * 50}),
    ("browser_fill", {"selector": "#a", "value": ""}),
    ("browser_fill", {"selector": "x" * 2_048, "value": "ä" * 100_000}),
    ("browser_click", {"selector": "text=Go"}),
    ("browser_screenshot", {"fullPage": True}),
    ("browser_close", {}),
]

BAD: list[tuple[str, dict[str, JsonValue]]] = [
    ("browser_goto", {}),
    ("browser_goto", {"url": ""}),
    ("browser_goto", {"url": "ftp://a.test"}),
    ("browser_goto", {"url": "javascript:alert(1)"}),
    ("browser_goto", {"url": "file:///etc/passwd"}),
    ("browser_goto", {"url": "a.test"}),
    ("browser_goto", {"url": "http://a.test/\0"}),
    ("browser_goto", {"url": "http://a.test/" + "x" * 2_048}),
    ("browser_goto", {"url": "http://a.test", "timeout": 99}),
    ("browser_goto", {"url": "http://a.test", "timeout": 120_001}),
    ("browser_goto", {"url": "http://a.test", "timeout": 1_000.5}),
    ("browser_goto", {"url": "http://a.test", "timeout": True}),
    ("browser_goto", {"url": "http://a.test", "timeout": "1000"}),
    ("browser_goto", {"url": "http://a.test", "more": 1}),
    ("browser_eval", {"expression": " \n"}),
    ("browser_eval", {"expression": "x" * 10_001}),
    ("browser_console", {"limit": 0}),
    ("browser_console", {"limit": 1_001}),
    ("browser_console", {"filter": "x" * 1_001}),
    ("browser_console", {"filter": "\0"}),
    ("browser_console", {"clear": 1}),
    ("browser_console", {"clear": "false"}),
    ("browser_console", {"timeout": 1_000}),
    ("browser_network", {"status": 99}),
    ("browser_network", {"status": 600}),
    ("browser_network", {"verbose": None}),
    ("browser_network", {"includeHeaders": ["x"] * 51}),
    ("browser_network", {"includeHeaders": ["x" * 101]}),
    ("browser_network", {"includeHeaders": [" "]}),
    ("browser_network", {"includeHeaders": "accept"}),
    ("browser_fill", {"selector": "#a"}),
    ("browser_fill", {"selector": "#a", "value": "x" * 100_001}),
    ("browser_fill", {"selector": "#a", "value": "€" * 70_000}),
    ("browser_fill", {"selector": "#a", "value": "\0"}),
    ("browser_fill", {"selector": "x" * 2_049, "value": ""}),
    ("browser_click", {"selector": " "}),
    ("browser_click", {"selector": "a\0"}),
    ("browser_screenshot", {"fullPage": "yes"}),
    ("browser_screenshot", {"full_page": True}),
    ("browser_close", {"owner": "parent"}),
    ("browser_nothing", {}),
]


@pytest.mark.parametrize(("tool", "params"), GOOD, ids=[f"{tool}-{n}" for n, (tool, _) in enumerate(GOOD)])
def test_what_is_within_the_bounds_is_taken(tool: str, params: dict[str, JsonValue]) -> None:
    assert type(checked(tool, params)) is TOOLS[tool]


@pytest.mark.parametrize(("tool", "params"), BAD, ids=[f"{tool}-{n}" for n, (tool, _) in enumerate(BAD)])
def test_what_is_beyond_them_is_refused_in_one_sentence(tool: str, params: dict[str, JsonValue]) -> None:
    with pytest.raises(BadParameters) as refused:
        checked(tool, params)
    assert ("\n" not in refused.value.message, len(refused.value.message) < 400) == (True, True)


@pytest.mark.parametrize("params", [None, [], "x", 7])
def test_parameters_are_an_object(params: object) -> None:
    with pytest.raises(BadParameters):
        checked("browser_close", params)


def test_addresses_and_header_names_are_normalized() -> None:
    goto: Any = checked("browser_goto", {"url": "HTTP://EXÄMPLE.test:80/a b"})
    network: Any = checked("browser_network", {"includeHeaders": [" Accept ", "X-Id"]})
    assert (goto.url, network.include_headers) == ("http://xn--exmple-cua.test/a%20b", ["accept", "x-id"])


@pytest.mark.parametrize(
    ("tool", "params", "bound"),
    [
        ("browser_goto", {}, 30_000),
        ("browser_goto", {"timeout": 120_000}, 120_000),
        ("browser_goto", {"timeout": 120_001}, 30_000),
        ("browser_goto", {"timeout": True}, 30_000),
        ("browser_console", {"timeout": 120_000}, 10_000),
        ("browser_nothing", {"timeout": 120_000}, 10_000),
    ],
)
def test_a_waiter_knows_the_bound_of_a_call(tool: str, params: dict[str, JsonValue], bound: int) -> None:
    assert bound_ms(tool, params) == bound


def test_a_model_is_shown_the_names_that_are_taken() -> None:
    properties = schema("browser_network")["properties"]
    assert isinstance(properties, dict)
    assert list(properties) == ["limit", "urlFilter", "status", "verbose", "includeHeaders", "clear"]
