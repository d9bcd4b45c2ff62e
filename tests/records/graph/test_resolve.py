"""Which known entity a name means, and why."""

import pytest

from holdfast.language.names import PART, Likeness, Name, is_slip, likeness
from holdfast.records.graph.resolve import AMBIGUOUS, PARTLY, SAME, ResolvableEntity, Resolver

PERSON = "person"


def people(*names: str) -> Resolver:
    return Resolver(ResolvableEntity(name, Name(name, PERSON)) for name in names)


def test_a_given_name_means_the_only_one_who_bears_it() -> None:
    found = people("Bob Smith", "Alice Moreno").resolve("Bob", PERSON)
    assert found.id == "Bob Smith"
    assert found.score == pytest.approx(PART - 0.01)
    assert found.evidence == ("given name", "nobody else is called so")


def test_a_given_name_of_two_means_neither() -> None:
    found = people("Bob Smith", "Bob Jones").resolve("Bob", PERSON)
    assert found.id is None
    assert found.evidence[0] == AMBIGUOUS
    assert [each.id for each in found.candidates] == ["Bob Jones", "Bob Smith"]


def test_a_given_name_of_two_means_the_one_who_is_near() -> None:
    known = people("Bob Smith", "Bob Jones")
    found = known.resolve("Bob", PERSON, near=["Bob Jones", "gone"])
    assert found.id == "Bob Jones"
    assert "spoken of nearby" in found.evidence
    both = known.resolve("Bob", PERSON, near=["Bob Jones", "Bob Smith"])
    assert both.id is None
    assert AMBIGUOUS in both.evidence


def test_who_is_near_is_not_taken_for_a_better_match_elsewhere() -> None:
    known = people("Bob", "Bob Jones")
    assert known.resolve("Bob", PERSON, near=["Bob Jones"]).id == "Bob"


def test_a_merged_short_name_does_not_swallow_another_full_name() -> None:
    known = Resolver([ResolvableEntity("b", Name("Bob", PERSON, ("Bob Smith",)))])
    assert known.resolve("Bob Jones", PERSON).id is None
    assert known.resolve("Bob Jones", PERSON, aliases=["Bob"]).id is None
    assert known.resolve("Robert Smith", PERSON).id == "b"


def test_a_full_name_means_the_short_one_that_was_known() -> None:
    assert people("Bob").resolve("Bob Smith", PERSON).id == "Bob"
    assert people("Bob", "Smith").resolve("Bob Smith", PERSON).id is None


def test_the_same_name_wins_over_a_similar_one() -> None:
    known = people("Robert Smith", "Bob Smith")
    assert known.resolve("bob smith", PERSON).id == "Bob Smith"
    # Between a nickname and a middle name nobody can tell.
    assert AMBIGUOUS in people("Robert Smith", "Bob T. Smith").resolve("Bob Smith", PERSON).evidence


def test_an_acronym_of_two_means_neither() -> None:
    names = ["American Bakers Club", "Austrian Book Company of Vienna", "Alpine Bird Club"]
    known = Resolver(ResolvableEntity(name, Name(name, "organization")) for name in names)
    assert known.resolve("ABC", "organization").id is None
    known.discard("Alpine Bird Club")
    assert known.resolve("ABC", "organization").id == "American Bakers Club"


def test_what_was_discarded_is_meant_no_more() -> None:
    known = people("Bob Smith", "Bob Jones")
    known.discard("Bob Jones")
    assert known.resolve("Bob", PERSON).id == "Bob Smith"
    assert known.resolve("Bob Jones", PERSON).id is None
    assert len(known) == 1


def test_an_alias_counts_as_a_name_on_both_sides() -> None:
    known = Resolver([ResolvableEntity("f", Name("Falcons", "team", ("the Birds",)))])
    assert known.resolve("Birds", "team").id == "f"
    assert known.resolve("Sunday side", "team", aliases=["falcons"]).id == "f"
    known.add(ResolvableEntity("f", Name("Falcons", "team", ("the Birds", "FSC"))))
    assert known.resolve("FSC", "team").id == "f"


def test_an_alias_does_not_bridge_two_versions() -> None:
    known = Resolver([ResolvableEntity("4", Name("GPT-4", aliases=("GPT",)))])
    assert known.resolve("GPT-5", aliases=["GPT"]).id is None
    assert known.resolve("GPT").id == "4"
    known = Resolver([ResolvableEntity("4", Name("GPT model", aliases=("GPT-4",)))])
    assert known.resolve("GPT-5", aliases=["GPT model"]).id is None


@pytest.mark.parametrize(
    ("type", "known", "also", "new"),
    [
        (PERSON, "Robert Smith", "R. Smith", "Rachel Smith"),
        (PERSON, "Bob Smith", "Smith", "Mrs. Smith"),
        (PERSON, "Bob Smith", "Bob", "Bob Jones"),
        (PERSON, "Bob T. Smith", "Bob Smith", "Bob R. Smith"),
        (PERSON, "Kit Fielding", "K. Fielding", "Kate Fieldling"),
        ("organization", "Acme Inc.", "Acme", "Acme GmbH"),
        ("place", "Gate House", "North Gate", "South Gate"),
    ],
)
def test_a_name_must_not_contradict_any_of_those_that_are_one(
    type: str, known: str, also: str, new: str
) -> None:
    joined = Resolver([ResolvableEntity("k", Name(known, type, (also,)))])
    assert joined.resolve(new, type).id is None
    turned = Resolver([ResolvableEntity("k", Name(also, type, (known,)))])
    assert turned.resolve(new, type).id is None


@pytest.mark.parametrize(
    ("known", "also", "new"),
    [
        # Names that contradict each other and are one's all the same say nothing against a third.
        ("Wilhelmina Frost", "Mina Frost", "Mina T. Frost"),
        ("Ann Lee", "Ann Miller", "Ann B. Miller"),
        ("Kit Fielding", "K. Fielding", "Kit Fieldling"),
        ("Robert Smith", "Iron Man", "Bobby Smith"),
        ('Wilhelmina "Mina" Frost', "W. Frost", "Mina Frost"),
    ],
)
def test_several_names_of_one_do_not_shut_out_a_like_one(known: str, also: str, new: str) -> None:
    joined = Resolver([ResolvableEntity("k", Name(known, PERSON, (also,)))])
    assert joined.resolve(new, PERSON).id == "k"


def test_a_short_name_of_several_is_not_a_new_one() -> None:
    known = people("Bob", "Bob Smith", "Bob Jones")
    assert known.resolve("Bob Brown", PERSON).evidence == (AMBIGUOUS, "it may mean 2 more")
    known = people("J. Whitcombe", "James Whitcombe")
    assert known.resolve("Jacob Whitcombe", PERSON).id is None
    assert people("J. Whitcombe").resolve("Jacob Whitcombe", PERSON).id == "J. Whitcombe"


def test_one_made_over_another_leaves_it_as_it_is() -> None:
    base = people("Bob Smith", "Ann Lee")
    over = Resolver(base=base)
    over.add(ResolvableEntity("j", Name("Bob Jones", PERSON)))
    over.discard("Ann Lee")
    assert over.resolve("Bob", PERSON).evidence[0] == AMBIGUOUS
    assert over.resolve("Ann", PERSON).id is None
    assert (len(over), len(base)) == (2, 2)
    assert base.resolve("Bob", PERSON).id == "Bob Smith"
    assert base.resolve("Ann", PERSON).id == "Ann Lee"
    over.add(ResolvableEntity("Bob Smith", Name("Robert Smithson", PERSON)))
    assert over.resolve("Bob Jones", PERSON).id == "j"
    assert base.resolve("Robert Smith", PERSON).id == "Bob Smith"


def test_only_those_who_may_be_meant_are() -> None:
    known = people("Bob Smith", "Bob Jones")
    assert known.resolve("Bob", PERSON, among=lambda each: each != "Bob Jones").id == "Bob Smith"
    assert known.resolve("Bob", PERSON, near=["Bob Jones"], among=lambda _: False).id is None


def test_an_entity_that_is_renamed_over_and_over_crowds_nobody_out() -> None:
    known = people("Bob Smith")
    for number in range(200):
        known.add(ResolvableEntity("n", Name("Bob Jones", PERSON, (f"Bob {'x' * number}y",))))
    known.discard("n")
    known.add(ResolvableEntity("n", Name("Bob Jones", PERSON)))
    assert {each.id for each in known.resolve("Bob", PERSON).candidates} == {"Bob Smith", "n"}


@pytest.mark.parametrize("other", ["place", "organization", "event", "document"])
def test_types_that_differ_never_merge(other: str) -> None:
    known = Resolver([ResolvableEntity("w", Name("Washington", PERSON))])
    assert known.resolve("Washington", other).id is None
    assert known.resolve("Washington").id == "w"
    assert likeness(Name("W", PERSON), Name("W", other)) == Likeness(0.0, ("another type",))


def test_a_longer_name_of_unknown_type_is_not_a_person() -> None:
    known = people("Pippa")
    assert known.resolve("Pippa Adventures").id is None
    assert known.resolve("The Pippa").id == "Pippa"
    assert people("Ada Linden").resolve("Smiling Ada Linden").id is None
    assert people("Bob Smith").resolve("Bob").id == "Bob Smith"


def test_thresholds_are_the_callers() -> None:
    known = [ResolvableEntity("b", Name("Bob Smith", PERSON))]
    assert Resolver(known, partly=0.9).resolve("Bob", PERSON).id is None
    assert Resolver(known, threshold=0.95).resolve("Robert Smith", PERSON).id == "b"
    assert Resolver(known, threshold=0.95, partly=0.95).resolve("Robert Smith", PERSON).id is None


def test_a_crowd_is_ambiguous_and_bounded() -> None:
    known = people(
        *(f"Bob Surname{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10]}" for i in range(99))
    )
    found = known.resolve("Bob", PERSON)
    assert found.id is None
    assert AMBIGUOUS in found.evidence
    assert len(found.candidates) == 5
    assert known.resolve("Bob", PERSON, near=["Bob Surnamejt", "Bob Surnameit"]).id == (
        "Bob Surnameit"
    )


@pytest.mark.parametrize(
    "name", ["", "  ", "...", "🚀", "'s", "the", "(", '"', ",", "I", "a" * 300]
)
def test_odd_names_are_resolved_to_themselves_at_most(name: str) -> None:
    known = people("Bob Smith", "I", "the")
    found = known.resolve(name, PERSON)
    assert found.id in (None, name)
    known.add(ResolvableEntity("odd", Name(name, PERSON)))
    assert known.resolve("Bob Smith", PERSON).id == "Bob Smith"


@pytest.mark.parametrize(
    ("a", "b", "type", "score", "evidence"),
    [
        ("Bob Smith", "BOB  SMITH", PERSON, 1.0, "same name"),
        ("The Bell Inn", "Bell-Inn", "place", 0.99, "same words"),
        ("Smith, Bob", "Bob Smith", PERSON, 0.97, "family name first"),
        ("Data Works", "DataWorks", "organization", 0.97, "same letters"),
        ("Acme Inc.", "Acme", "organization", 0.96, "same but for the legal form"),
        ("Dr. Bob Smith", "Bob Smith", PERSON, 0.95, "same but for a title"),
        ("IBM", "International Business Machines", "organization", 0.95, "acronym"),
        ("Mary Anne Tucker", "Mary Tucker", PERSON, 0.95, "a given name left out"),
        ("J. R. Whitcombe", "John Robert Whitcombe", PERSON, 0.94, "initials"),
        ("U.K.", "Great Britain", "place", 0.94, "names of one place"),
        ("code reviews", "code review", "concept", 0.93, "plural"),
        ("Bob Smith", "Robert Smith", PERSON, 0.92, "nickname"),
        ("2030 Games", "Games 2030", "event", 0.92, "same words in another order"),
        ("Vargas Mora", "Antonio Vargas Mora", PERSON, 0.91, "family names"),
        ("Novosibirsk", "Novosibrisk", "place", 0.9, "spelling: novosibirsk, novosibrisk"),
        ("J. Whitcombe", "John Whitcombe", PERSON, 0.84, "one initial"),
        ("GPT-4", "GPT-5", "concept", 0.0, "numbers differ"),
        ("North Gate", "South Gate", "place", 0.0, "sides differ"),
        ("Acme Inc.", "Acme GmbH", "organization", 0.0, "legal forms differ"),
        ("King Edmund", "Prince Edmund", PERSON, 0.0, "titles differ"),
    ],
)
def test_each_rule_says_what_it_saw(a: str, b: str, type: str, score: float, evidence: str) -> None:
    found = likeness(Name(a, type), Name(b, type))
    assert found.score == pytest.approx(score)
    assert found.evidence == (evidence,)
    assert likeness(Name(b, type), Name(a, type)).score == found.score


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("kowalczyk", "kowalczk", True),  # one less
        ("kowalczyk", "kowalcyzk", True),  # two that changed places
        ("kowalczyk", "kowalazyk", True),  # another
        ("kowalczyk", "kowaalczyk", True),  # one more
        ("kowalczyk", "kowlaczky", False),  # two slips
        ("kowalczyk", "howalczyk", False),  # at the start
        ("stephens", "stephend", False),  # at the end
        ("hansen", "hanson", False),  # too short to believe
    ],
)
def test_a_slip_of_the_pen(a: str, b: str, expected: bool) -> None:
    assert is_slip(a, b) is is_slip(b, a) is expected


def test_parts_score_below_what_merges_by_itself() -> None:
    assert PARTLY <= PART < SAME
