"""What may be kept of what was found: standing facts about the user and their world.

`refusal` asks, in this order, and gives the reason of the first "no":

    blank      it says nothing
    injection  it speaks to the model about its instructions
    grant      it permits deeds: a permission holds where it was given, and is never remembered
    authority  someone else than the user tells the assistant what to do
    meta       it is about the conversation, not about the world: "The user asked for a recipe."
    question   it asks
    request    it is a wish for this one time; a standing one ("always ...") is none of these
    momentary  it is over soon, by its words or by the word of the model that wrote it

and `novelty` says how much of a fact is new:

    novelty = 0.5 * entity novelty + 0.5 * semantic novelty

Pure functions over one sentence, English and Chinese, in the first person or the third. Authority
comes from `origin`, the channel, never from what the text claims to be.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from holdfast.language.lexicon import SHORT_MONTHS, SURE_MONTHS, WEEKDAY, any_of
from holdfast.language.names import same
from holdfast.language.regex import regex
from holdfast.language.terms import fold, terms

# ----------------------------------------------------------------------
# Importance: how much a statement matters, from four parts that each lie in 0..1.
#
#     importance = 0.35 novelty + 0.25 specificity + 0.25 actionability + 0.15 entity density
#
# - **novelty**: how much of it is new against what is known: `gates.novelty`.
# - **specificity**: how many particulars it holds: numbers, dates, times, amounts, names inside
#   the sentence, quoted titles, codes and addresses. Distinct particulars / 4, at most 1; halved
#   when it is hedged ("maybe", "some", "大概").
# - **actionability**: how far it changes what someone should do; the strongest cue counts: 1.0 a
#   limit or a duty (allergic, must, deadline, by Friday), 0.8 a decision or a correction, 0.6 a
#   goal or a preference, 0.3 a habit or an arrangement; else 0.
# - **entity density**: named entities for every two content words, at most 1. Content words are
#   the terms of the search index: no stop words; in scripts without spaces, pairs of characters.
#
# Pure functions: the same statement has the same importance in every process and language
# version. A standing instruction keeps its floor of 0.95, which is set where instructions are
# stored.
# ----------------------------------------------------------------------

#: The parts are the seed's, their weights by hand, not measured.
NOVELTY_WEIGHT = 0.35
SPECIFICITY_WEIGHT = 0.25
ACTIONABILITY_WEIGHT = 0.25
DENSITY_WEIGHT = 0.15

_FULL_PARTICULARS = 4
_TERMS_PER_ENTITY = 2
_LONGEST_WEIGHED = 4_000

_MONTH = rf"(?:{any_of(SURE_MONTHS, SHORT_MONTHS)})"
_PARTICULAR = regex(
    r"\"[^\"]{1,80}\"|“[^”]{1,80}”|《[^》]{1,80}》|「[^」]{1,80}」"
    r"|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{2,32}|https?://\S{1,200}"
    rf"|[$€£¥]\s?\d[\d.,]*|\d[\d.,:/-]*\s?(?:may\b|{_MONTH}\b|%|°c|kg|km|cm|mm|g|m|h|am|pm|years?"
    r"|days?|weeks?|months?|hours?|minutes?|年|月|日|号|岁|点|元|公斤|公里|小时|分钟)?"
    rf"|\b{_MONTH}\b(?: \d{{1,2}}\b)?|\bmay \d{{1,2}}\b"
    rf"|\b{WEEKDAY}s?\b|周[一二三四五六日天]|星期[一二三四五六日天]"
    r"|[一二三四五六七八九十百千万]{2,}",
    re.IGNORECASE,
)
# A capital after a small letter and a space: a name inside a sentence, not its first word.
_NAMED = regex(r"(?<=[a-z,;] )[A-Z][\w'-]*(?: [A-Z][\w'-]*)*|(?<=[\u3400-\u9fff])[A-Za-z]\w+")
_HEDGED = regex(
    r"\b(?:maybe|perhaps|possibly|probably|might|some(?:thing|how|what|where|one|times?)?|kind of"
    r"|sort of|several|a few|various|stuff|things|around|roughly|about \d|i (?:think|guess))\b|可能"
    r"|也许|大概|好像|似乎|某些|一些|左右|差不多"
)
_ACTIONS: tuple[tuple[float, re.Pattern[str]], ...] = (
    (
        1.0,
        regex(
            r"\b(?:must|have to|has to|needs? to|required?|obliged|forbidden|not allowed|may not"
            r"|cannot|can't|allerg\w+|intoleran\w+|deadline|due (?:on|by|date)|expires?|urgent"
            r"|overdue|always|never|do not|don't (?:eat|drink|use|call|send|contact)"
            r"|by (?:the end of|next|\w+day|\d"
            rf"|{_MONTH})|before (?:\w+day|\d|{_MONTH})|medication|emergency)\b"
            r"|必须|一定要|不能|不可以|禁止|过敏|截止|到期|务必|不要|之前(?:完成|交)"
        ),
    ),
    (
        0.8,
        regex(
            r"\b(?:decid\w+|chose|chosen|agreed|settled on|switch(?:ed|ing)|cancel+ed|approved"
            r"|signed|selected|opted|committed|instead of|no longer|not any ?more|correct(?:ed|ion)"
            r"|actually|changed (?:to|from)|replaced)\b"
            r"|决定|选择了|选了|同意|定在|取消|不再|改用|改为|更正|其实"
        ),
    ),
    (
        0.6,
        regex(
            r"\b(?:wants? to|plans? to|planning|goal|aims?|hopes? to|intends?|trying to|saving for"
            r"|training for|dream|prefer\w*|likes?|loves?|hates?|dislikes?|favou?rites?|enjoys?"
            r"|avoids?|rather|fond of|interested in)\b"
            r"|想要?|打算|计划|目标|希望|梦想|喜欢|讨厌|偏爱|更爱|习惯"
        ),
    ),
    (
        0.3,
        regex(
            r"\b(?:usually|often|every|weekly|daily|monthly|meets?|appointment|scheduled|booked"
            r"|works? (?:at|for|as)|lives? in|owns?|is called|responsible for)\b|经常|每[天周月年]"
            r"|预约|安排|负责|住在|工作"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Importance:
    """The four parts; `score` is their weighted sum."""

    novelty: float
    specificity: float
    actionability: float
    density: float

    @property
    def score(self) -> float:
        return (
            NOVELTY_WEIGHT * self.novelty
            + SPECIFICITY_WEIGHT * self.specificity
            + ACTIONABILITY_WEIGHT * self.actionability
            + DENSITY_WEIGHT * self.density
        )


def importance(text: str, *, novelty: float, entities: int) -> Importance:
    """How much a statement matters that is so new and names so many distinct entities."""
    return Importance(
        novelty=min(1.0, max(0.0, novelty)),
        specificity=specificity(text),
        actionability=actionability(text),
        density=entity_density(text, entities),
    )


def specificity(text: str) -> float:
    """Distinct particulars / 4, at most 1; halved when hedged."""
    seen = text[:_LONGEST_WEIGHED]
    found = {fold(match.group()).strip(" .,:-") for match in _PARTICULAR.finditer(seen)}
    # A title that is quoted counts once, not again for the names in it.
    found |= {fold(match.group()) for match in _NAMED.finditer(_PARTICULAR.sub("_", seen))}
    share = min(1.0, len(found - {""}) / _FULL_PARTICULARS)
    return share / 2 if _HEDGED.search(seen.lower()) else share


def actionability(text: str) -> float:
    """The weight of the strongest cue that the statement changes what someone should do."""
    low = text[:_LONGEST_WEIGHED].lower().replace("\u2019", "'")
    return next((weight for weight, cue in _ACTIONS if cue.search(low)), 0.0)


def entity_density(text: str, entities: int) -> float:
    """Entities for every two content words, at most 1; 0 for a text without content words."""
    words = len(terms(text[:_LONGEST_WEIGHED]))
    return min(1.0, _TERMS_PER_ENTITY * max(0, entities) / words) if words else 0.0


Reason = Literal[
    "blank", "injection", "grant", "authority", "meta", "question", "request", "momentary"
]

_LONGEST = 2_000  # Characters that are looked at; a fact has a tenth of it.
_USER = r"(?:the |this |our )?(?:user|speaker|human|customer|client|person|interlocutor)"
_MODEL = r"(?:the |an |our )?(?:assistant|ai|bot|agent|model|chatbot|llm|system)"

_INJECTION = regex(
    r"\b(?:ignore|disregard|forget|override|bypass) (?:(?:all|any|of|the|your|these|previous|prior"
    r"|above|earlier|system) ){1,4}(?:instructions?|rules|guidelines|prompts?|directives|context)"
    r"|^\W*(?:system|developer|assistant) ?(?:prompt|message)? ?:|<\|?/?(?:system|im_start|im_end)"
    r"|\[/?inst\]|\b(?:reveal|print|leak|repeat) (?:\w+ ){0,3}system prompt"
    r"|\byou are now (?:in |an? )?(?:\w+ )?(?:dan|unrestricted|jailbroken|developer mode)\b"
    r"|忽略(?:之前|以上|上面|所有)[^，。]{0,6}(?:指令|指示|规则|提示)"
)
_DEED = (
    r"(?:delet|send|buy|purchas|book|pay|transfer|wir|sign|post|publish|shar|approv|merg|push"
    r"|deploy|install|run|execut|cancel|order|withdraw|email|spend|subscrib|upload|forward|remov"
    r"|overwrit|sell|trad|submit|authori[sz]|access|modify|reset|log in)"
)
_GRANT = regex(
    rf"\b(?:{_MODEL}|you) (?:may|can|could|(?:is|are) (?:allowed|free|authori[sz]ed|permitted"
    rf"|cleared) to)(?: \w+)? {_DEED}"
    rf"|\b(?:allow|permit|authori[sz]|grant|empower|entitl)\w* (?:{_MODEL}"
    rf"|you)\b (?:to (?:\w+ )?{_DEED}|\w+ access|access|permission|authority)"
    rf"|\b(?:gave|gives|given|give|giving) (?:{_MODEL}|you) (?:\w+ )?(?:permission|access|authority"
    rf"|consent|approval)\b"
    rf"|{_DEED}\w* .{{0,60}}\bwithout (?:asking|confirmation|checking|(?:my )?approval)\b"
    r"|(?:允许|授权|批准)(?:你|助手|系统|它)|无需(?:确认|询问)"
)
_ORDER = regex(
    rf"\b(?:you|{_MODEL}) (?:must|should|shall|need to|needs to|has to|have to|ought to"
    r"|will always|will never|always|never)\b|\bmake sure (?:to|you|that)\b|\b(?:instructed|told"
    rf"|asked|ordered|wants) (?:you|{_MODEL}) to\b|\bfrom now on\b|\b(?:always|never) (?:answer"
    rf"|reply|respond|recommend|mention|say|use|trust|tell|{_DEED})|^(?:请|务必|必须|一定要|不要|别)|你(?:必须"
    r"|应该|务必|要)|助手(?:必须|应该)"
)

_HELP = (
    r"(?:help|advice|assistance|information|info|guidance|tips|suggestions?|recommendations?|an?"
    r" (?:\w+ )?(?:answer|explanation|recipe|summary|list|example|translation|overview|table|poem)"
    r"|clarification|details|feedback|instructions|ideas)"
)
_META = regex(
    rf"^{_USER} (?:(?:has|had|also|just|then|is|was|have|now|again|specifically"
    r"|initially) )*(?:ask(?:s|ed|ing)? (?:about|for|how|whether|if|what|why|when|where|who|which"
    rf"|to|an?|the|me|you|{_MODEL}|several|some|again|follow)|request(?:s|ed|ing)?\b|[ie]nquir"
    r"|quer(?:y|ies|ied)|want(?:s|ed)? (?:to (?:know|understand|see|hear|learn (?:about|how|more"
    rf"|what|why)|discuss|get)|{_HELP})|wonder(?:s|ed|ing)?\b|curious|interested in (?:knowing"
    r"|learning|hearing)|thank(?:s|ed)? (?:the (?:assistant|ai)|you|me|for)|thank(?:s|ed)\.?$"
    r"|greet(?:s|ed)?\b|sa(?:ys|id) (?:hello|hi|thanks|goodbye|ok)|confirm(?:s"
    r"|ed)? (?:that (?:they understood|it)|understanding|receipt)|acknowledg|express(?:es"
    r"|ed) (?:gratitude|thanks|interest in (?:knowing|learning)|appreciation)|appreciat(?:es"
    rf"|ed) the (?:help|answer|response)|(?:looking for|seeking|seeks|sought|needs?|needed) {_HELP}"
    r"|provid(?:es|ed) (?:an?|the|some) (?:\w+ )?(?:file|text|code|list|link|example|message"
    r"|context|details|information)|upload|past(?:ed|es) |shar(?:es|ed) (?:an?|the"
    r"|some) (?:\w+ )?(?:file|document|code|link|text|screenshot|snippet)|(?:talk|chat|speak"
    r"|interact|convers)\w* (?:to|with) (?:the |an? )?(?:assistant|ai|bot)|(?:mention|discuss)(?:s"
    rf"|ed|es)? (?:the )?(?:conversation|topic|previous))|^{_MODEL} (?:(?:has|had|also|then|is|was"
    r"|will) )*(?:explain|provid|answer|offer|help|list|summari|apologi|greet|respon|clarif"
    r"|generat|writ|wrote|gave|give|said|says|repl|assist|ask|acknowledg|discuss|describ|translat"
    r"|confirm|told|tell|creat)|^(?:the|this|our|in this|during the|in the) "
    r"(?:\w+ )?(?:conversation|chat|discussion|dialogue|exchange|session|message|turn"
    r"|thread)\b(?! (?:app|room|bot|group|server|board))|^there (?:is|was|were) (?:an?"
    r"|no) (?:question|request|discussion|mention|conversation)|^(?:an? |the )?(?:question|request"
    r"|recipe|summary|explanation|answer)s? (?:was|were|is) (?:asked|made|given|provided"
    r"|requested)\b|^(?:该|这位)?用户(?:还|又|也|再次|首先)?(?:询问|问|请求|要求|想知道|想了解|咨询|表示感谢|感谢|提问|打招呼|上传|粘贴|希望了解"
    r"|需要帮助|寻求)|^助手|^(?:本次|这次|此次|该)?(?:对话|聊天|会话)"
)

_STANDING = regex(
    r"\b(?:always|never|from now on|whenever|every time|each time|going forward|in (?:the )?future"
    r"|by default|as a rule|any ?more)\b|以后|每次|总是|永远|从现在起|从今以后"
)
_NOTED = regex(
    r"^(?:please )?(?:remember|note|keep in mind|don't forget|bear in mind|fyi|for the record)"
    r"(?:,| that|:)+\s*|^(?:请)?记住[，,:：]?|^(?:请)?注意[，,:：]\s*"
)
_VERBS = (
    "write|make|give|show|tell|explain|translate|summari[sz]e|list|find|search|book|send|add|remove"
    "|delete|change|fix|rewrite|create|generate|draft|check|compare|convert|calculate|remind"
    "|schedule|order|buy|email|open|close|run|print|use(?! of)|don't|do not|do|stop|start|continue"
    "|try|look|read|let|help|keep|put|set|turn|play|move|copy|forward|transfer|pay|forget|ignore"
    "|disregard|reply|respond|answer|act|pretend|imagine|describe|analy[sz]e|review|edit|proofread"
    "|suggest|recommend|plan|build|design|install|update|sort|count|format|shorten|simplify|repeat"
    "|go|wait|say|call (?!me )|avoid|be|ensure"
)
_REQUEST = regex(
    rf"^(?:(?:ok(?:ay)?|so|now|then|and|also|hey|hi|please|pls|kindly|just|first|next)[,:]? )*"
    rf"(?:(?:{_VERBS})\b|please\b|let's\b)(?!'s)"
    r"|^(?:can|could|would|will) (?:you|we)\b|^(?:i|we)(?:'d| would)? (?:need|want|like"
    r"|love) (?:you|an? (?:\w+ )?(?:list|table|summary|regex|poem|recipe|function|script|draft"
    r"|translation|example|copy)|the (?:full|file|logs?|list))\b|^(?:the user )?(?:wants|needs"
    r"|would like) (?:an? (?:\w+ )?(?:list|table|summary|regex|poem|recipe|function|script|draft"
    r"|translation|example)|the assistant to)\b|^(?:请)?(?:帮我|给我|告诉我|提醒我|替我|麻烦你"
    r"|让我看|写一|列出|翻译|总结|解释)|^请"
)
_MOMENT = regex(
    r"\b(?:right now|at the moment|just now|at this moment|for the moment|as we speak|in (?:a|ten"
    r"|five|a few|\d+) (?:minutes?|seconds?|bit|sec|min)|brb|a minute ago|this minute)\b|(?:\bi'm"
    r"|\b(?:is|am|was|are|feels?|feeling|be|been)) (?:(?:a|so|very|really|too|quite|pretty|bit"
    r"|little|getting|feeling|currently|still) )*(?:tired|hungry|thirsty|sleepy|bored|busy|cold|hot"
    r"|late|stuck|exhausted|awake|drunk|hungover|annoyed|in a (?:hurry|rush)|on (?:my|the|their|his"
    r"|her) way|at the (?:airport|station|shop|store|supermarket|gym|bus stop|checkout)|in (?:a"
    r"|the) (?:meeting|queue|taxi|shower))\b(?! (?:of|with|for (?:years|months)))|\b(?:just"
    r"|already) (?:finished|had|ate|woke|got (?:home|back|up)|left|arrived|landed)\b|(?:正|现在"
    r"|此刻|目前正)在[^，。]{0,6}(?:机场|车站|路上|超市|开会|排队|等)|我?刚(?:刚|吃|到|起|睡|下班)"
    r"|(?:有点|好|很|太)(?:困|饿|渴|累|冷|热|头疼)|一会儿就|马上(?:到|来|回)"
)
_LASTING = regex(
    r"\b(?:always|often|usually|every|chronic|never|since|for (?:years|months)|whenever"
    r"|when(?:ever)?)\b|经常|总是|每[天次周年]|一直"
)


def refusal(text: str, *, origin: str = "user", durable: bool = True) -> Reason | None:
    """Why a statement must not be kept; None when it may.

    `durable` is the word of whoever wrote the statement, `origin` the channel it came through.
    """
    plain = _plain(text)
    low = _NOTED.sub("", plain)
    if not any(char.isalnum() for char in low):
        return "blank"
    return _unsafe(low, origin) or _worthless(low, noted=low != plain, durable=durable)


def entity_novelty(mentioned: Collection[str], known: Collection[str]) -> float | None:
    """The share of the mentioned names that are not known yet; None when none is mentioned.

    Names are compared without case, accents and spacing.
    """
    names = {same(name) for name in mentioned} - {""}
    if not names:
        return None
    return len(names - {same(name) for name in known}) / len(names)


def novelty(entity: float | None, semantic: float) -> float:
    """Half of each; a statement that names nobody is as new as its meaning."""
    return semantic if entity is None else 0.5 * entity + 0.5 * semantic


def _plain(text: str) -> str:
    return " ".join(text[:_LONGEST].replace("\u2019", "'").lower().split())


def _unsafe(low: str, origin: str) -> Reason | None:
    if _INJECTION.search(low):
        return "injection"
    if _GRANT.search(low):
        return "grant"
    if origin != "user" and (_ORDER.search(low) or _REQUEST.search(low)):
        return "authority"
    return None


def _worthless(low: str, *, noted: bool, durable: bool) -> Reason | None:
    if _META.search(low):
        return "meta"
    if low.rstrip("\"')）」 ").endswith(("?", "？")):
        return "question"
    if not noted and _REQUEST.search(low) and not _STANDING.search(low):
        return "request"
    if not durable or (_MOMENT.search(low) and not _LASTING.search(low)):
        return "momentary"
    return None
