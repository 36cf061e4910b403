"""The ref lines, to the character."""

import pytest

from formatters.refs import ref_line
from observe.model import ActionRef, ElementState


@pytest.mark.parametrize(
    ("ref", "line"),
    [
        (ActionRef(ref="e4k2p9z_1", role="button", name="Save"), 'e4k2p9z_1 button "Save"'),
        (
            ActionRef(ref="e4k2p9z_2", role="textbox", name="Notes", state=ElementState(value="a\nb")),
            'e4k2p9z_2 textbox "Notes" [value="a\\nb"]',
        ),
        (
            ActionRef(
                ref="e4k2p9z_3",
                role="treeitem",
                name="",
                state=ElementState(
                    value="v",
                    value_truncated=True,
                    name_truncated=True,
                    checked="mixed",
                    disabled=True,
                    readonly=True,
                    required=True,
                    invalid=True,
                    expanded="false",
                    selected="true",
                    pressed="false",
                ),
            ),
            'e4k2p9z_3 treeitem "" [value="v", value-truncated, name-truncated, checked=mixed, disabled, readonly,'
            " required, invalid, expanded=false, selected=true, pressed=false]",
        ),
        (
            ActionRef(ref="e4k2p9z_4", role="link", name='"\u2028\x85\u202e\x01', state=ElementState(value="")),
            'e4k2p9z_4 link "\\"\\u2028\\u0085\\u202e\\u0001"',
        ),
        (ActionRef(ref="e4k2p9z_5", role="x-\u2028a\nb", name="\ud800"), 'e4k2p9z_5 x-\\u2028a\\nb "\\ud800"'),
    ],
)
def test_ref_line(ref: ActionRef, line: str) -> None:
    assert ref_line(ref) == line
