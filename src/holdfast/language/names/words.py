"""Words that are no names although they may bear a capital: closed classes and ways to open.

Nothing here names a person, a place or a thing.
"""

from __future__ import annotations

import re

from holdfast.language.terms import STOP_WORDS

# Greetings, interjections, praise: how people begin a sentence when they talk.
_SPOKEN = """
absolutely ah aha alas alright amazing anytime anyway anyways aw awesome aww beautiful best bet
bravo btw bye cheers congrats congratulations cool correct dang darn dear definitely duh enjoy
exactly excellent excited fair fantastic fine fingers fyi gee gg gladly glad goodbye good gosh
gotcha great guess haha hahaha happy hello hey hi hmm hooray hope hopefully huh hurray hurrah
imo impressive incredible indeed interesting kudos later lately lol looking looks lovely lucky
man maybe meanwhile mhm morning nah neat nice nope oh ok okay omg oof oops ouch perfect perhaps
phew please possibly pretty probably really respect right sad same seems sorry sounds splendid
sure surely sweet talk tbh thank thanks tho though too totally tough true truly ugh uh um
unbelievable unfortunately welcome well whoa woah wonderful woo woohoo wow wowza ya yay yea yeah
yep yes yikes yo yum yummy yup
"""
# Function words beyond the stop words, and common verbs that ask or tell.
_OPENING = """
according across actually add afterwards ago all allow almost along already although always among
amid and another anybody anyone anything apart appreciate around ask aside at away back basically
because become been before begin behind believe below beside besides between beyond both bring
build but buy by call can check choose clearly click come consider count couldn create despite did
do does don done due during each earlier early easy eat eight either eleven else especially even
eventually ever every everybody everyone everything except fast feel few fifteen fifth finally find
first five following for former four fourth from full fun get getting give given go going gonna got
gotta had half hang has hasn have haven having he hence her here hers herself high him himself his
hold how however hundred i if imagine in including indeed initially inside instead into it its
itself join just keep kind know large last late latter learn least leave less let like likewise
listen little live long look lots love made mainly make many may me mean mention might mine more
moreover most mostly move much must my myself near nearly need neither never nevertheless new next
nine no nobody none nor not note nothing notably now nowadays occasionally of off often old on once
one only onto open or original originally other others otherwise our ours out outside over overall
own part people perhaps pick play plenty plus prior put quite rather read recently regarding
relax remember remind run save say second see seven several shall share she short show similarly
simply since single six small so some somebody someday somehow someone something sometimes
somewhere soon speak speaking start stay still stop subsequently such suddenly surprisingly take
taking tell ten than that the their theirs them then there thereafter therefore these they thing
things think third this those thousand three through throughout thus till time to today together
tomorrow tonight took toward towards traditionally try turn turns twelve twenty two typically
ultimately under unless unlike until up upon us use used using usually various very via wait wanna
want was watch we went were what whatever when whenever where whereas wherever whether which
whichever while who whoever whole whom whose why will with within without won wonder work would
write yesterday yet you young your yours yourself zero
"""
_DATES = """
january february march april june july august september october november december jan feb mar apr
jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue
tues wed thu thur thurs fri mondays tuesdays wednesdays thursdays fridays saturdays sundays spring
summer autumn fall winter am pm bc ad bce ce
"""
# Written with capitals, but shorthand and not names.
_SHORTHAND = """
aka asap ama atm brb btw diy dj eta faq fyi gps id idk imo irl lol mvp nsfw omg ok pc pdf pr qa rn
rip rsvp so tba tbd tbh tgif tldr tv url vip vs wfh wip ii iii er cv hr pt ps
"""
OPENERS = frozenset(_SPOKEN.split()) | frozenset(_OPENING.split()) | STOP_WORDS
_DATE_WORDS = frozenset(_DATES.split()) | {"may"}
_NO_NAMES = _DATE_WORDS | frozenset(_SHORTHAND.split()) | {"i"}
#: Never the first word of a name, wherever it stands: "Hey Jon", "Thanks Gina".
NEVER_FIRST = frozenset(_SPOKEN.split()) | {"i"}
#: Forms of verbs and adverbs that open a sentence far more often than names have them.
SUFFIX = re.compile(r"(?:.{3}ing|.{3}ly|n['’]t|['’](?:ll|ve|re|d|m|s))\Z")
_SMALL = "a an the of and or in on at to for from with by de la le del du der die das und et y"
SMALL_IN_TITLES = frozenset(_SMALL.split())


_CONTRACTED = re.compile(r"(?:n['’]t|['’](?:ll|ve|re|d|m|s))\Z", re.IGNORECASE)


def bare(word: str) -> str:
    """A word in small letters, without what is contracted to it: "it" of "It's"."""
    return _CONTRACTED.sub("", word).lower()


def is_date(word: str) -> bool:
    """Whether a word names a month, a weekday or a season."""
    return word.lower() in _DATE_WORDS


def is_no_name(word: str) -> bool:
    """Whether a word by itself is a date, a pronoun, a number or shorthand."""
    return bare(word) in _NO_NAMES or not any(c.isalpha() for c in word)
