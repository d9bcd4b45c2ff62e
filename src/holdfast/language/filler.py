"""Turns that say nothing: "Noted.", "OK, will do!", "haha", "Vielen Dank 👍".

They keep a conversation going and tell a later reader nothing, so a context does without them. A
turn says nothing when it is short and made up of such phrases alone; one more word ("OK, Tuesday")
and it says something. A bare "yes" or "no" answers whatever was asked: it is not among them, except
beside another of them.
"""

from __future__ import annotations

import re
import unicodedata

from holdfast.language.regex import regex
from holdfast.language.terms import fold

#: Folded, with commas between. By hand.
_PHRASES = """
ok, okay, okey, okie, oki, kk, k, okey dokey, noted, duly noted, got it, gotcha, got that, i got
it, understood, i understand, roger, roger that, copy that, will do, i will do, on it, done, all
done, all good, all right, alright, right, sure, sure thing, of course, certainly, absolutely,
definitely, exactly, indeed, agreed, deal, fine, fair enough, makes sense, that makes sense, i see,
oh i see, sounds good, sounds great, that sounds good, that sounds great, good, great, perfect,
nice, cool, awesome, amazing, excellent, wonderful, fantastic, brilliant, lovely, super, neat,
sweet, wow, very good, very nice, well done, good job, nice one, good point, good to know, looks
good, that works, works for me, thank you, thank you so much, thank you very much, thanks, thanks a
lot, thanks so much, thanks again, thanks a ton, many thanks, thx, ty, tysm, cheers, much
appreciated, appreciate it, i appreciate it, you are welcome, you're welcome, youre welcome,
welcome, no problem, no worries, not at all, my pleasure, anytime, any time, np, yw, haha, hahaha,
hahahaha, hehe, heh, lol, lmao, rofl, hm, hmm, hmmm, mhm, mm, mmm, uh, um, uh huh, ah, aha, oh,
ooh, oh well, hi, hey, hello, hi there, hey there, hello there, good morning, good afternoon, good
evening, good night, bye, bye bye, goodbye, see you, see ya, see you later, see you soon, talk
later, talk soon, talk to you later, ttyl, take care, have a nice day, have a good day, have a
great day, you too, same here, same to you, please, so, well, then, now, and, but, yay, congrats,
congratulations,

alles klar, alles gut, klar, na klar, verstanden, verstehe, ich verstehe, notiert, ist notiert,
vermerkt, ist vermerkt, gut, sehr gut, gut zu wissen, prima, super, toll, genau, stimmt, richtig,
in ordnung, geht klar, passt, das passt, einverstanden, mach ich, mache ich, wird gemacht,
erledigt, danke, danke dir, danke schon, danke sehr, dankeschon, vielen dank, besten dank,
herzlichen dank, tausend dank, bitte, bitte schon, bitte sehr, gern, gerne, gern geschehen, gerne
doch, kein problem, keine ursache, naturlich, selbstverstandlich, ach so, achso, aha, hallo, guten
morgen, guten tag, guten abend, gute nacht, tschuss, bis dann, bis bald, bis spater, schonen tag
noch, ebenso, gleichfalls,

vale, vale gracias, de acuerdo, entendido, lo entiendo, entiendo, anotado, apuntado, tomo nota,
claro, claro que si, por supuesto, perfecto, genial, estupendo, muy bien, bien, bueno, listo,
hecho, asi lo hare, lo hare, gracias, muchas gracias, mil gracias, de nada, no hay problema, sin
problema, con gusto, jaja, jajaja, jajajaja, hola, buenos dias, buenas tardes, buenas noches,
adios, hasta luego, hasta pronto, igualmente, exacto, ya veo,

d'accord, d accord, daccord, entendu, compris, bien compris, j'ai compris, c'est note, c est note,
note, bien note, c'est compris, c'est bon, c'est parfait, tres bien, bien sur, parfait, genial,
super, ca marche, ca roule, bien recu, c'est fait, je vois, exactement, merci, merci beaucoup,
merci bien, mille merci, mille mercis, un grand merci, de rien, je vous en prie, je t'en prie, pas
de probleme, pas de souci, avec plaisir, mdr, ptdr, bonjour, salut, bonsoir, bonne nuit, bonne
journee, au revoir, a bientot, a plus, a plus tard, coucou, s'il te plait, s'il vous plait,
volontiers,

ta bom, esta bem, esta bom, tudo bem, beleza, combinado, certo, anotado, entendi, entendido,
compreendo, percebi, claro, com certeza, otimo, perfeito, legal, muito bem, muito bom, pode deixar,
farei isso, vou fazer, feito, obrigado, obrigada, muito obrigado, muito obrigada, valeu, por nada,
de nada, sem problema, imagina, kkk, kkkk, rsrs, ola, oi, bom dia, boa tarde, boa noite, tchau, ate
logo, ate mais, exato, ja percebi,

oke, prima, goed, heel goed, is goed, helemaal goed, komt goed, komt in orde, in orde, begrepen, ik
begrijp het, snap ik, ik snap het, genoteerd, staat genoteerd, doe ik, zal ik doen, ga ik doen,
gedaan, duidelijk, top, mooi, leuk, geweldig, precies, klopt, natuurlijk, tuurlijk, zeker, dank je,
dank je wel, dankjewel, dank u, dank u wel, bedankt, hartelijk dank, heel erg bedankt, graag
gedaan, geen probleem, geen dank, alsjeblieft, hoi, hallo, goedemorgen, goedemiddag, goedenavond,
goedenacht, welterusten, doei, tot ziens, tot straks, tot later, fijne dag,

va bene, d'accordo, ho capito, capito, ricevuto, annotato, prendo nota, certo, certamente,
perfetto, ottimo, benissimo, molto bene, bene, bravo, brava, fatto, lo faro, sara fatto, grazie,
grazie mille, tante grazie, molte grazie, prego, di niente, di nulla, nessun problema, non c'e
problema, con piacere, volentieri, esatto, giusto, capisco, ciao, buongiorno, buonasera,
buonanotte, arrivederci, a presto, a dopo, a domani, buona giornata, ahah, ahaha, ahahah
"""
#: They answer a question, so alone they say something.
_ANSWERS = (
    "yes, yeah, yep, yup, ja, jep, jawohl, si, oui, ouais, sim, no, nope, nein, non, nao, nee"
)
#: Emoji that do no more than nod, thank, laugh or clap.
_NODDING = frozenset("👍👌🙏😂🤣😊🙂😀😃😄😁😅😆😉☺❤♥💙💚💛💜🧡🎉🎊👏🙌💪✅✔✓☑👋🤗😍🥰✨🤝🫡")
_MOST_WORDS = 8
#: Longer than any eight words of such phrases.
_MOST_CHARACTERS = 80
_WORD = regex(r"\w+(?:['\u2019]\w+)*")


def _alternatives(listed: str) -> str:
    phrases = [" ".join(each.split()) for each in listed.split(",")]
    return "|".join(map(re.escape, sorted(filter(None, phrases), key=len, reverse=True)))


_FILLER = regex(
    rf"(?:(?:{_alternatives(_ANSWERS)}) )*(?:(?:{_alternatives(_PHRASES)})(?: |\Z)"
    rf"(?:(?:{_alternatives(_ANSWERS)})(?: |\Z))*)+"
)


def says_nothing(text: str) -> bool:
    """Whether a turn is made up of words that keep a conversation going, and of nothing else."""
    if len(text) > _MOST_CHARACTERS:
        return False
    words = _WORD.findall(fold(text).replace("\u2019", "'"))
    if len(words) > _MOST_WORDS or not _only_nods(text):
        return False
    return not words or _FILLER.fullmatch(" ".join(words)) is not None


def _only_nods(text: str) -> bool:
    """Whether the text holds no sign that means something: a pizza is an answer."""
    return all(
        sign in _NODDING for sign in text if unicodedata.category(sign) in ("So", "Sc", "Sm")
    )
