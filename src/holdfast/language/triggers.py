"""How people say what the built-in task profiles listen for: each trigger with its uses.

A trigger of the seed is one word; a task is seldom named by it, and the word is often no task ("at
the counter", "bug bites"). So each has a `Sense`, see there. Everything is matched on folded text.
No pattern has nested unbounded repeats: a hostile text costs no more than a long one. English only;
other languages are reached by meaning and by custom triggers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.language.regex import regex
from holdfast.language.sentences import STOPS

# ----------------------------------------------------------------------
# What people say when a built-in task is under way, and when none is: compared by meaning.
#
# A trigger alone, one word, is near to nothing in an embedding; a sentence that uses it is. They
# vary in subject, since a subject weighs as much in an embedding as what is asked of it.
# ----------------------------------------------------------------------

#: (profile, trigger) -> what people say who mean it. A custom trigger has none.
EXAMPLES: dict[tuple[str, str], tuple[str, ...]] = {
    ("research", "research"): (
        "Research this topic and tell me what is known about it.",
        "What do studies and experts say about this?",
        "Find reliable information and figures on this subject.",
        "Give me an overview of the field with references.",
        "What should I read to learn about the history of this period?",
        "Is this medical advice backed by science?",
        "What is known today about sleep and memory?",
        "Find out who makes these and what they cost.",
    ),
    ("research", "summarize"): (
        "Summarize this article for me.",
        "Sum up the key points of the report in a few sentences.",
        "Shorten these meeting notes to one page.",
        "Boil this long thread down to three points.",
        "What are the main findings of this paper?",
    ),
    ("research", "compare sources"): (
        "Compare what several sources say about it.",
        "Collect facts from papers, books and websites and list where they come from.",
        "Which products and suppliers are on the market, and how do they differ?",
    ),
    ("debugging", "error"): (
        "I get an error when I run this program.",
        "The server is down and the log shows connection errors.",
        "The numbers in my spreadsheet are wrong since yesterday.",
        "My script keeps stopping at an empty value.",
    ),
    ("debugging", "exception"): ("It throws an exception after I upgraded the library.",),
    ("debugging", "traceback"): ("Here is the stack trace of the crash.",),
    ("debugging", "bug"): (
        "Help me find the bug in my code.",
        "Why does this function return the wrong value?",
        "My database query gives strange results.",
    ),
    ("debugging", "failing"): (
        "The build is failing and I do not know why.",
        "The app hangs and the page does not load any more.",
        "The machine stopped working and shows a code on its display.",
        "The installation does not work on my computer.",
        "It worked yesterday, and today the login does nothing.",
        "After the update my devices no longer connect.",
    ),
    ("debate", "argue"): (
        "Argue for or against this claim.",
        "Give me the strongest arguments for my side of the debate.",
        "Convince me that I am wrong about this.",
        "Should this be banned or allowed? Take a side.",
        "Write a speech against the proposal.",
        "Make the case against working from home.",
    ),
    ("debate", "defend"): ("Defend this position against its critics.",),
    ("debate", "counter"): (
        "How do I answer someone who says the opposite?",
        "Challenge my plan and point out its weaknesses.",
        "What would an opponent object to my opinion?",
        "Play devil's advocate on my idea.",
        "What do I reply to people who call it too expensive?",
    ),
    ("debate", "refute"): ("Refute this claim.", "He is wrong about this, help me prove it."),
    ("debate", "evidence"): ("What evidence supports this opinion?",),
}

#: What people say when none of the built-in tasks is under way: the other side of the scale.
EVERYDAY: tuple[str, ...] = (
    "What did I tell you about my plans?",
    "When is my appointment?",
    "Where did we stay, and what was the name of the hotel?",
    "What does my friend like to do in her free time?",
    "What kind of job does he have, and where does he work?",
    "How many times did she go there last year?",
    "Would he enjoy this present?",
    "Why did she decide to move?",
    "What are their plans for the summer?",
    "How much did I spend on it?",
    "What is my goal for this month?",
    "How did my project change over time?",
    "What would you suggest for my next step, given what you know about me?",
    "Remind me to call my mother tomorrow.",
    "Write a short message to a friend.",
    "Make this text sound friendlier.",
    "Translate this sentence.",
    "Give me a recipe for dinner.",
    "Book a table for tonight.",
    "Make a list for my trip.",
    "Write a small function for me.",
    "Explain how this works with a simple example.",
    "It works now, thank you.",
    "I had a nice day with my family.",
    "We went on holiday and it was lovely.",
    "My job keeps me busy these days.",
    "I was ill last week but I am better now.",
    "We talked about it with the neighbours.",
)


_NOTHING = regex(r"(?!)")


@dataclass(frozen=True, slots=True)
class Sense:
    """The uses of one trigger."""

    #: Unmistakable uses and synonyms: count in full.
    clear: re.Pattern[str]
    #: Verbs: count in full where the assistant is asked for them, or one means to do them oneself.
    asked: re.Pattern[str]
    #: Counts in full where the text speaks of software or a machine, else in part.
    symptom: re.Pattern[str]
    #: The word in any other use: counts in part.
    bare: re.Pattern[str]
    #: Uses that mean something else: do not count, and nothing counts by meaning beside them.
    other: re.Pattern[str]
    #: Any of these: most texts hold none.
    any_use: re.Pattern[str]


def _words(alternatives: str) -> re.Pattern[str]:
    """Any of these as whole words: blanks part them, an underscore is a space, a bar goes on.

    One word border for all of them: the search then looks at the first letter of each word only.
    """
    if not alternatives:
        return _NOTHING
    joined = "|".join(alternatives.split()).replace("||", "|").replace("_", " ")
    return regex(rf"\b(?:{joined})\b")


def _sense(
    clear: str, *, asked: str = "", symptom: str = "", bare: str = "", other: str = ""
) -> Sense:
    uses = (clear, asked, symptom, bare, other)
    return Sense(*map(_words, (*uses, " ".join(filter(None, uses)))))


#: What stands before a verb that is asked for: the start of a clause, or words of asking.
ASKED = regex(
    rf"(?:(?:^|[{STOPS}:;\n]\s?|, (?:please|then|now|and) )(?:(?:please|now|just|first|then|also"
    r"|ok|okay"
    r"|so|hey|hi|next|finally|and|briefly|quickly)[, ]+){0,3}|\b(?:can|could|would"
    r"|will) you (?:please |also |just |briefly )?|\b(?:please|let's|lets|help me|help us|help"
    r"|how to|i'll|you to|me to|us to)[, ]+|\bhow (?:do|can|could|should|would|might) (?:i|we|you"
    r"|one) (?:best )?|\b(?:need|want|like|have|got|going|trying|ought) to (?:\w{2,12}ly )?|\b(?:i"
    r"|we) (?:must|should|could|can) )$"
)

#: Words that turn a trigger round when they stand before it.
NEGATED = regex(
    r"(?:\b(?:no|not|without|never|nor|zero|neither|hardly any|free of|cannot)|n't)"
    r"(?: (?:a|an|any|the|more|single|further|clear|real|to|much|need|want|have|been|be|other|get"
    r"|see|signs? of)){0,3} $"
)

#: What may break: software, files, machines and their parts.
MACHINE = _words(
    r"""
    apps? apis? bluetooth boiler browser builds? button cache callback cargo ci class cli client
    cloud code columns? command compiler? components? config(?:uration)? console containers? cron
    css csv database db deploy(?:ment)?s? device dishwasher docker driver emails? endpoints? excel
    export file firmware formula functions? git gpu grid headphones html http imports?
    install(?:er|ation)? integration java(?:script)? jobs? json kernel kubernetes laptop library
    linux list log(?:in|s)? loops? machine macos macros? methods? migration modem modules? network
    node npm null packages? page parser phone pip pipelines? plugin pod printer process programs?
    prod(?:uction)? pytest python quer(?:y|ies) react regex repo requests? router rows? runtime rust
    safari scripts? server services? sheet site software sql suite tables? terminal tests? threads?
    typescript updates? upgrade uploads? users? variable version webhooks? website wi-?fi windows
    workers? yaml
    """
)

#: A question to the memory about what was said or done before is no task of the present.
RECAP = regex(
    # "Which error did I mention", "what did Ann argue"; but "what did I do wrong" is of today.
    rf"\b(?:what|which|when|where|who|whom|how)\b[^{STOPS}\n]{{0,80}}?\b(?:(?:did|had|was|were"
    r"|have|has) (?:i|we|you|he|she|they|(?:my|our|his|her|their) \w+)|did (?!(?:an?|experts|it"
    r"|researchers|scientists|studies|that|the|these|this|those)\b)\w+)\b(?! (?:\w+ )?(?:wrong"
    r"|miss|missed|missing|break|broken|forget|mess))"
    rf"|^\W*(?:what|which|when|where|who|how)\b[^{STOPS}\n]{{0,120}}?\b(?:i|we)(?:'ve| have| had)? "
    r"(?:decided|described|discussed|mentioned|said|talked|told)\b"
    r"|\b(?:do|can|could) you (?:still )?(?:remember|recall|remind)\b|^\W*remind me\b"
    r"|\b(?:have|had) (?:i|we|you) (?:ever|already|told|said|mentioned|talked|discussed)\b"
    r"|^\W*did (?:i|we|you)\b|^\W*(?:what|which|where|when) (?:was|were)\b(?! (?:\w+ )?wrong)"
    # "Summarize what we talked about", "an overview of how I planned our move"; but not "summarize
    # what I pasted below".
    rf"|\b(?:summar\w+|recap|overview|timeline|list|remind)\b[^{STOPS}\n]{{0,80}}?"
    r"\b(?:(?:what|how|when|where|why|everything|all|things?) (?:i|we|you|my|our)(?:'ve|'d)?"
    r" (?!(?:just )?(?:attach|link|past|post|sen[dt]|upload|will|need|want|should|can))"
    r"|we(?:'ve| have| had)? (?:\w+ )?(?:\w+ed|did|said|spoke|went|made|chose)"
    r"|(?:our|my)(?: \w+){0,2} (?:chats?|conversations?|decisions?|discussions?|experiences?"
    r"|history|journey|life|plans?|planning|preparations?|progress|projects?|sessions?|talks?))\b"
)

#: A question about oneself or someone else's life: by meaning alone, it must be clearer.
PERSONAL = regex(
    r"\W*(?:what|which|when|where|who|how|is|are|do|does|has|have|can|could|would|should)\b"
    r"[^?\n]*\b(?:i|me|my|we|us|our|he|she|his|her|they|their)\b"
    r"|(?=[^?\n]*\?)[^?\n]*\b(?!(?:he|here|how|it|let|she|that|there|what|where|who)'s)\w+'s\b"
)

_RESEARCH = {
    "research": _sense(
        r"""
        (?:i'm|i_am|we're|we_are|been|started|keep)_researching
        (?:do|doing|done|some|more|background|market|further|desk|own)_research
        research_(?:on|into|about|for_an?) (?:deep|deeper)_dive go_deep
        (?:i'm|we're|i_am|we_are)_(?:investigating|surveying|exploring)
        find_(?:out_)?(?:me_)?(?:everything|anything|all|more|information|papers|studies|articles
        |sources|peer) find_out_(?:what_(?:is|the)|which)
        (?:literature|scoping|systematic)_reviews? peer[-_]?reviewed meta-?analys[ei]s
        (?:the|current|existing|recent|relevant)_literature papers?_(?:on|about)
        (?:authorities|doctors|experts?|historians|papers|researchers|reviews|scientists|studies
        |[a-z]{3,12}ologists|economists|the_(?:literature|research))_(?:\w+_)?(?:advise|agree
        |disagree|find|recommend|says?|shows?|suggests?|think)
        (?:is|what's|currently)_known_(?:about|on) (?:published|written)_(?:about|on)
        state_of_the_art with_(?:citations|references|sources) cite_(?:your_|the_|all_)?sources
        overview_of_(?!my|our|what_we|how)\w+ market_(?:analysis|overview) read_up_on
        background_(?:on|reading) further_reading up_to_speed_(?:on|with|about)
        which_(?:authors|books|papers|studies|sources) (?:start|begin)_reading
        (?:primary|secondary|reliable|credible|trustworthy|official)_(?:sources?|data|figures
        |information|statistics) sources?_for_(?:each|every|all)
        (?:latest|current|official)_(?:findings|guidelines|recommendations|research|science)
        (?:main|leading|different|competing)_theories origins?_of_(?:the|this)
        according_to_(?:different|several|various|the_latest|recent)
        """,
        asked=r"""
        research researching
        (?:look|dig|read|delve|dive|search)_(?:in|into|up|through|around)(?!_why)
        (?:investigate|survey|explore|study|examine|analy[sz]e)_(?!why\b|it\b)\w+
        (?:collect|gather|compile)_(?:\w+,?_){0,4}(?:data|facts|figures|information|prices|quotes
        |sources|statistics|studies)
        """,
        bare=r"research(?:es|ed|ing)?",
        other=r"""
        research_(?:assistant|associate|career|cent(?:er|re)|degree|department|fellow|fellowship
        |grant|group|institute|intern(?:ship)?|job|lab|nurse|position|role|scientist|station|team
        |vessel)s? (?:career|degree|job|position|work(?:s|ed|ing)?)_in_(?:\w+_)?research
        (?:the|my|his|her|our|their)_research_(?:on|into|about)
        """,
    ),
    "summarize": _sense(
        r"""
        summar(?:y|ies)_of and_(?:then_)?summari[sz]e tl;?dr condens(?:e|ed|ing) skim
        sum(?:ming)?_up (?:key|main)_(?:points|takeaways|findings|messages)
        boil_(?:it_|this_|that_)?down_to
        (?:digest|gist|rundown|synopsis)_of into_one_(?:page|paragraph|sentence)
        """,
        asked=r"summari[sz]e",
        bare=r"summar(?:y|ies|i[sz]e[sd]?|i[sz]ing)",
        other=r"""
        summary_(?:judge?ment|dismissal|execution|offen[cs]e|justice|trial) condensed_milk skim_milk
        """,
    ),
    "compare sources": _sense(
        rf"""
        compar\w+_(?:\w+_){{0,3}}sources cross[-_]?check against_each_other
        how_(?:do|does|would)_[^{STOPS}\n]{{2,60}}?_(?:differ|compare) how_they_differ
        (?:sources|accounts|authors|papers|studies|reports)_(?:that_)?(?:seem_to_)?(?:disagree|differ
        |contradict) contrast_(?:how|what|the|these) compare_and_contrast
        (?:several|different|multiple|two|three|independent)_sources
        """,
        bare=r"compar(?:e[sd]?|ing|isons?)",
    ),
}

_DEBUGGING = {
    "error": _sense(
        r"""
        errors? (?!terror|counterterror)\w{3,}errors? errno err(?=!) (?:fatal|panic)(?=:)
        (?:ref|value|name|div/0)(?=!) exit(?:s|ed)?_(?:\w+_){0,2}(?:code|status)
        50[0-4]_(?:on|for|from|when|internal|bad|gateway|service) undefined_is_not
        cannot_read_propert(?:y|ies) out_of_(?:memory|range|bounds)
        """,
        symptom=r"nan (?:permission|access)_denied",
        other=r"""
        trial[-_]and[-_]error margins?_of_error in_error comedy_of_errors
        (?:human|clerical|standard|sampling|spelling|typographical|pilot|judge?ment)_errors?
        error_(?:bars?|margins?|handling|rates?) errors?_of_(?:my|his|her|their|our)_ways?
        """,
    ),
    "exception": _sense(
        r"\w{0,60}exceptions?",
        other=r"""
        (?:an|one|only|sole|notable|rare|single|main|some|few|any)_exceptions?(?=_(?:to|for|of|is|was
        |being)|[,.!]|$) (?:mak(?:e|es|ing)|made|with_the|take|took)_(?:an_|one_)?exceptions?
        exceptions?_(?:to|of|proves)
        """,
    ),
    "traceback": _sense(
        r"""
        tracebacks? stack_?traces? file_"[^"\n]{1,200}",_line_\d+ core_dump(?:ed)?
        seg(?:mentation_)?faults? at_[\w$]{1,60}(?:\.[\w$<>]{1,60}){1,9}(?=\()
        """,
        symptom=r"line_\d+",
    ),
    "bug": _sense(
        r"""
        bugs? buggy debug(?:s|ged|ger|ging)? troubleshooting root_cause
        track(?:ing)?_down_(?:the|why|what)
        """,
        asked="troubleshoot",
        symptom=r"""
        (?:can't|cannot|couldn't|could_not)_(?:figure|work|see|tell|make|understand)(?:_out)?_(?:why
        |what|where|how) figure_out_why glitch(?:es)? regression no_idea_why off[-_]by[-_]one
        what(?:'s|_is|_am_i|_did_i|_are_we)_(?:\w+_)?(?:wrong|missing)
        what_i'm_(?:missing|doing_wrong) wrong_(?:output|results?|values?|numbers?|answers?)
        (?:fix|repair)_(?:it|this|that|my|the) any_ideas? what_could_it_be going_on
        don't_(?:see|know|get|understand)_why where_do_i_(?:start|look|begin) can_you_spot help$
        why_(?:is|are|am|does|do|isn't|aren't|doesn't|don't|won't|can't)_(?:this|my|our|the|it|i)
        """,
        other=rf"""
        bugs?_[^{STOPS}\n]{{0,60}}\b(?:beetles?|bites?|bitten|car|crawl\w*|drove|drive|garden|insects?|legs?
        |plants?|repellent|spray|sting|vw|volkswagen|zapper)
        (?:beetle|bed|doodle|flu|june|lady|lightning|love|stink|stomach|travel|vw|volkswagen|nasty
        |caught_a|caught_the|into|loves?|likes?|hates?|collects?|catch(?:es)?|eats?)[_-]?bugs?
        (?:camp|garden|insects?|kitchen|plants?|sick|summer|tent)_[^{STOPS}\n]{{0,60}}\bbugs?
        bug(?:s|ged|ging)?_(?:me|him|her|us|them|you) bug_(?:out|off|bites?|spray)
        """,
    ),
    "failing": _sense(
        r"""
        (?:keeps?|kept|started)_(?:on_)?(?:failing|crashing) flaky
        fail(?:s|ed|ing)?_(?:silently|with_(?:a|an|the|code|this))
        (?:tests?|builds?|ci|pipeline|suite|checks?|jobs?)_(?:\w+_){0,2}?fail(?:s|ed|ing|ures?)?
        fail(?:ing|ed)_(?:\w+_)?(?:tests?|builds?|jobs?|checks?)
        """,
        symptom=r"""
        fail(?:s|ed|ing|ures?)? crash(?:es|ed|ing)? hangs (?:is|just|keeps)_hanging free(?:zes|zing)
        froze broken? breaks stop(?:s|ped)_working stops_\w+ing worked_(?:yesterday|before|fine)
        (?:not|doesn't|don't|didn't|won't|never|isn't|no_longer|aren't|can't)_(?:\w+_)?(?:boot|build
        |compile|connect|execute|exist|load|match|open|print|render|respond|return|run|save|show
        |start|terminate|update|work|working)s? do(?:es|ing)_nothing tim(?:es|ed|ing)_out timeouts?
        memory_leak leaks throws throwing (?:was|is|gets|got)_(?:rejected|stuck)
        duplicate_(?:rows|entries|keys?) refuse[sd]?_to connection_refused keeps?_\w+ing
        (?:fires|runs|sends|sent)_twice (?:shows?|returns?|prints?|gives?)_nothing
        nothing_(?:happens|was|is) always_(?:empty|null|undefined|zero) blows?_up collapses
        disconnect(?:s|ing) (?:can't|cannot)_(?:borrow|connect|find|import|load|log|open|reach
        |resolve|save|sign) ends?_up_empty stuck_(?:in|at|on)
        (?:after|since)_(?:i|we|the|my|our|last)_(?:last_)?(?:added|bumped|changed|installed|joined
        |moved|ran|switched|updated?|upgraded?)
        """,
        other=r"""
        (?:driving|road)_tests? (?:without|heart|kidney|liver|renal|crop)_fail(?:ure)?
        fail(?:s|ed|ing|ures?)?_(?:\w+_){0,3}?(?:class|course|crops?|diet|driving|exams?|eyes?
        |eyesight|grades?|harvest|health|hearing|heart|hip|kidneys?|marriage|memory|school|subject
        |vision) (?:car|plane|train|market|bike|stock)_crash(?:es|ed)?
        broken?_(?:\w+_)?(?:ankle|arm|bone|finger|foot|heart|hip|leg|nose|rib|tooth|up|wrist)s?
        """,
    ),
}

_CLAIM = "(?:argument|claim|idea|logic|objection|point|position|reasoning|stance|thesis|view)s?"

_DEBATE = {
    "argue": _sense(
        r"""
        argu(?:e|es|ed|ing)_(?:that|against|for|in_favou?r|the) debat(?:e|ing)_(?:whether|if|about)
        (?:an?|the|our|this|tonight's)_(?:\w+_)?debate_(?:on|about|over|club|next|tomorrow)
        devil'?s_advocate steel-?_?man (?:best|better|strongest|stronger)_case
        (?:make|made|making|build)_(?:me_)?(?:the|a|your|my)_(?:\w+_)?case_(?:for|against|that)
        (?:the|a)_case_(?:for|against) arguments?_(?:for|against|that|in_favou?r) for_and_against
        lines?_of_argument (?:best|good|strong(?:est)?|main|three|five)_arguments?
        (?:for|against)_the_motion this_house_(?:would|believes) reasons_(?:why|for|against|not_to)
        in_favou?r_of (?:the|my|our|your|their)_opponents? opening_statement
        (?:role_of|like|be|as)_an?_(?:s[ck]eptic|opponent|critic)
        both_(?:sides|answers|views|positions) (?:for|against|pro|con|opposing)_side
        """,
        asked=r"argue debate (?:convince|persuade)_(?:me|him|her|them|us|my|the|your|a)",
        bare=r"argu(?:e|es|ed|ing|ments?) debat(?:e|es|ed|ing)",
        other=r"""
        (?:function|keyword|positional|command[-_]line|optional|invalid|missing|required|default
        |input)_(?:\w+_)?arguments? argu(?:e|es|ed|ing)_(?:about|over|with|all|a_lot|again)
        (?:an|had|big|huge|another)_argument(?:_with|_about|_last)?
        """,
    ),
    "defend": _sense(
        rf"""
        defend(?:ing|s|ed)?_(?:the|this|that|his|her|their|my|your|our|a)_(?:\w+_){{0,2}}{_CLAIM}
        in_defen[cs]e_of defend_myself_against
        """,
        asked="defend",
        bare=r"defend(?:s|ed|ing)?",
        other=r"""
        defending_champions? defenders? self-defen[cs]e
        defend(?:s|ed|ing)?_(?:the|a|his|her|their|our)_(?:\w+_)?(?:castle|corner|goal|net|title
        |trophy|crown|penalty|free_kick)
        """,
    ),
    "counter": _sense(
        rf"""
        counter(?:s|ed|ing)?_(?:this|that|his|her|their|your|my|those|these|it|him|them|every)
        counter(?:s|ed|ing)?_the_(?:\w+_)?{_CLAIM}
        (?:best|good|strong|effective|better|any|some)_counters?_(?:to|for|against)
        counter[-_]?(?:argu\w+|claims?|points?|examples?|positions?) rebut(?:s|tals?|ted)?
        push(?:ing)?_?back_(?:on|against) contradict_(?:me|him|her|them|this|that|it)
        (?:opposing|opposite|other|contrary)_(?:view|side|position|opinion|standpoint|case)s?
        (?:respond|reply|answer|object)_(?:\w+_){{0,2}}?(?:to_)?(?:the|this|that|these|those|his|her
        |their)_(?:\w+_)?{_CLAIM} say_in_reply
        (?:raise|answer|anticipate|handle|what|which|likely|common)_objections?
        (?:people|those|someone|anyone|a_\w+|colleagues?|friends?)_who_(?:says?|claims?|thinks?
        |believes?|insists?) challenge_(?:my|this|the|his|her|that) question_my object_to
        (?:doesn't|don't|won't)_believe_(?:it|me|that|this)
        what_would_(?:the_|his_|her_|their_)?(?:critics|opponents)_say
        """,
        asked=r"counter(?!_?(?:tops?|space|stools?|clockwise)) justify",
        bare=r"counter(?:s|ed|ing)? objections?",
        other=r"""
        (?:the|a|kitchen|lunch|bar|check-?in|deli|geiger|step|ticket|marble|granite|our|my|reception
        |over[-_]the|under[-_]the|behind[-_]the)[_-]counters?(?!_(?:argu|claim|point))
        counter_to_(?:what|my|our|all|popular|expectations?)
        counter_?(?:tops?|space|stools?|clockwise|intuitive\w*|part\w*|feit\w*)
        """,
    ),
    "refute": _sense(
        rf"""
        refut(?:e|es|ed|ing|ations?) disprov(?:e|es|ing) debunk(?:s|ed|ing)? fallac(?:y|ies)
        poke_holes prove_(?:my_)?\w+_wrong (?:tear|pick|take)_(?:\w+_){{1,3}}apart comebacks?
        (?:is|are|he's|she's|they're|i'm)_mistaken change_my_mind
        weak(?:est)?_(?:point|spot|link|argument)s?
        (?:wrong|flaws?|weak(?:est|ness)?|holes?)_(?:in|with|of)_(?:\w+_){{1,2}}?(?:pitch|proposal
        |plan|essay|{_CLAIM})
        """,
        asked="attack_(?:it|this|my|the|that)",
    ),
    "evidence": _sense(
        rf"""
        evidence_(?:that|for|against|supports?|suggests?|behind|backs?|contradicts?)
        evidence_to_(?:support|back|prove) with_evidence proof_(?:that|for|against)
        (?:what|any|solid|hard|strong|scientific|there|more|some)_evidence(?!_of) really_supports?
        back_(?:it_)?up_(?:the|this|my|that)_(?:statement|{_CLAIM})
        """,
        bare="evidence",
        other="evidence[-_](?:based|bag|box|locker|room) (?:police|crime_scene)_evidence",
    ),
}

#: (profile, trigger) -> its uses. A trigger of a custom profile is a plain word.
SENSES: dict[tuple[str, str], Sense] = {
    **{("research", trigger): sense for trigger, sense in _RESEARCH.items()},
    **{("debugging", trigger): sense for trigger, sense in _DEBUGGING.items()},
    **{("debate", trigger): sense for trigger, sense in _DEBATE.items()},
}
