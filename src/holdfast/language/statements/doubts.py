"""The words by which a clause states nothing that lasts, whatever else stands in it.

Matched as in `fact_cues`: on one clause in lower case whose quotations are blanked.
"""

from __future__ import annotations

import re
from functools import lru_cache

#: Who speaks of themselves, in either language.
FIRST_PERSON = re.compile(r"\b(?:i|we|my|our|me|us|mine)\b|我")
#: Said with less than certainty.
HEDGED = re.compile(
    r"\b(?:i (?:think|guess|suppose|believe)|maybe|perhaps|probably|possibly|might be|not sure"
    r"|i'm pretty sure|as far as i (?:know|remember)|if i remember)\b|可能|也许|大概|好像|应该是"
)
#: Supposed, wished or asked: states nothing.
SUPPOSED = re.compile(
    r"^(?:(?:and|but|so|well|sure|ok|okay|yes|yeah|great),? )*(?:if|otherwise|or else"
    r"|suppose|imagine|pretend|what if|unless|let me"
    r"|let's (?!go with|stick with|settle on)|say i|as if|would|should|do|does|did|have you"
    r"|are you|is it|how|what|why|when(?=.*\?)|where|who)\b|\bi wish\b|\b(?:i|we) (?:might|may"
    r"|could|should|wonder|was wondering|were wondering)\b|\b(?:what )?if (?:i"
    r"|we)\b(?=.{0,12}\b(?:was|were|had|have|could|can|should)\b)|\bwould (?:be|have|you)\b"
    r"|\bmaybe (?:i|we|you)\b(?=.{0,200}\b(?:can|should|try)\b)|^(?:如果|假如|要是)|[吗呢][?？。]?$"
)
#: What is felt, or is going on in the talk, and says nothing about a life.
IDLE = re.compile(
    r"\bi (?:have|had|get|got|'ve got) (?:an?|some|one|another|no|the|two|a few"
    r"|a couple of) (?:\w+ )?(?:questions?|ideas?|feeling|problems?|issues?|doubts?|question"
    r"|favou?r|hunch|clue|errors?|bugs?|thoughts?|suggestions?|concerns?|request|lot|blast|chance"
    r"|look|moment|minute|point|(?:good|great|hard|bad|nice|rough|fun|lovely|amazing) (?:time|day"
    r"|week|weekend|idea|feeling))\b|\bi(?:'m| am) (?:(?:so|really|very|just|also|not|still|super"
    r"|pretty|quite|a bit|a little|kinda|kind of|already) )*(?:sure|stressed|nervous|anxious"
    r"|unsure|pumped|psyched|overwhelmed|glad|happy|sorry|proud|excited|curious|grateful|thankful"
    r"|wondering|asking|looking|confused|thrilled|impressed|afraid|getting an?|seeing"
    r"|having (?:trouble|issues|problems|a hard)|stuck|using the following|facing|encountering"
    r"|concerned|worried|struggling|thinking|trying to (?:understand|figure|find|get|see|decide"
    r"|implement|fix|debug|solve|make sense|ensure|work out|come up))\b"
    r"|\b(?:can't|cannot|could not|couldn't) (?:wait|believe|help|imagine|thank|seem|agree more"
    r"|complain|tell|figure|remember|see|find|get|say|think|decide|explain|recall)\b"
    r"|\b(?:here's|here is|below is|attached|see below)\b|^(?:thanks|thank you|sounds|that sounds"
    r"|wow|congrat|good luck|take care|no worries)\b(?!.*[,!.] (?:i|my|we)\b)"
)

#: Points at something outside of the sentence: alone it says nothing.
POINTS = re.compile(
    r"\b(?:of|love|like|enjoy|hate|prefer|into|using|use|have|bought|joined|started|adore|doing|on"
    r"|about|for|in|to|at|with) (?:this|that|these|those)\b(?! (?:year|month|week|summer|winter"
    r"|spring|autumn"
    r"|fall|morning|evening|weekend|time|is|are))|\bthere[.!]?$|\b(?:done|tried|do|make|making"
    r"|doing|create|borrowing|buying|getting)"
    r" (?:one|this|that|it)(?: before| again| too)?[.!]?$|\b(?:something|take a look"
    r"|check it out|here are|the idea|your)\b|^(?:[\w',]+ ){0,4}?(?:i|we)(?:'\w+)?(?: (?!an?\b"
    r"|the\b|my\b|our\b|some\b|two\b)[\w']+){1,6} (?:it|them|him|her|there)\b(?! (?:is|was|are"
    r"|were|'s))"
)

_QUOTED = re.compile(
    r"\"[^\"]{2,}(?:\"|$)|\u201c[^\u201d]{2,}(?:\u201d|$)|\u00ab[^\u00bb]{2,}(?:\u00bb|$)|「[^」]+」?"
)
_SPEAKS = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|me|mine|we|our|us|you|your)\b|[.!?]\W*$", re.I)


# Asked of a line for each of its sentences.
@lru_cache(maxsize=16)
def quotes_somebody(text: str) -> bool:
    """Whether somebody else's words stand in it: a quotation that speaks, not the title of a book.
    Who they are about nobody can tell."""
    return any(_SPEAKS.search(found[0][1:-1]) for found in _QUOTED.finditer(text))
