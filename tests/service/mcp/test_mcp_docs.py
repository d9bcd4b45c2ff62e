"""docs/howto/mcp.md says what there is: tools, resources, prompts; its snippets are JSON."""

import json
import re
from pathlib import Path

from holdfast.service.mcp.resources import PROMPTS, RESOURCES
from holdfast.service.mcp.tools import ALL

PAGE = (Path(__file__).parents[3] / "docs/howto/mcp.md").read_text()


def test_the_table_of_tools_is_complete_and_right() -> None:
    rows = re.findall(r"^\| `(\w+)` \|[^|]+\| (reads|writes) \|$", PAGE, re.MULTILINE)
    assert rows == [
        (each.name, "reads" if each.role == "read" else "writes") for each in ALL.values()
    ]
    assert f"has {len(ALL)} tools" in PAGE


def test_resources_and_prompts_are_told() -> None:
    for resource in RESOURCES:
        assert f"| `{resource.uri}` |" in PAGE
    for prompt in PROMPTS:
        assert f"| `{prompt.name}` |" in PAGE


def test_snippets_are_json() -> None:
    snippets = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert len(snippets) == 8
    keys = set()
    for each in snippets:
        (servers,) = json.loads(each).values()
        keys |= servers["holdfast"].keys()
    # Each client calls the address otherwise; Claude Desktop takes none.
    assert {"command", "url", "serverUrl", "httpUrl"} <= keys
