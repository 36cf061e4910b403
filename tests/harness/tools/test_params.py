"""The tools' parameters: strict, bounded, and the same as the schemas that a model is shown."""

from typing import Any

import pytest
from pydantic import ValidationError

from harness.models.script import Step
from harness.tools.params import TOOLS, schemas, tools

GOOD: list[tuple[str, dict[str, Any]]] = [
    ("open", {"url": "http://a.test/b?c#d"}),
    ("open", {"url": "https://" + "a" * 8_184}),
    ("observe", {}),
    ("screenshot", {}),
    ("click", {"ref": "e" * 64}),
    ("click", {"x": 0.0, "y": 719.5}),
    ("type", {"ref": "e", "text": ""}),
    ("type", {"ref": "e", "text": "a" * 100_000}),
    ("select_option", {"ref": "e", "option": "A"}),
    ("select_option", {"ref": "e", "option": ["A", "B"]}),
    ("press_key", {"key": "Enter"}),
    ("scroll", {"direction": "down"}),
    ("scroll", {"direction": "up", "amount": 100}),
    ("scroll", {"direction": "up", "amount": 2_000}),
    ("upload", {"path": "a"}),
    ("upload", {"path": "a" * 4_096, "ref": "e"}),
    ("tabs", {"action": "list"}),
    ("tabs", {"action": "open"}),
    ("tabs", {"action": "open", "url": "http://a.test/"}),
    ("tabs", {"action": "select", "target_id": "A" * 64}),
    ("tabs", {"action": "close", "target_id": "A"}),
    ("takeover", {"action": "request"}),
    ("takeover", {"action": "await", "timeout_ms": 600_000}),
    ("wait", {}),
    ("wait", {"ms": 0}),
    ("wait", {"ms": 10_000}),
    ("dialog", {"accept": True}),
    ("dialog", {"accept": False, "text": "a"}),
]

BAD: list[tuple[str, dict[str, Any]]] = [
    ("open", {}),
    ("open", {"url": "file:///etc/passwd"}),
    ("open", {"url": "javascript:alert(1)"}),
    ("open", {"url": "http://a b"}),
    ("open", {"url": "http://a\n"}),
    ("open", {"url": "https://" + "a" * 8_185}),
    ("observe", {"full": True}),
    ("click", {"ref": ""}),
    ("click", {"ref": "e" * 65}),
    ("click", {"ref": 1}),
    ("click", {"ref": "e", "double": True}),
    ("click", {}),
    ("click", {"x": 1.0}),
    ("click", {"x": 1.0, "y": -1.0}),
    ("click", {"x": float("nan"), "y": 1.0}),
    ("click", {"x": float("inf"), "y": 1.0}),
    ("click", {"ref": "e", "x": 1.0, "y": 1.0}),
    ("click", {"ref": "e", "x": 1.0}),
    ("type", {"ref": "e"}),
    ("type", {"ref": "e", "text": None}),
    ("type", {"ref": "e", "text": "a" * 100_001}),
    ("type", {"ref": "e", "text": "\ud800"}),
    ("select_option", {"ref": "e", "option": 1}),
    ("select_option", {"ref": "e", "option": "\udfff"}),
    ("select_option", {"ref": "e", "option": ["A", "\udfff"]}),
    ("select_option", {"ref": "e", "option": "a" * 1_001}),
    ("select_option", {"ref": "e", "option": []}),
    ("select_option", {"ref": "e", "option": ["a"] * 101}),
    ("press_key", {"key": ""}),
    ("press_key", {"key": "a" * 21}),
    ("scroll", {"direction": "left"}),
    ("scroll", {"direction": "up", "amount": 99}),
    ("scroll", {"direction": "up", "amount": 2_001}),
    ("scroll", {"direction": "up", "amount": 500.0}),
    ("upload", {"path": ""}),
    ("tabs", {}),
    ("tabs", {"action": "drop"}),
    ("tabs", {"action": "select"}),
    ("tabs", {"action": "list", "target_id": "A"}),
    ("tabs", {"action": "open", "url": "file:///a"}),
    ("tabs", {"action": "close", "target_id": "A" * 65}),
    ("tabs", {"action": "close", "target_id": "A", "url": "http://a.test/"}),
    ("takeover", {"action": "await", "timeout_ms": 600_001}),
    ("takeover", {"action": "end"}),
    ("wait", {"ms": -1}),
    ("wait", {"ms": 10_001}),
    ("wait", {"ms": True}),
    ("wait", {"ms": "5"}),
    ("dialog", {"accept": 1}),
    ("dialog", {}),
]


@pytest.mark.parametrize(("tool", "arguments"), GOOD)
def test_what_fits(tool: str, arguments: dict[str, Any]) -> None:
    assert TOOLS[tool].model_validate(arguments).model_dump(exclude_unset=True) == arguments


@pytest.mark.parametrize(("tool", "arguments"), BAD)
def test_what_does_not_fit(tool: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TOOLS[tool].model_validate(arguments)


def test_the_schemas_are_those_of_the_models() -> None:
    shown = {str(schema["name"]): schema for schema in schemas(person=True)}
    assert list(shown) == list(TOOLS)
    assert shown["wait"] == {
        "name": "wait",
        "description": "Wait for late content.",
        "parameters": {
            "additionalProperties": False,
            "description": "Wait for late content.",
            "properties": {"ms": {"default": 1000, "maximum": 10000, "minimum": 0, "title": "Ms", "type": "integer"}},
            "title": "Wait",
            "type": "object",
        },
    }
    assert {name for name, schema in shown.items() if schema["parameters"]["additionalProperties"]} == set()  # type: ignore[index,call-overload]


@pytest.mark.parametrize("url", ["file:///", "http://a b", "http://", "javascript:alert(1)", "http://a\n", ""])
@pytest.mark.parametrize(("tool", "arguments"), [("open", {}), ("tabs", {"action": "open"})])
def test_an_address_that_is_not_opened_is_told_in_words(tool: str, arguments: dict[str, Any], url: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TOOLS[tool].model_validate({**arguments, "url": url})
    said = [(error["loc"], error["msg"]) for error in refused.value.errors()]
    sentence = "Value error, only http:// and https:// addresses without blanks are opened"
    assert said == [(("url",), sentence)]


def test_the_schema_of_an_address_has_its_form() -> None:
    form = {"maxLength": 8_192, "pattern": r"^https?://[^\s]+$", "type": "string"}
    shown = {str(schema["name"]): schema for schema in schemas(person=True)}
    assert shown["open"]["parameters"]["properties"]["url"] == {**form, "title": "Url"}  # type: ignore[index,call-overload]
    assert shown["tabs"]["parameters"]["properties"]["url"]["anyOf"] == [form, {"type": "null"}]  # type: ignore[index,call-overload]


def test_a_script_can_use_every_tool_that_needs_no_person() -> None:
    alone = {schema["name"] for schema in schemas(person=False, paging=True)}
    assert (
        set(Step.model_json_schema()["properties"]["tool"]["enum"]) == alone == set(tools(paging=True)) - {"takeover"}
    )
