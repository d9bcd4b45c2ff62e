"""Words for what answers are made of: a wish about one of these is a wish about answers."""

from __future__ import annotations

# Of talk and nothing else: a taste for them is one for answers, too.
_PARTS = """
abbreviation acronym adjective adverb analogy anecdote apology asterisk bracket bullet buzzword
capital caveat citation cliché cliche comma compliment contraction dash definition disclaimer
ellipsis emoji emojis exclamation explanation footnote frill grammar greeting heading headline idiom
intro introduction italics jargon lecturing markdown metaphor opinion paragraph parenthesis
pleasantry preamble pronoun pun quotation recap reference reminder repetition reply response
sarcasm semicolon sentence signoff slang smalltalk smiley spelling spoiler subheading suggestion
summary swearing synonym synopsis typo vocabulary wording
"""
# Also of other things: in an order they mean answers.
_ALSO = """
advice answer attachment bold caption chart code column comment comparison conclusion correction
currency date detail diagram draft email encouragement equation error example excuse fact figure
filler flattery formula fraction hint humour idea image irony joke keyword language line link list
mail mark maths measurement message mistake motivation name nickname note noun number option outline
percentage phrase poem politeness praise price proof question quote rating reasoning recipe
recommendation rhyme section signature snippet solution source statistic step story style table
temperature text tip title tone topic translation unit variable verb version warning word
"""


def _forms(words: str) -> frozenset[str]:
    singular = words.split()
    plural = (f"{word[:-1]}ies" if word.endswith("y") else f"{word}s" for word in singular)
    return frozenset((*singular, *plural))


PARTS = _forms(_PARTS)
ALL = PARTS | _forms(_ALSO)
