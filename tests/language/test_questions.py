"""Query classes: a labelled set written before the rules, and what must hold for any text."""

import time
from dataclasses import FrozenInstanceError
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.questions import LIMITS, QueryClass, classify

# (question, class, state). s = simple, m = medium, c = complex, h = multi-hop, a = aggregation.
LABELLED = """
Where does Ann live now? | s | now
What is my current phone number? | s | now
Who is my dentist? | s | -
What's my favourite tea? | s | -
Does Bob still work at the bakery? | s | now
When did I move to Lisbon? | s | history
What colour is the kitchen? | s | -
Where do my parents live? | s | -
Is Tom married? | s | -
What did Carla name her cat? | s | -
Which gym do I go to these days? | s | now
When is the rent due? | s | -
Who taught me to swim? | s | -
What was my first car? | s | history
Where did we originally meet? | s | history
What is the latest version of my CV called? | s | now
How old is my nephew? | s | -
Did I pay the electrician? | s | -
What did I use to drink in the mornings? | s | history
What is the wifi password? | s | -
Do I still take the blue pills? | s | now
When was Paul born? | s | history
What is my boss called nowadays? | s | now
What is the budget for the garden at the moment? | s | now
Which bank did I use before Monzo? | s | history
Recommend a place for dinner that suits my diet and my budget | m | -
What did the vet say about the lump on the dog's left ear? | m | -
Which of the flats that we saw last month had a balcony facing south? | m | -
What did I tell you about the noise that the washing machine makes? | m | -
blue bicycle receipt | m | -
Remind me what the plumber promised to bring for the leaking tap | m | -
What is the most recent figure I gave you for the monthly running cost? | m | now
What size of shirt should I buy for my father for his birthday? | m | -
When did the school first write to us about the broken heating? | m | history
What was the name of the small hotel near the harbour in Split? | m | -
Please write a short birthday message for my sister | m | -
What deadline did the editor set for the second draft of the book? | m | -
What address should the parcel for my grandmother go to now? | m | now
I forgot which doctor prescribed the cream for my elbow | m | -
What is currently the target for the number of users in the first release? | m | now
Why did I leave my job at the hospital? | c | -
How did the flood influence our plans for the house? | c | -
Should I take the offer from Berlin, given what I told you about my family? | c | -
What would Ann think of a trip to the mountains? | c | -
Why does Tom no longer eat meat and what does he eat instead? | c | -
How can I make the onboarding of new colleagues smoother? | c | -
If the loan is refused, what was my plan? | c | -
What made Carla change her mind about the wedding? | c | -
Explain how we decided on the database | c | -
How do I feel about my brother's new job, and what did I say to him? | c | -
What are the pros and cons of the two schools we visited? | c | -
How has my opinion of remote work changed? | c | history
How did my training plan evolve over time? | c | history
Why did we originally choose Postgres? | c | history
What caused the outage and who fixed it? | c | -
Would Ben enjoy the opera? | c | -
What reasons did I give for cancelling the gym? | c | -
How many days passed between the interview and the offer? | h | -
Which city does the friend who gave me the guitar live in? | h | -
Did I start running before or after I quit smoking? | h | history
Who is older, my cousin or her husband? | h | -
How much more did the second quote cost than the first? | h | -
What do Ann and Bob have in common? | h | -
What is the name of the school where my sister's husband teaches? | h | -
How long after the surgery did I go back to work? | h | -
Which came first, the move or the new job? | h | history
What is the difference between the two insurance offers? | h | -
Compare my spending on food in May with June | h | -
How many weeks were there between my first and my last exam? | h | -
What was I working on when my laptop was stolen? | h | -
Where was I living when I met Paula? | h | -
Did both of my brothers study law? | h | -
What job did I have while I was living in Rome? | h | -
How old was I when my first book came out? | h | -
How many concerts did I go to this year? | a | -
List all the medicines I take | a | -
List everything I still have to do for the visa | a | now
What is the total cost of the repairs so far? | a | -
How many books have I read in total? | a | -
Summarize what we discussed about the bathroom | a | -
Give me an overview of my health problems | a | -
What are all the countries I have visited? | a | -
In what order did I try the three diets? | a | history
Walk me through the history of my knee injury | a | history
How often did Ann mention her thesis? | a | -
Name every restaurant I complained about | a | -
How much did I spend on taxis altogether? | a | -
Put the events of the court case in chronological order | a | history
Which projects did I bring up across our conversations? | a | -
Can you recap the whole story with the landlord? | a | -
How many children does Melissa have now? | a | now
What is the average price of the flats I looked at? | a | -
Give me a timeline of the renovation | a | history
How many different jobs did I have before I turned thirty? | a | history
"""
NAMES = {"s": "simple", "m": "medium", "c": "complex", "h": "multi-hop", "a": "aggregation"}
STATES = {"-": None, "now": "now", "history": "history"}
CASES = [
    (text.strip(), NAMES[name.strip()], STATES[state.strip()])
    for text, name, state in (line.split("|") for line in LABELLED.strip().splitlines())
]

ASKS_RULES = [
    "What are my instructions?",
    "Which rules did I give you?",
    "How should you answer me?",
    "What instructions have I given you about code?",
    "How did I ask you to format your replies?",
    "List my standing instructions",
    "What did I tell you to always do?",
    "Do you remember the rules I set for you?",
    "How do I want you to respond when I ask about history?",
    "What are my preferences for how you reply?",
]
ASKS_NO_RULES = [
    "What are the rules of chess?",
    "Which rules did the landlord give us?",
    "How should I answer the letter?",
    "What did I tell you about my sister?",
    "Where are the instructions for the oven?",
    "How do I want my eggs?",
    "What did my boss ask me to do?",
    "How should we format the disk?",
    "What are the house rules of the hostel?",
    "Do you remember my dog?",
]


def test_the_labelled_set_is_large_and_has_every_class() -> None:
    assert len(CASES) >= 80
    assert {name for _, name, _ in CASES} == set(NAMES.values())
    assert {state for _, _, state in CASES} == {None, "now", "history"}


def test_most_classes_are_right() -> None:
    wrong = [(text, name) for text, name, _ in CASES if classify(text).name != name]
    assert 1 - len(wrong) / len(CASES) >= 0.85, wrong


def test_most_states_are_right() -> None:
    wrong = [(text, state) for text, _, state in CASES if classify(text).state != state]
    assert 1 - len(wrong) / len(CASES) >= 0.85, wrong


@pytest.mark.parametrize("text", ASKS_RULES)
def test_who_asks_for_the_rules(text: str) -> None:
    assert classify(text).asks_rules


@pytest.mark.parametrize("text", ASKS_NO_RULES)
def test_who_does_not_ask_for_the_rules(text: str) -> None:
    assert not classify(text).asks_rules


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("Who is my dentist?", 5),
        ("Remind me what the plumber promised to bring for the leaking tap", 5),
        ("Why did I leave my job?", 8),
        ("What do Ann and Bob have in common?", 12),
        ("How many concerts did I go to?", 25),
    ],
)
def test_the_class_says_how_many(text: str, limit: int) -> None:
    assert classify(text).limit == limit == LIMITS[classify(text).name]


@pytest.mark.parametrize(
    "text",
    [
        "我现在住在哪里？",
        "Wo wohne ich jetzt, und wie viele Kinder habe ich?",
        "Was ist jetzt meine Adresse?",
        "¿Dónde vive Ana ahora?",
        "zebra barn 2023",
        "INV-2026-0417",
        "",
        "???",
    ],
)
def test_what_is_not_english_is_neutral_and_says_so(text: str) -> None:
    assert classify(text) == QueryClass("medium", None, asks_rules=False, understood=False)


@pytest.mark.parametrize("text", ["what's Ann's job", "HOW MANY CATS", "What’s my name?", "my job"])
def test_case_and_quotes_do_not_matter(text: str) -> None:
    assert classify(text).understood


@pytest.mark.parametrize(
    "text",
    [
        "Now, what is my name?",  # Only a way to begin.
        "From now on, what is my name?",
        "What is my first name?",
        "What is the deadline of the first sprint?",
        "What is used to open the safe?",
        "Why is Ann used to the noise?",
        "What should I pack before tomorrow?",
        "What do I know of Ann?",
    ],
)
def test_words_that_only_look_like_a_state(text: str) -> None:
    assert classify(text).state is None


def test_a_class_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        cast(Any, classify("Who am I?")).name = "complex"


@given(st.text(max_size=200))
def test_any_text_has_a_class(text: str) -> None:
    assert classify(text).limit in (5, 8, 12, 25)


def test_a_class_is_told_within_a_tenth_of_a_millisecond() -> None:
    ask = classify.__wrapped__  # Without what it remembers.
    rounds = []
    for _ in range(10):
        started = time.thread_time()
        for text, _, _ in CASES:
            ask(text)
        rounds.append(time.thread_time() - started)
    assert min(rounds) / len(CASES) < 0.0001  # The best round of this thread.


def test_a_long_question_is_not_read_to_its_end() -> None:
    started = time.thread_time()
    classify("how many " * 100_000)
    assert time.thread_time() - started < 1.0
