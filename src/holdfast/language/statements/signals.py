"""Six things that a user's words can show: a hint what is worth learning from a turn.

    correction     something said before was wrong, by the assistant or by the user
    reinforcement  the assistant did well: more of this
    preference     what the user likes, dislikes or always chooses
    identity       who the user is: name, work, home, family, origin, health
    goal           what the user wants to reach in the weeks or years to come
    decision       what was chosen, and so is settled

A turn is read sentence by sentence. Questions, suppositions, code, and what stands in quotation
marks or behind a ">" show nothing. Pass the user's own turns only. A signal is a hint: it raises
what may be learned, and its absence forbids nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.language.lexicon import RELATIVES
from holdfast.language.regex import regex
from holdfast.language.sentences import cut_sentences

# ----------------------------------------------------------------------
# The words by which `signals` knows each signal, in English and Chinese.
#
# Everything is matched on one sentence in lower case whose quotations are blanked; only names are
# looked for in the sentence as it is written. No pattern has nested unbounded repeats.
# ----------------------------------------------------------------------

_FAMILY = f"{RELATIVES}|boss|dogs?|cats?|baby|family|roommate"
_ZH_FAMILY = (
    "老婆|老公|妻子|丈夫|女儿|儿子|孩子|爸爸?|妈妈?|父亲|母亲|哥哥?|弟弟?|姐姐?|妹妹?|男朋友|女朋友"
    "|爱人|奶奶|爷爷|外婆|外公|狗|猫"
)
#: What a goal is made of; "I want to see the file" is none.
_STRIVE = (
    "learn|become|be|quit|stop|lose|save|improve|reduce|cut|build|start|run|finish|pass|publish"
    "|open|buy|move|get (?!a (?:list|copy|refund)|the|this|it)|live|retire|grow|master|earn|pay off"
    "|adopt|travel|win|achieve|reach|launch|halve|double|work (?:for|as|in|on my)|play|complete"
    "|graduate|study|speak|write a (?:book|novel|memoir)|read (?:more|\\d+)|own|found|apply (?:to"
    "|for)|declutter|renovate|spend (?:more|less)|eat (?:more|less|health)|exercise"
    "|change (?:careers?|jobs?)"
)
_HORIZON = (
    r"(?:(?:by|before|until) (?!(?:noon|tonight|tomorrow|five|six|lunch|\d)\b)(?:the |my |our "
    r"|i )?\w+|(?:this|next) (?:year|spring|summer|autumn|fall|winter|month|quarter|decade)|one day"
    r"|some ?day|eventually|within \w+|in the long run|in (?:\w+ )years?)\b"
)
_SOFT = r"(?:(?:really|also|still|just|do|quite|much|always|never|absolutely|honestly|both) ){0,8}"
_I = r"\b(?:i|we)(?:'ve|'d|'m|'re|'ll| have| had| am| are| will| would)? "
_GOOD = (
    "(?:(?:really|just|very|so|pretty) )*(?:excellent|great|perfect|ideal|spot on|good|brilliant"
    "|super|helpful|useful|lovely|clever|amazing|gold|clear|fantastic|awesome)"
)
_WORK = (
    "draft|answer|summary|explanation|version|reply|table|plan|suggestion|approach|recap|list|tip"
    "|advice|format|style|tone|idea|outline|recipe|fix|solution"
)
#: Verbs that say nothing of taste after "usually" or "only".
_NO_HABIT = (
    "get|got|forget|have|had|see|saw|need|want|know|wonder|thought|think|ask|asked|said|do|did|mean"
    "|meant|found|find|noticed|remember|feel|tried|try|read your"
)


def _any(*patterns: str) -> re.Pattern[str]:
    return regex("|".join(patterns))


CORRECTION = _any(
    r"^(?:(?:hm+|wait|sorry|oh|well|ok|hey),? )*no(?:pe)?(?: no)?,? (?!it'?s (?:fine|ok|good|all"
    r"|enough)\b)(?:that|it|this|these|those|you|wrong|not|the|my|he|she|they|read|there(?:'s| is|"
    r" are)|i (?:meant|mean|said|asked|told|don't (?:mean|have|live|like|want)|didn't|never))\b",
    r"^(?:(?:hm+|wait|sorry|oh|well),? )*(?:incorrect|wrong(?! way)|not (?:quite|exactly|really)"
    r"(?=[.,!]|$)|false|correction|o+ps|whoops|my bad|scratch that|strike that)\b",
    r"\b(?:that|this|it|which)(?:'s| is| was) (?:(?:just|simply|actually|still|completely|also) )?"
    r"(?:wrong|incorrect|false|inaccurate|the wrong|the old|last (?:year|week|month)'s|not (?:right"
    r"|correct|true|accurate|what i|how (?:i|we|our|my|it)|the \w+ (?:i|we)|my))\b",
    r"\b(?:that|this|it) (?:isn't|wasn't) (?:right|correct|true|what i|how|the \w+ i|my)\b",
    r"\b(?:answer|address|date|number|name|information|list|version|figure"
    r"|total)s? (?:you \w+ (?:me )?)?(?:is|are|was|were) (?:wrong|false|incorrect|out of date"
    r"|outdated|not (?:right|correct))",
    r"\bi (?:actually |really )?mean(?:t)? (?:the|that|to|it|my|a)\b|\bi meant\b|\bi (?:never"
    r"|didn't) (?:say|said|ask|mean|tell)\b|\bi(?:'ve| have)? told you\b|\bas i (?:said|mentioned"
    r"|told)\b|\bi (?:wasn't|am not|was not) (?:talking|asking|referring)|\bi'm not (?:talking"
    r"|asking) about|\byou said .{1,60} but\b|\bread (?:my|the) \w+ again\b",
    r"\byou(?:'ve|'re| are| have| just| also| again)* (?:misunderst|misread|mishe|mistook|confus"
    r"|mix(?:ed|ing) |forgot (?:that|to|my|the)|missed (?:the|that|my|one)|skipped|left out|omitted"
    r"|got (?:\w+ ){1,4}?(?:wrong|backwards|mixed)|(?:put|used|gave|wrote|took|picked|sent|listed"
    r"|have) (?:me )?(?:in )?the (?:wrong|old)|(?:still|again) (?:have|use|show)\w* the (?:old"
    r"|wrong))",
    r"\byou (?:keep|kept|always) \w+ing (?:\w+ ){1,5}?wrong\b|\byou still have the (?:old|wrong)\b"
    r"|\bi (?:gave|told|sent) you the wrong\b|\bgets? (?:[\w']+ ){1,3}wrong\b|\bleaves? out the\b",
    r"\b(?:let me|i (?:have|need|want) to|i(?:'d| would) like to) correct\b|\bi (?:misspoke|made a"
    r" (?:typo|mistake|slip)|was wrong|got that wrong|mistyped)\b|\bmy mistake\b|\b(?:mistake|error"
    r"|typo|slip) in (?:your|that|the (?:\w+ )?(?:you|table|answer|summary|draft|list))\b",
    r"^(?:no,? )?actually,? (?:it|that|this|my \w+|the \w+)(?:'s| is| was| are| were)\b",
    r"(?:'s|'m|'re|\b(?:is|was|are|were|be|have|has|said|asked|lands?|starts?|costs?)\b).{1,80}"
    r"(?:,| and) not (?:[\w'-]+ ){0,3}[\w'-]+\.?$",
    r"^not (?:[\w'-]+ ){0,2}[\w'-]+, (?:but )?(?:[\w'-]+ ){0,3}[\w'-]+\.?$",
    r"^(?:please )?(?:fix|correct) (?:that|this|it)\b|^(?:please )?try again\b|\bshould (?:read"
    r"|have been)\b|\bit(?:'s| is) (?:spelled|spelt|pronounced|actually)\b|^(?:ignore"
    r"|forget) what i said",
    r"(?<!对)不对|(?<!没)错了|[说理解搞记弄写读看算听打]错|搞混|[搞弄]反|误解了|更正|纠正"
    r"|不是这个意思|有误|我(?:说|问|指)的是|我的意思是|我没(?:有)?说|[这那]不是我[要想说问]"
    r"|不是[^，。]{1,12}[，,]\s*(?:而)?是|[，,]\s*(?:而)?不是[^，]{1,12}[。！]?$|你漏了|不正确"
    r"|并不是",
)

REINFORCEMENT = _any(
    r"^(?:(?:yes|yep|yeah|ok|oh|ah|wow|great|thanks|right)[,!]? )*(?:exactly|precisely|perfect"
    r"|spot on|bingo|brilliant|absolutely|well (?:done|said|put|spotted)|excellent|awesome"
    r"|fantastic|wonderful|amazing|good (?:call|job|work|catch|point|one)|great (?:answer|job|work"
    r"|explanation|summary|idea|stuff|catch)|nice (?:work|job|one|catch)|nailed it|correct|nice"
    r"|super|love (?:it|this|that))(?:[,.!;]|$)",
    r"^(?:yes,? )?exactly (?:as|like|what|how)\b|\bgood call\b|\bgreat answer\b|\blove (?:it"
    r"|this),",
    r"\b(?:that|this|it)(?:'s| is| was) (?:(?:exactly|precisely|just|really|very|so|absolutely"
    r"|perfectly|truly) )*(?:right(?=[,.!]|$)|perfect(?! storm)|helpful|useful|great(?=[,.!]|$)"
    r"|gold\b|the (?:right (?!answer)|one\b|idea\b|best (?:answer|explanation|version|summary))"
    r"|(?:what|how) i (?:want|need|was|mean|like|hoped)|what i(?:'d| had| have|'ve))",
    r"\bkeep (?:it up|doing (?:it|this|that)|it like this|(?:this|that) up)\b|\bmore of (?:that"
    r"|this)\b|\b(?:continue|carry on|go on) (?:like|in) (?:this|that)\b|\bstay with this\b"
    r"|\b(?:always )?do it like (?:that|this)\b",
    r"\byou (?:nailed|got (?:it|that) right|understood|remembered|caught|saved|read my mind)\b"
    r"|\byou(?:'re| are| were) (?:(?:absolutely|totally|completely|quite) )?right\b|\bi(?:'m"
    r"| am) (?:so |really |very )?(?:impressed|happy with|pleased with|delighted)",
    r"\bi (?:really |do |also )?(?:love|like|appreciate|enjoy) (?:how you|the way you|that you|your"
    r"|it when you)\b|\bi (?:really )?appreciate (?:that|it|this)\b",
    rf"\b(?:that|this|it|your \w+|(?:this|the|that|your) (?:{_WORK})(?: \w+ \w+ \w+)?)(?: really"
    r"| just| finally)? (?:worked\b|works (?:so |really |very )?(?:well|great|perfectly|nicely)"
    r"|solved|fixed it|helped|helps\b|did it\b|made (?:it|everything) (?:easy|easier|clear|click)"
    r"|hits? the spot|did the trick|saved)",
    r"\bmade it click\b|\bnow i (?:get|understand|see) it\b|\bfinally (?:makes sense|understand"
    r"|works)|\bnow it (?:runs|works|compiles)\b|\bit (?:runs|works|compiles) now\b"
    r"|\bno changes needed\b|\bi had in mind\b|\bcouldn't have (?:put|said|done) it better\b"
    r"|\bsaved my\b",
    r"\bmuch (?:better|clearer|nicer|easier|more readable)\b|\bjust (?:how|what|as"
    r"|the way) i (?:need|want|like|imagin|was|hoped)|\bas i (?:imagined|wanted|hoped)\b",
    rf"\b(?:your|the last|this|the|that) (?:{_WORK})s? (?:is|was|were|are) {_GOOD}",
    rf"\byour (?:way|choice|idea) of (?:[\w-]+ ){{1,4}}is {_GOOD}|\b(?:approach|format"
    rf"|style) is {_GOOD}",
    r"没错|(?:完全|非常|很)?正确[。！!，]?$|说得(?:很|太)?对|就是(?:这样|它|这个)|正是我"
    r"|继续(?:这样|保持)|^[太很真](?:好|棒)(?:了)?[，。！!]?|^完美|做得(?:很|真|太)?[好棒]"
    r"|[写释答结讲]得?(?:很|非常|真|太)?(?:好|棒|清楚|到位)[，。！了]|很清楚|解决了|很(?:管用|有用|有帮助)|适合我|好多了|喜欢你(?:这样|的)|满意"
    r"|按这个(?:风格|格式|方式)|(?:以后|下次)[都也]这样|^对对|帮了.{0,3}忙|成功了|你真(?:棒|厉害)|有道理",
)

PREFERENCE = _any(
    rf"{_I}{_SOFT}(?:prefer|rather\b|adore|hate|dislike|detest|loathe|avoid\b|favou?r\b)",
    rf"\bi {_SOFT}(?:don't |do not )?{_SOFT}(?:like|love|enjoy)\b(?! (?:how|the way|it when"
    r"|that you|your|(?:it|this|that)(?:[,.!]|$)|to (?:know|see|ask|hear|get|understand))\b)",
    r"\bi(?:'ve| have) (?:always|never|long) (?:liked|loved|hated|enjoyed|preferred)\b",
    r"\bmy (?:\w+ ){0,2}?(?:favou?rites?|preferred|go-to|preference|weakness|guilty pleasure)\b",
    r"(?:\bi(?:'m| am) |^)(?:(?:not|really|quite|so|very|also|a bit) )*(?:into\b|fond of"
    r"|crazy about|keen on|a (?:(?:big|huge|great) )?fan of|partial to|allergic to|intolerant"
    r"|more of an?\b|an? (?:[\w-]+ (?:person|lover)\b|sucker for)|picky|(?:not )?comfortable with)",
    rf"\b(?:i|we) (?:always|usually|never|normally|typically|generally|mostly|tend to|only)"
    rf" (?!(?:{_NO_HABIT})\b)[a-z]+(?!ed\b)\b(?! (?:error|the button))",
    r"(?:\bi |^|, )(?:don't|do not|can't|cannot|couldn't) (?:eat|drink|stand|bear|tolerate|care for"
    r"|have (?:it|dairy|gluten|nuts|any))\b|\bplease don't (?:give|offer|serve|suggest"
    r"|recommend) me\b",
    r"\b(?:works?|suits?) (?:me )?best(?: for me)?\b|\bi work best\b|\beasier (?:on|for) m[ey]\b"
    r"|\bover .{1,60} (?:any ?(?:day|time)|every time)\b|\bnothing beats\b|\bi could live on\b"
    r"|\bnot my (?:thing|cup of tea|style)\b|\b(?:are|is) the best\.?$|\bi'd (?:pick|choose"
    r"|take) .{1,40} over\b",
    r"\b(?:stress(?:es)?|drives?|annoys?|bores?|bothers?|irritates?|relaxes?|calms?"
    r"|bugs?) me\b(?! that)|\band so do i\b",
    r"\bi find (?:[\w'-]+ ){1,4}?(?:boring|annoying|tedious|relaxing|exhausting|delicious|ugly"
    r"|beautiful|fascinating|dull)\b",
    r"(?:我们?|^|[，,])\s*(?:最|更|比较|特别|很|非常|真的|也|一直|还是|不|太|怎么|其实)*(?:喜欢"
    r"|偏爱|偏好|讨厌|宁愿|宁可|受不了|习惯|倾向|爱(?:吃|喝|看|听|玩|用|的))(?!你)",
    r"我(?:一般|通常|从来|从|平时|总是|都)*不(?:吃|喝|用|穿|看|抽)|我(?:一般|通常|总是|每次都"
    r"|只)(?:吃|喝|用|选|坐|听|看)|对[^，。]{1,8}过敏|我是个?[^，。]{0,4}(?:猫子|吃货|迷|控)",
)

IDENTITY = _any(
    r"\bmy (?:(?:full|first|last|maiden|middle|own|native|home) )?(?:name|surname|birthday|age|job"
    r"|profession|occupation|mother tongue|language|hometown|town|nationality|pronouns)(?:'s| is"
    r"| are)|\bis my (?:first|native|second) language\b",
    r"\bcall me (?!back|later|when|if|tomorrow|at|on|once|a\b|an\b|crazy)\w+",
    r"\bi(?:'m| am) (?:\d{1,3}(?: years old)?(?:[.,!]|$| and)|\w+ years old)"
    r"|^(?:i )?(?:just )?turn(?:ed|ing) \d\d\b|\bi (?:just )?turned \d\d\b",
    r"(?:\bi(?:'m| am) |\bi(?:'ve| have) been |^been )(?:currently |now |actually "
    r"|also )?an? (?!bit\b|little|fan\b|big\b|huge\b|tad|mess|wreck|few|step|long|total|complete"
    r"|lot\b|great fan|sucker|while|[\w-]+ (?:person|lover)\b|\w+ late|\w+ away)",
    r"\bwe(?:'re| are) a family of\b|^(?:single|proud|retired|working|stay-at-home) (?:mother"
    r"|father|mum|mom|dad|parent|\w+ here)\b",
    r"\bi(?:'m| am) (?:the|head of|on the) (?:[\w'-]+ ){0,3}?(?:of|at|for|team)\b|\bi(?:'m"
    r"| am) (?:doing|in) my (?:residency|phd|masters?|internship|apprenticeship|\w+ year)\b",
    r"\bi(?:'m| am) (?:originally |actually )?(?:from (?!the\b|here)|based in|born|vegan|vegetarian"
    r"|married|single|divorced|widowed|pregnant|retired|unemployed|self-employed|left-handed"
    r"|right-handed|colou?r-?blind|deaf|gay|autistic|diabetic|jewish|muslim|catholic)",
    r"\bi (?:also |currently |now |still |mostly )?(?:work|worked) (?:for|at|as|in)\b"
    r"|\bas an? (?:[\w-]+ ){1,3}i \w+|\bi do (?:\w+ ){1,2}for (?:an?|the)\b|\bi (?:manage|lead|run"
    r"|own|head) (?:an?|the|my) (?!errand|bath|test|script|query)",
    r"\bi (?:currently |now |still |actually )?(?:live|reside|grew up|was (?:born|raised) (?:in|on"
    r"|near)|come from|moved to|immigrated|emigrated|settled in)\b|\bi(?:'ve| have) (?:lived"
    r"|been living)\b|\bour (?:place|house|home|flat|farm|apartment) is (?:in|near|on)\b",
    r"\bi(?:'ve| have) been (?:[\w-]+ ){1,5}?(?:for|since) (?:[\w-]+ ){0,3}?(?:years?|decades?"
    r"|\d{4})\b",
    rf"\bmy (?:\w+ )?(?:{_FAMILY})(?:'s side)?(?: and i)?(?: \w+)?(?:'s| is| are| was| lives?"
    r"| works?| starts?| got| has| have| goes| turned| called| named| studies| died)\b",
    rf"\b(?:i|we)(?:'ve got| have| own| got) (?:an?|one|two|three|four|five|\d+) (?:\w+ )?"
    rf"(?:{_FAMILY}|siblings?|horse|parrot)\b",
    r"\bi (?:study|studied|graduated|majored|teach|used to be|speak (?!to|with|of|about|up))"
    r"|\bi(?:'ve| have)(?: got| had)? (?:type \d )?(?:diabetes|asthma|adhd|epilepsy|coeliac|celiac"
    r"|dyslexia|a (?:degree|phd|master))\b",
    r"我(?:的名字)?叫|我姓|我是(?:一)?[名个位](?![^，。]{0,4}(?:猫子|吃货|迷|控))"
    r"|我是[^，。]{0,8}(?:人|师|生|员|者|手|长|教授|护士|律师|老板|\d后)|我(?:现在|一直|也)?住(?:在)?|我家在|我来自|我出生|我毕业于"
    r"|我在[^，。]{1,10}(?:上班|工作|长大|读书|上学|任职)|我今年[^，。]{1,5}岁|我的(?:生日|母语|职业|家乡|老家|年龄|专业|工作是)"
    r"|我[教做当]了?[^，。]{0,6}年|我们家有"
    rf"|我(?:的)?(?:{_ZH_FAMILY})(?:是|今年|在|叫|住|上|刚|已)|我有[^，。]{{0,4}}(?:{_ZH_FAMILY})",
)
#: A name is known by its capital alone.
NAMED = regex(r"(?i:\bi'm|\bi am|\bthis is|\bname'?s) [A-Z][a-z]+(?: [A-Z][a-z]+)?(?:[.,!]|$)")

GOAL = _any(
    r"\b(?:my|our|the) (?:[\w']+ ){0,2}?(?:goal|aim|objective|target|dream|ambition|plan|mission"
    r"|resolution)s?(?: (?:this|for|of) (?:\w+ )?\w+)? (?:is|are|was) (?:to|a|an|that)\b",
    rf"{_I}(?:{_SOFT})(?:hope|hoping|intend|intending|plan|planning|aspire|aspiring|aim|aiming"
    r"|dream|dreaming|determined|striving|resolved|working hard|pushing) (?:to|for|of|at)\b",
    rf"\b(?:i|we)(?:'d| would)? (?:{_SOFT}|eventually |definitely )(?:want|wish|need|like|love) to"
    rf" (?:{_STRIVE})\b",
    rf"\b(?:i|we)(?:'d| would)? (?:{_SOFT})(?:want|wish|need|like|love) (?:to|our"
    rf"|my) .{{1,80}}{_HORIZON}",
    rf"\b(?:i|we) (?:{_SOFT})(?:want|need) (?:my|our|the) (?:\w+ ){{1,3}}?to (?:{_STRIVE})\b"
    rf"|\bwe need (?:\w+ ){{1,4}}(?:up|down) (?:by )?\d",
    rf"{_HORIZON},? (?:i|we)(?:'ll| will| {_SOFT}(?:want|hope|plan|intend|need) to)\b",
    rf"(?:\b(?:i|we)(?:'m|'re| am| are|'ve been) |^)(?:{_SOFT})(?:trying|looking"
    rf"|gonna(?: try)?(?: to)?)(?: to)? (?:{_STRIVE})\b|\bgonna try to (?:{_STRIVE})",
    rf"\b(?:i|we)(?:'m|'re| am| are) (?:{_SOFT})(?:trying|looking|going) to .{{1,80}}{_HORIZON}",
    rf"\bwould be (?:great|nice|lovely|amazing) to .{{1,60}}{_HORIZON}|\bon a mission to\b"
    rf"|\bthinking (?:of"
    r"|about) (?:doing|starting|moving|buying|quitting|getting|applying|becoming|opening)\b",
    r"(?:\b(?:i|we)(?:'m|'re| am| are|'ve been|'ve started| have started| started) "
    r"|^)(?:\w+ )?(?:saving(?: up)? for|training for|preparing for|working (?:towards?|on becoming)"
    r"|aiming|studying for|practi[cs]ing for|learning (?:to )?\w+ so)\b",
    r"\bset (?:myself|ourselves) (?:the|a) (?:\w+ )?(?:goal|target)",
    r"我们?的?(?:\w{0,4})(?:目标|梦想|愿望|计划)是|(?:今年|明年|我)的?目标[：:是]"
    r"|我们?(?:正)?在?攒钱",
    r"我们?(?:今年|明年|正在|正|也|一直|还|都)*(?:打算|计划|希望(?!你)|准备(?!好)|努力|立志|争取)",
    r"(?:我们?(?:今年|明年|一直|真的|很|也|还)*|^)想(?!要一|问|知道|看看|请|让你|确认|你|不|到|起"
    r"|法|要个)[^，。]*(?:年|月|岁|前|公斤|有一天|学|成为|减|戒|读|跑|开|买|降|换|当|考)",
    r"我们?要在[^，。]{1,8}(?:前|月|年|通过|完成)|我们?在为[^，。]{1,12}(?:训练|准备|备考|努力|存钱)|我们?正在(?:准备|备考|努力|学)",
)

DECISION = _any(
    r"\b(?:i|we|(?:the|our) team)(?:'ve| have| had)? (?:(?:all|finally|just|both|also|already|now"
    r"|recently|jointly) )*(?:decided|chose(?! between)|chosen|settled on|agreed (?:to|on|that)"
    r"|opted|resolved to|picked(?! up)|voted|concluded|committed to|ruled out"
    r"|went (?:for (?!an? (?:walk|run|swim|drive|ride|coffee|drink|meal))|with)"
    r"|accepted(?! the (?:cookies|terms))|turned down|rejected|approved|signed (?:up|the|off)"
    r"|gone with|selected|scrapped|cancel+ed the|quit (?:my|the)|resigned|said (?:yes|no) to"
    r"|ended up \w+ing)\b",
    r"\blet's (?:go (?:with|for (?!an? ))|use\b|stick (?:with|to)|take the\b|pick|choose|settle"
    r"|stay with|keep\b|make it (?:an? )?(?:\d|\w+day)|drop\b)",
    r"\b(?:i|we)(?:'ll| will|'m|'re| am| are) (?:(?:now|just|definitely) )*(?:go(?:ing)? (?:with"
    r"|for (?!an? ))\b|tak(?:e|ing) the\b|stick(?:ing)? (?:with|to)|drop(?:ping)? "
    r"|switch(?:ing)? (?:from|to)|stay(?:ing)? with|mov(?:e|ing) (?:away )?from|not (?:selling"
    r"|renewing|buying|going ahead|taking)|naming|keeping the|scrapping|replacing|selling the"
    r"|doing \w+,? (?:not|instead))",
    r"^(?:going|went|gone) with\b|\b(?:i|we)'ll \w+ (?:it|them|the \w+) .{1,40} then\.?$"
    r"|^(?:ok,? )?from (?:today|now on|next \w+),? we\b|\bthat'?s (?:done|settled|final|agreed)\b"
    r"|\b(?:board|boss|client|team|manager) (?:signed off|approved)\b",
    r"\b(?:i|we) (?:won't|will not) (?:be )?(?:renew|sell|buy|tak|continu|us|support|extend|hir)",
    r"\bmade up (?:my|our) minds?\b|\bfinal (?:answer|decision|choice)\b|\bit(?:'s| is) (?:settled"
    r"|decided|final|agreed)\b|\b(?:is|are) (?:approved|settled|decided)\b|\bmy decision\b"
    r"|\bwe do it your way\b",
    r"(?:我们?|团队|大家)[^，。]{0,5}(?:决定|选择了|选了|选用|选定|同意|商量好|打定主意|下定决心|拒绝了|接受了|放弃|定了|敲定|不再|说好了|已经(?:辞|签"
    r"|退))|就选|就这么(?:定|办)|那就(?:用|选|按|定)|定在|下定决心|^(?:那|还是)[^，。]{1,10}吧[，,。]?定?了?$|[，,]定了",
)


SIGNALS: tuple[str, ...] = (
    "correction", "reinforcement", "preference", "identity", "goal", "decision",
)  # fmt: skip

_PATTERNS = dict(
    zip(
        SIGNALS,
        (
            *(CORRECTION, REINFORCEMENT, PREFERENCE),
            *(IDENTITY, GOAL, DECISION),
        ),
        strict=True,
    )
)
_MOST_CHARS = 20_000  # A longer turn is pasted text; what it shows of its user stands at its start.
_LONGEST_SENTENCE = 600
_FENCE = regex(r"[ \t]*(?:```|~~~)")
_QUOTED = regex(r"\"[^\"]{1,300}\"|“[^”]{1,300}”|「[^」]{1,300}」|`[^`\n]{1,300}`")
_ASKED = regex(r"[?？]['\")\]]*$|[吗呢]$|^(?:what|which|who|whom|why|how|where|when)\b")
_SUPPOSED = regex(
    r"^(?:and |but |so )?(?:if|suppose|imagine|pretend|say) (?:i|we|you)\b|如果我|假如"
)


def signals(text: str) -> frozenset[str]:
    """The signals in one turn of the user."""
    found: set[str] = set()
    for sentence in _sentences(text[:_MOST_CHARS]):
        low = sentence.lower()
        if _ASKED.search(low) or _SUPPOSED.search(low):
            continue
        found.update(name for name, pattern in _PATTERNS.items() if pattern.search(low))
        if NAMED.search(sentence):
            found.add("identity")
    return frozenset(found)


def _sentences(text: str) -> Iterator[str]:
    """What was said and not pasted, with the inside of quotations blanked."""
    fenced = False
    for line in text.replace("\u2019", "'").splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(">"):
            said = _QUOTED.sub('""', line)
            for start, end in cut_sentences(said):
                if 1 < len(sentence := said[start:end].strip()) <= _LONGEST_SENTENCE:
                    yield sentence
