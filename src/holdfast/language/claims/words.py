"""The closed classes that reading a claim needs: irregular verbs, kinds of nouns, turns of phrase.

Only what grammar or the world fixes for everybody stands here; nothing is of one person or topic.
"""

from __future__ import annotations

import re

from holdfast.language.lexicon import CARDINALS, COUPLE, GRANDPARENTS, KIN, ORDINALS, WEEKDAY

#: Present form -> past forms, for verbs whose stem changes.
_IRREGULAR = """
be:was,were,been am:am become:became begin:began,begun bite:bit,bitten break:broke,broken
bring:brought build:built buy:bought catch:caught choose:chose,chosen come:came do:did,done
draw:drew,drawn drink:drank,drunk drive:drove,driven eat:ate,eaten fall:fell,fallen feel:felt
fight:fought find:found fly:flew,flown forget:forgot,forgotten get:got,gotten give:gave,given
go:went,gone grow:grew,grown have:had hear:heard hold:held keep:kept know:knew,known lead:led
leave:left lend:lent lose:lost make:made mean:meant meet:met pay:paid ride:rode,ridden ring:rang
run:ran say:said see:saw,seen sell:sold send:sent sing:sang,sung sit:sat sleep:slept
speak:spoke,spoken spend:spent stand:stood steal:stole,stolen swim:swam,swum take:took,taken
teach:taught tell:told think:thought throw:threw,thrown understand:understood wake:woke,woken
wear:wore,worn win:won write:wrote,written
"""
#: Words for one thing.
_ALIKE = """
allergy:allergic,allergies colour:color,colors,colours favourite:favorite,favourites,favorites
mother:mum,mom,mommy,mummy father:dad,daddy phone:cellphone,smartphone,mobile
name:called,named,spelled
like:love,loves,enjoy,enjoys,likes,adore,adores,loved,liked,enjoyed,loving,liking,enjoying
like:hate,hates,dislike,dislikes,despise,despises,detest,detests,hated,disliked fly:flown,flying
child:children,kid,kids person:people tv:television
"""


def _forms(lines: str) -> dict[str, str]:
    return {
        form: one
        for one, _, forms in (each.partition(":") for each in lines.split())
        for form in forms.split(",")
    }


PAST_TO_PRESENT = _forms(_IRREGULAR)
ALIKE = {**PAST_TO_PRESENT, **_forms(_ALIKE)}
#: Forms that only the past tense has, not the participle alone.
PASTS = frozenset(PAST_TO_PRESENT) - {"been", "am", "done", "gone", "become", "come", "run"}

_SCAFFOLD = """
actual alreadi also am and any anyth anyon be current do does ever even get go got had has have i it
just lot made make moment never no not now nowaday one person quit real realli still take thing time
use user veri way well work-as year-old day-to-day call name pay
"""
#: What any statement is put with: counts for nothing when two are compared.
SCAFFOLD = frozenset(_SCAFFOLD.split())

_NUMBERS = f"""
zero {CARDINALS} thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty
"""
NUMBERS = {word: str(number) for number, word in enumerate(_NUMBERS.split())} | {
    "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100", "dozen": "12",
}  # fmt: skip
_LABELLED = """
step part chapter phase question equation option section page item task problem exercise figure
table unit module project episode season test example
"""
#: A figure after one of these tells which one it is, not how many.
LABELLED = frozenset(_LABELLED.split())
#: Of these the ordinal is a value: "the third floor"; before any other noun it tells which.
RANKED = r"(?:floor|grade|place|year|class|row|league|trimester|of)"
RANKS = {word: str(number) for number, word in enumerate(ORDINALS.split(), 1)}
CURRENCIES = (
    r"(?:euros?|dollars?|pounds?|francs?|yen|rupees?|kronor|kroner|crowns?|usd|eur|gbp|chf)"
)

_ROLES = f"""
manager boss supervisor dentist doctor gp therapist teacher landlord landlady {COUPLE} spouse coach
trainer tutor mentor advisor adviser accountant lawyer hairdresser barber vet pediatrician
paediatrician principal headteacher successor predecessor optician physio physiotherapist caretaker
captain chair chairman roommate flatmate
"""
#: Of these a person has one at a time: whoever comes later has taken the place.
ROLES = frozenset(_ROLES.split())
_PEOPLE = f"""
{KIN} {GRANDPARENTS} parent sibling child granny friend colleague coworker neighbour neighbor baby
classmate client customer guest intern assistant man woman boy girl guy family folks dog cat
"""
#: They are at several places, and move by themselves.
PEOPLE = (
    ROLES
    | {form for one in _PEOPLE.split() for form in (one, f"{one}s", ALIKE.get(one, one))}
    | {"kid", "kids", "children", "people"}
)
_SITUATED = """
office studio store shop workshop practice clinic headquarters hq warehouse factory branch school
house flat apartment cabin cottage garage room desk bed locker storage garden allotment
insurance account mortgage pension contract policy subscription plan savings internet broadband
bike bicycle car van boat caravan motorbike scooter piano laptop passport suitcase wallet luggage
site website server database app api service backup backups repo repository code domain blog
meeting wedding party conference class course lesson training practice workshop ceremony reception
exam interview appointment retreat funeral concert
"""
#: "In" says of these in which language they are, or how far.
DIGITAL = frozenset({"site", "website", "database", "app", "api", "service", "code", "blog"})
#: Of these each is at one place, or with one company, at a time.
SITUATED = frozenset(_SITUATED.split())
_NEUTRAL = "plan schedul due set start begin leav depart happen book cost"
#: With a time or a sum these say only that it is so: "the launch is planned for May".
NEUTRAL = frozenset(_NEUTRAL.split())
_EVENTS = "flight train bus appoint meet call interview exam lesson shift session class trip match"
#: Of these there is one after the other, as stems.
EVENTS = frozenset(_EVENTS.split())
_MANY = """
friend colleagu cowork cousin neighbour neighbor client custom student classmat uncl aunt nephew
niec grandchild grandson granddaught
"""
#: Of these people a person has several, as stems.
MANY = frozenset(_MANY.split())
_ATTRIBUTES = """
address birthday breed code colour deadline diet email employer goal handle hometown job major
nickname occupation password position profession role status target timezone title type username
version
"""
#: Abstract attributes: whatever follows is their value, but for a word on how they are.
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
_MEASURED = """
age budget dose fee height income limit number pin port price record rent salary score size weight
"""
#: Attributes that are measured: only a figure is their value.
MEASURED = frozenset(_MEASURED.split())
_THINGS = """
apartment bank bicycle bike book browser camera car city class club company computer country course
editor flat game gym hobby house keyboard laptop office os phone plan printer project provider room
router school seat server song subject tablet team theme university watch website
"""
#: Things of which one is in use; a bare word after them is how they are, not which they are.
THINGS = frozenset(_THINGS.split())
_DEVICES = """
phone laptop computer tablet watch camera car bike house flat apartment printer router keyboard tv
server team company account project app site website codebase
"""
#: Switched to something these are set otherwise, not others.
DEVICES = frozenset(_DEVICES.split())
#: After a noun and "is": how it is or what it does, not what it is.
MANNER = re.compile(
    r"(?:too|very|so|quite|rather|really|pretty|always|often|usually|\w+ing|good|bad|great|fine|ok"
    r"|okay|high|low|big|small|new|old|wrong|right|correct|incorrect|secret|public|private|unknown"
    r"|unclear|terrible|perfect|important|easy|hard|difficult|close|far|near|expensive|cheap|ready"
    r"|done|missing|broken|late|early|in|on|at|under|over|from|for|about|with|to)\b",
    re.I,
)
#: What does not change with time: said otherwise later, one of both is wrong.
STABLE = frozenset(
    {"name", "birthday", "birthplace", "anniversary", "maiden", "surname", "birthdate"}
)

_PLACES = """
afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan bahrain
bangladesh belarus belgium belize benin bhutan bolivia bosnia botswana brazil brunei bulgaria
burundi cambodia cameroon canada chad chile china colombia congo croatia cuba cyprus czechia denmark
djibouti ecuador egypt england eritrea estonia ethiopia fiji finland france gabon gambia germany
ghana greece greenland grenada guatemala guinea guyana haiti honduras hungary iceland india
indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya kosovo kuwait
kyrgyzstan laos latvia lebanon lesotho liberia libya liechtenstein lithuania luxembourg madagascar
malawi malaysia maldives mali malta mauritius mexico moldova monaco mongolia montenegro morocco
mozambique myanmar namibia nepal netherlands nicaragua niger nigeria norway oman pakistan panama
paraguay peru philippines poland portugal qatar romania russia rwanda samoa scotland senegal serbia
singapore slovakia slovenia somalia spain sudan suriname sweden switzerland syria taiwan tajikistan
tanzania thailand togo tunisia turkey turkmenistan uganda ukraine uruguay uzbekistan venezuela
vietnam wales yemen zambia zimbabwe uk usa us britain america europe asia africa scandinavia
"""
#: Countries and larger: somebody who lives in one lives in a town of it as well.
LANDS = frozenset(_PLACES.split())

UNCERTAIN = re.compile(
    r"\b(?:i (?:think|guess|believe|suppose|assume)|maybe|perhaps|probably|possibly|(?:not|un)sure"
    r"|might|may be|apparently|(?:it )?seems?|could be|(?:just )?(?:kidding|joking)|if i remember"
    r"|as far as i know)\b",
    re.I,
)
#: In a story, at another time, at another place: not how it is.
SUPPOSED = re.compile(
    r"\b(?:for this (?:exercise|example|game|story|scenario)"
    r"|in (?:my|the|this|our|a) (?:novel|story|dream|game|simulation|scenario|role-?play)"
    r"|(?:at|in) my (?:old|last|previous|former|first)"
    r"|starting (?:next|in|from)|from next|pretend|imagine|suppos(?:e|ing)|hypothetically"
    r"|let us say|role-?play)\b",
    re.I,
)
WISH = re.compile(
    r"\b(?:want(?:s|ed)?|hop(?:e|es|ing)|plan(?:s|ning)? (?:to|on)|going to (?!school|work|church)"
    r"|gonna|looking forward|upcoming|will|would|wish|dream of|considering|if|should|could|might"
    r"|thinking (?:of|about)|intend)\b",
    re.I,
)
#: Openings by which somebody takes back what was said before.
CORRECTS = re.compile(
    r"(?:(?:oh|ah|hm+|well|okay|ok)[,:;.!]*\s+)?"
    r"(?:(?:sorry|oops|wait|no|nope|actually|correction|rather|to correct (?:myself|that)"
    r"|i (?:meant(?: to say)?(?: that)?|mean))(?:[,:;.!]+\s*|\s+)"
    r"|(?:i (?:was|am) (?:wrong|mistaken)(?: about that| there)?"
    r"|i (?:(?:have )?made a mistake|misspoke|misread(?: it| that)?|miscounted|mistyped"
    r"|misremembered|got (?:it|that) wrong)|my (?:mistake|bad)"
    r"|that (?:was|is) (?:wrong|not right|not correct|incorrect|a mistake|a typo)"
    r"|let me correct (?:that|myself)|i (?:double-)?checked)[,:;.!]+\s*)+",
    re.I,
)
CORRECTED = re.compile(
    r"[,;]\s*(?:i|we) (?:misread|wrote|typed|forgot|misremembered|mixed|confused|misheard|got|was"
    r" wrong|made a mistake|miscounted|misspoke)\b[^,;]*$",
    re.I,
)
#: Of these openings those that can mean nothing else; "no" may answer a question.
SURELY = re.compile(
    r"\b(?:correct(?:ion)?|wrong|mistaken?|mis\w+|meant|my bad|typo|not right|incorrect)\b", re.I
)
NOT_THAT = re.compile(r",\s*(?:and )?not ([^,;.]{1,60})$", re.I)
NOT_FIRST = re.compile(r"not ([^,;.]{1,60}),\s+", re.I)
ENDED = re.compile(
    r"\bno longer\b|\bany ?more\b|\b(?:stopped|quit|ceased|gave up)\b(?= \w+ing\b| \w+$)", re.I
)
SWITCH = re.compile(
    r"\b(?:switch|chang|migrat|transferr?|mov|upgrad|convert)(?:e|ed|ing)?\b"
    r"(?P<what>[^,;.]{0,40}?)(?:\bfrom (?P<left>[^,;.]{1,60}?) )?(?:over )?\b(?:to|into)\b",
    re.I,
)
INSTEAD = re.compile(
    r"\b(?:instead of|rather than|in place of) "
    r"(?P<left>(?:the |my |our |an? )?[\w'-]+(?: [\w'-]+)?)",
    re.I,
)
REPLACED = re.compile(r"\breplaced (?P<left>[^,;.]{1,60}?) (?:with|by)\b", re.I)
ANOTHER = re.compile(r"\bto (?:another|a new|a different) (?P<left>[\w-]+)", re.I)
LATELY = re.compile(
    r"\b(?:now|nowadays|these days|currently|at the moment|lately|by now|(?:from|since) now on"
    r"|from now|as of (?:today|now)|this (?:year|month|week|term|season))\b",
    re.I,
)
#: One time, a time to come, or one long ago: what holds now does not change by it.
ONCE = re.compile(
    r"\b(?:today|tonight|tomorrow|this (?:time|once|morning|afternoon|evening|week|weekend)|soon"
    r"|for (?:once|now|a (?:day|week|bit|while))|temporarily|next (?:week|month|year|time|summer"
    r"|winter|spring|autumn|fall|term)|when (?:i|we) (?:was|were)|as (?:an? )?(?:child|kid|teenager"
    r"|student|boy|girl)|(?:years?|months|decades) ago|back (?:then|when|in)|in (?:19|20)\d\d"
    r"|used to|originally|at first|once(?! an?\b| per\b)|last (?:week|year|summer|winter"
    r"|spring|autumn|fall|time)"
    r"|in \w+ (?:days|weeks|months|years)|almost|nearly|had)\b",
    re.I,
)
#: From now on; what is so "at the moment" or "this month" may be so for that time only.
ANEW = re.compile(
    r"(?<!\buntil )(?<!\bup to )(?<!\bfor )\bnow\b(?! and (?:then|again)\b| that\b)"
    r"|\b(?:nowadays|these days|as of today)\b",
    re.I,
)
#: Beside what there is, not in its place.
BESIDE = re.compile(
    r"\b(?:also|too|as well|another|besides|both|in addition"
    r"|(?<!every )(?:second|other))\b",
    re.I,
)
#: For whom, when or where a figure holds.
QUALIFIED = re.compile(
    r"\b(?:on|at|for|in|before|after|during|when|if|until|with|without|excluding|including|from)"
    r" (?P<of>.+)",
    re.I,
)
HABIT = re.compile(rf"\b(?:every {WEEKDAY}s?|{WEEKDAY}s)\b", re.I)
#: One more of what there is: whatever it is said of, it takes nobody's place.
OTHER = re.compile(r"\b(?:my|our|the|\w+'s|his|her) other\b|\banother\b", re.I)
AGAIN = re.compile(r"\bagain\b(?!st)", re.I)
_AVOIDED = """
vegetarian:meat,chicken,beef,pork,fish,bacon
vegan:meat,chicken,beef,pork,fish,bacon,cheese,egg,dairi
pescatarian:meat,chicken,beef,pork,bacon teetot:alcohol,wine,beer
"""
#: What somebody does not take who is one of these.
AVOIDED = {
    one: frozenset(some.split(","))
    for one, _, some in (each.partition(":") for each in _AVOIDED.split())
}
#: Says when or how a statement holds, not what it says.
ASIDE = re.compile(
    r"\b(?:now|nowadays|these days|currently|at the moment|lately|actually|really|still|already"
    r"|just|also|simply|definitely|of course|any ?more|no longer|again|this (?:year|term|season)"
    r"|(?:stopped|quit|ceased|gave up)(?= \w+ing\b))\b"
    r"|\bsince (?:the|my|our) [\w-]+(?: [\w-]+)?$",
    re.I,
)
_ASIDES = """
now nowadays these currently moment lately actually really still already just also simply definitely
course anymore more longer again year term season since stopped quit ceased gave
"""
#: One of these is in every aside.
ASIDES = frozenset(_ASIDES.split())
NEGATED = re.compile(
    r"\b(?:not(?! (?:just|only|merely|sure)\b)|never|no|none|without|nobody|nothing|neither)\b",
    re.I,
)
DISLIKES = re.compile(
    r"\b(?:hates?|dislikes?|despises?|detests?|can not stand|hated|disliked)\b", re.I
)
LIKES = re.compile(
    r"\b(?:likes?|loves?|enjoys?|adores?|prefers?|fond of|liked|loved|enjoyed)\b", re.I
)

#: Between a subject and its verb.
AUXILIARY = frozenset(
    {
        *(
            "am",
            "is",
            "are",
            "was",
            "were",
            "be",
            "been",
            "have",
            "has",
            "had",
            "do",
            "does",
            "did",
        ),
        *(
            "not",
            "never",
            "can",
            "will",
            "would",
            "also",
            "now",
            "really",
            "just",
            "still",
            "always",
        ),
        *("often", "usually", "already", "currently", "actually", "mostly", "no", "longer"),
    }
)
