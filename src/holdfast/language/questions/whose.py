"""Whose words a question asks for: those of people, the assistant's, or both.

Most questions are about what people said, and a person says it better than the answers do.
But "what did you recommend?" asks for the assistant's own words, and a summary needs both sides.
English; in other languages people's words are preferred.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Whose = Literal["people", "machine", "both"]

_SAY = (
    "recommend|suggest|advise|propose|explain|describe|outline|mention|say|tell|give|offer|provide"
    "|list|show|cover|lay out|walk me through|help|guide|instruct|answer|write|draft|come up with"
    "|share|point out"
)
_SAID = (
    "recommended|suggested|advised|proposed|explained|described|outlined|mentioned|said|told|gave"
    "|given|offered|provided|listed|showed|shown|covered|laid out|walked|helped|guided|instructed"
    "|answered|wrote|written|drafted|came up with|shared|pointed out"
)
_MACHINE = re.compile(
    rf"\b(?:did|had) you (?:\w+ly )?(?:{_SAY}|{_SAID})\b"
    rf"|\bhave you (?:\w+ly )?(?:{_SAID})\b"
    rf"|\byou(?:['\u2019](?:ve|d)| have| had)? (?:\w+ly )?(?:{_SAID})\b"
    r"|\byour (?:\w+ )?(?:recommendation|suggestion|advice|explanation|answer|proposal|response"
    r"|reply|tip|guidance)s?\b",
    re.IGNORECASE,
)
_BOTH = re.compile(r"\b(?:summar(?:y|ies|i[sz]e[sd]?|i[sz]ing)|overview|recap)\b", re.IGNORECASE)


@lru_cache(maxsize=512)
def whose(text: str) -> Whose:
    """Whose words are asked for."""
    if _BOTH.search(text):
        return "both"
    return "machine" if _MACHINE.search(text) else "people"
