"""What setuptools cannot be told in pyproject.toml: README.md as a package index shows it.

Links to files of the repository lead nowhere there. They become addresses below the URL `Source` of
`[project.urls]`; as long as the project has no public address, only their words are left.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
RELATIVE = re.compile(r"\[([^\]]+)\]\((?![a-z]+:|#)([^)\s]+)\)")


def shown(readme: str, source: str | None) -> str:
    """`readme` without relative links."""
    return RELATIVE.sub(rf"[\1]({source}/\2)" if source else r"\1", readme)


project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
setup(
    long_description=shown((ROOT / "README.md").read_text(), project.get("urls", {}).get("Source")),
    long_description_content_type="text/markdown",
)
