"""Turns that say nothing are told from short ones that say something."""

import pytest

from holdfast.language.filler import says_nothing


@pytest.mark.parametrize(
    "text",
    [
        "Noted.", "OK.", "Got it.", "Will do.", "thanks!", "haha", "Ok, sounds good. Thank you!!",
        "Yes, thanks", "You’re welcome 😊", "👍🏽", "...", "", "Great, thank you so much!",
        "Alles klar, danke schön!", "Verstanden, mach ich.", "Ja, gerne", "Hallo! Vielen Dank",
        "¡Muchas gracias!", "Vale, entendido", "Sí, perfecto. Gracias.", "Jajaja",
        "C'est noté, merci.", "D’accord, ça marche", "Très bien, à bientôt !",
        "Tá bom, muito obrigada", "Combinado, até logo!", "Bom dia",
        "Oké, doe ik", "Dank je wel!", "Is goed, tot straks",
        "Va bene, grazie mille", "Ho capito. Perfetto!", "Ciao, buona giornata",
    ],
)  # fmt: skip
def test_says_nothing(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "Yes.", "No", "Nein.", "OK, Tuesday", "Thanks, Ann", "I do", "🍕", "42", "£5",
        "+1 555 0100", "Good course", "OK, I moved to Lisbon.", "Noted: the door code is 4711",
        "Danke, bis Montag", "Gracias por el vino", "Merci pour Lyon", "Fine wine",
        "谢谢你的书", "Great, the blue one", "ok " * 9,
    ],
)  # fmt: skip
def test_says_something(text: str) -> None:
    assert not says_nothing(text)
