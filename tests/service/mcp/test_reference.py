"""The nine tools of the reference memory server: what an unmodified client expects of each."""

from typing import Any

import pytest
from mcp import Client

from holdfast.memory.memory import Memory
from holdfast.service.mcp.asker import Asker
from holdfast.service.mcp.reference import TOOLS
from tests.service.mcp.driving import ANN, MODES, Driver, drive, text_of

BOB = {"name": "Bob", "entityType": "Person", "observations": ["Likes tea", "Speaks Dutch"]}
ACME = {"name": "Acme", "entityType": "Company", "observations": ["Makes anvils"]}
WORKS = {"from": "Bob", "to": "Acme", "relationType": "works_at"}


def graph(*entities: dict[str, Any], relations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"entities": list(entities), "relations": relations}


@pytest.mark.parametrize("mode", MODES)
def test_what_was_created_is_read(memory: Memory, mode: str) -> None:
    async def script(mcp: Driver) -> None:
        assert await mcp.call("read_graph") == graph(relations=[])
        assert await mcp.call("create_entities", entities=[BOB, ACME]) == {"entities": [BOB, ACME]}
        assert await mcp.call("create_relations", relations=[WORKS]) == {"relations": [WORKS]}
        assert await mcp.call("read_graph") == graph(BOB, ACME, relations=[WORKS])

    drive(memory, script, mode=mode)


def test_only_new_entities_come_back_and_known_ones_stay_as_they_are(memory: Memory) -> None:
    async def script(mcp: Driver) -> None:
        await mcp.call("create_entities", entities=[BOB])
        other = {**BOB, "entityType": "robot", "observations": ["Is made of tin"]}
        assert await mcp.call("create_entities", entities=[other, ACME]) == {"entities": [ACME]}
        assert await mcp.call("create_entities", entities=[BOB, ACME]) == {"entities": []}
        assert await mcp.call("read_graph") == graph(BOB, ACME, relations=[])

    drive(memory, script)


def test_names_count_with_their_case_and_their_spaces(memory: Memory) -> None:
    twins = [
        {"name": name, "entityType": "x", "observations": [name]}
        for name in ("Bob", "bob", "BOB", "Bob ", "Bob  B", "Bob B", "Böb", "B\nob")
    ]

    async def script(mcp: Driver) -> None:
        assert await mcp.call("create_entities", entities=twins) == {"entities": twins}
        assert (await mcp.call("read_graph"))["entities"] == twins
        (found,) = (await mcp.call("open_nodes", names=["bob"]))["entities"]
        assert found == twins[1]
        await mcp.call("delete_entities", entityNames=["bob"])
        left = (await mcp.call("read_graph"))["entities"]
        assert left == [twins[0], *twins[2:]]

    drive(memory, script)


def test_relations_come_once_and_need_no_entities(memory: Memory) -> None:
    loose = {"from": "Nobody", "to": "Nowhere", "relationType": "lives in"}

    async def script(mcp: Driver) -> None:
        await mcp.call("create_entities", entities=[BOB])
        both = {"relations": [WORKS, loose]}
        assert await mcp.call("create_relations", relations=[WORKS, loose]) == both
        assert await mcp.call("create_relations", relations=[loose, WORKS]) == {"relations": []}
        assert await mcp.call("read_graph") == graph(BOB, relations=[WORKS, loose])
        # The type counts to the letter.
        shout = {**WORKS, "relationType": "WORKS_AT"}
        assert await mcp.call("create_relations", relations=[shout]) == {"relations": [shout]}
        # An end that is made later is the one that was meant.
        assert await mcp.call("create_entities", entities=[ACME]) == {"entities": [ACME]}
        found = memory.graph.traverse("Bob", user="ann", depth=1)
        assert {node.name for node in found.nodes} == {"Bob", "Acme"}

    drive(memory, script)


def test_observations_are_added_once_and_only_to_what_exists(memory: Memory) -> None:
    async def script(mcp: Driver) -> None:
        await mcp.call("create_entities", entities=[BOB, ACME])
        told = [
            {"entityName": "Bob", "contents": ["Likes tea", "Has a cat", "likes tea"]},
            {"entityName": "Acme", "contents": []},
        ]
        assert await mcp.call("add_observations", observations=told) == {
            "results": [
                {"entityName": "Bob", "addedObservations": ["Has a cat", "likes tea"]},
                {"entityName": "Acme", "addedObservations": []},
            ]
        }
        everything = [*BOB["observations"], "Has a cat", "likes tea"]
        (bob,) = (await mcp.call("open_nodes", names=["Bob"]))["entities"]
        assert bob["observations"] == everything

    drive(memory, script)


def test_an_unknown_entity_is_named_and_nothing_is_added(memory: Memory) -> None:
    async def script(mcp: Driver) -> None:
        await mcp.call("create_entities", entities=[BOB])
        told = [
            {"entityName": "Bob", "contents": ["Has a cat"]},
            {"entityName": "bob", "contents": ["Has a dog"]},
        ]
        words = await mcp.refused("add_observations", observations=told)
        assert words == "Entity with name bob not found"
        assert await mcp.call("read_graph") == graph(BOB, relations=[])

    drive(memory, script)


def test_with_an_entity_go_its_observations_and_relations(memory: Memory) -> None:
    back = {"from": "Acme", "to": "Bob", "relationType": "employs"}
    loose = {"from": "Zoe", "to": "Acme", "relationType": "owns"}

    async def script(mcp: Driver) -> None:
        await mcp.call("create_entities", entities=[BOB, ACME])
        await mcp.call("create_relations", relations=[WORKS, back, loose])
        done = await mcp.call("delete_entities", entityNames=["Bob", "Nobody"])
        assert done == {"success": True, "message": "Entities deleted successfully"}
        assert await mcp.call("read_graph") == graph(ACME, relations=[loose])
        assert not memory.recall("Dutch", user="ann")
        # One that nobody made goes as well, where relations name it.
        await mcp.call("delete_entities", entityNames=["Zoe"])
        assert await mcp.call("read_graph") == graph(ACME, relations=[])
        # Made anew it is new: nothing of the old one comes back.
        bare = {**BOB, "observations": ["Likes tea"]}
        assert await mcp.call("create_entities", entities=[bare]) == {"entities": [bare]}
        assert await mcp.call("read_graph") == graph(ACME, bare, relations=[])

    drive(memory, script)


def test_observations_are_deleted_by_their_exact_text(memory: Memory) -> None:
    async def script(mcp: Driver) -> None:
        await mcp.call("create_entities", entities=[BOB, ACME])
        gone = [
            {"entityName": "Bob", "observations": ["Likes tea", "speaks dutch", "Nothing"]},
            {"entityName": "Nobody", "observations": ["Likes tea"]},
        ]
        done = await mcp.call("delete_observations", deletions=gone)
        assert done == {"success": True, "message": "Observations deleted successfully"}
        left = {**BOB, "observations": ["Speaks Dutch"]}
        assert await mcp.call("read_graph") == graph(left, ACME, relations=[])
        # It can be observed again.
        again = [{"entityName": "Bob", "contents": ["Likes tea"]}]
        (added,) = (await mcp.call("add_observations", observations=again))["results"]
        assert added["addedObservations"] == ["Likes tea"]
        (bob,) = (await mcp.call("open_nodes", names=["Bob"]))["entities"]
        assert bob["observations"] == ["Speaks Dutch", "Likes tea"]

    drive(memory, script)


def test_relations_are_deleted_by_ends_and_type(memory: Memory) -> None:
    async def script(mcp: Driver) -> None:
        await mcp.call("create_entities", entities=[BOB, ACME])
        others = [{**WORKS, "relationType": "likes"}, {**WORKS, "from": "Acme", "to": "Bob"}]
        await mcp.call("create_relations", relations=[WORKS, *others])
        unknown = {**WORKS, "to": "Nowhere"}
        done = await mcp.call("delete_relations", relations=[WORKS, unknown])
        assert done == {"success": True, "message": "Relations deleted successfully"}
        assert await mcp.call("read_graph") == graph(BOB, ACME, relations=others)
        assert await mcp.call("create_relations", relations=[WORKS]) == {"relations": [WORKS]}

    drive(memory, script)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("bob", ["Bob"]),  # the name
        ("COMPANY", ["Acme"]),  # the type
        ("dutch", ["Bob"]),  # an observation
        ("a", ["Acme", "Lisbon"]),  # a part of either
        ("", ["Bob", "Acme", "Lisbon"]),  # everything
        ("%", []),  # no pattern
        ("likes tea speaks", []),  # not across observations
    ],
)
def test_search_looks_for_a_part_of_a_text(memory: Memory, query: str, found: list[str]) -> None:
    lisbon = {"name": "Lisbon", "entityType": "place", "observations": []}
    bob = {**BOB, "observations": ["Likes te", "Speaks Dutch"]}
    acme = {**ACME, "observations": ["Makes anvils"]}

    async def script(mcp: Driver) -> None:
        await mcp.call("create_entities", entities=[bob, acme, lisbon])
        if query == "a":  # "Speaks" holds an a as well.
            await mcp.call("delete_observations", deletions=[
                {"entityName": "Bob", "observations": ["Speaks Dutch"]}])  # fmt: skip
        answer = await mcp.call("search_nodes", query=query)
        assert [each["name"] for each in answer["entities"]] == found

    drive(memory, script)


def test_found_and_opened_come_with_the_relations_that_touch_them(memory: Memory) -> None:
    lives = {"from": "Zoe", "to": "Lisbon", "relationType": "lives_in"}

    async def script(mcp: Driver) -> None:
        await mcp.call("create_entities", entities=[BOB, ACME])
        await mcp.call("create_relations", relations=[WORKS, lives])
        alone = graph(BOB, relations=[WORKS])
        assert await mcp.call("search_nodes", query="dutch") == alone
        assert await mcp.call("open_nodes", names=["Bob", "Nobody", "acme"]) == alone
        assert await mcp.call("open_nodes", names=[]) == graph(relations=[])

    drive(memory, script)


def test_what_conversations_told_is_in_the_graph_and_can_be_taken_over(memory: Memory) -> None:
    memory.remember("My sister Anna works at Siemens.", user="ann")
    memory.drain()

    async def script(mcp: Driver) -> None:
        heard = await mcp.call("read_graph")
        names = [each["name"] for each in heard["entities"]]
        assert "Anna" in names
        assert any({each["from"], each["to"]} & {"Anna"} for each in heard["relations"])
        added = [{"entityName": "Anna", "contents": ["Plays chess"]}]
        await mcp.call("add_observations", observations=added)
        mine = {"name": "Anna", "entityType": "Sister", "observations": ["Likes tea"]}
        assert await mcp.call("create_entities", entities=[mine]) == {"entities": [mine]}
        (anna,) = (await mcp.call("open_nodes", names=["Anna"]))["entities"]
        assert anna["entityType"] == "Sister"
        assert anna["observations"] == ["Plays chess", "Likes tea"]
        assert await mcp.call("create_entities", entities=[mine]) == {"entities": []}
        after = await mcp.call("read_graph")
        assert sorted(each["name"] for each in after["entities"]) == sorted(names)
        assert after["relations"] == heard["relations"]

    drive(memory, script)


def test_it_is_one_memory_with_all_other_ways_in(memory: Memory) -> None:
    async def script(mcp: Driver) -> None:
        await mcp.call("graph_write", entities=[{"name": "Ann Lee", "type": "person"}])
        await mcp.call("create_entities", entities=[BOB])
        (ann, bob) = (await mcp.call("read_graph"))["entities"]
        assert (ann["name"], bob) == ("Ann Lee", BOB)
        same = {"name": "Ann Lee", "entityType": "x", "observations": []}
        assert await mcp.call("create_entities", entities=[same]) == {"entities": []}
        memory.drain()
        hit = (await mcp.call("recall", query="Who speaks Dutch?"))["hits"][0]
        assert (hit["content"], hit["kind"]) == ("Speaks Dutch", "observation")
        assert (hit["name"], hit["origin"]) == ("Bob", "agent")
        (node,) = [each for each in memory.graph.entities(user="ann") if each.name == "Bob"]
        assert (node.type, node.subtype) == ("person", "Person")

    drive(memory, script)


def test_each_agent_sees_its_own_and_what_is_nobodys(memory: Memory) -> None:
    def agent(name: str | None) -> Asker:
        return Asker("default", "ann", agent=name)

    async def writes(mcp: Driver) -> None:
        assert await mcp.call("create_entities", entities=[BOB]) == {"entities": [BOB]}

    async def sees_one(mcp: Driver) -> None:
        assert (await mcp.call("read_graph"))["entities"] == [BOB]

    async def sees_none(mcp: Driver) -> None:
        assert (await mcp.call("read_graph"))["entities"] == []
        words = await mcp.refused("add_observations", observations=[
            {"entityName": "Bob", "contents": ["x"]}])  # fmt: skip
        assert words == "Entity with name Bob not found"
        await mcp.call("delete_entities", entityNames=["Bob"])

    drive(memory, writes, agent("coder"))
    drive(memory, sees_none, agent("writer"))
    drive(memory, sees_one, agent("coder"))
    drive(memory, writes, agent("writer"))
    drive(memory, sees_one, agent("writer"))
    drive(memory, sees_one, agent(None))


@pytest.mark.parametrize("tool", TOOLS, ids=lambda each: each.name)
def test_what_the_reference_server_does_not_know_is_passed_over(memory: Memory, tool: Any) -> None:
    async def script(mcp: Driver) -> None:
        listed = (await mcp.client.list_tools()).tools
        (shown,) = [each for each in listed if each.name == tool.name]
        assert "user_id" not in shown.input_schema["properties"]
        assert shown.input_schema["additionalProperties"] is False
        assert shown.output_schema is not None
        # Nothing of it is taken for ours either: who asks is who writes.
        usual: dict[str, Any] = {each: [] for each in shown.input_schema.get("required", ())}
        usual |= {"query": ""} if tool.name == "search_nodes" else {}
        more = {"surprise": 1, "id": "x", "fact_id": {}, "user_id": "ann", "content": "x"}
        assert await mcp.call(tool.name, **usual, **more) == await mcp.call(tool.name, **usual)
        words = await mcp.refused(tool.name, **usual, user_id="bob")
        assert words.startswith("user_id is not an argument here")

    drive(memory, script)


def test_fields_that_it_does_not_know_are_not_kept(memory: Memory) -> None:
    async def script(mcp: Driver) -> None:
        more = {"type": "entity", "id": 7, "source": "x"}
        made = await mcp.call("create_entities", entities=[{**BOB, **more}, {**ACME, **more}])
        assert made == {"entities": [BOB, ACME]}
        linked = await mcp.call("create_relations", relations=[{**WORKS, "weight": 1, **more}])
        assert linked == {"relations": [WORKS]}
        told = [{"entityName": "Bob", "contents": ["Likes tea"], **more}]
        (added,) = (await mcp.call("add_observations", observations=told))["results"]
        assert added == {"entityName": "Bob", "addedObservations": []}
        gone = [{"entityName": "Bob", "observations": ["Speaks Dutch"], "contents": [], **more}]
        await mcp.call("delete_observations", deletions=gone)
        left = {**BOB, "observations": ["Likes tea"]}
        assert await mcp.call("read_graph") == graph(left, ACME, relations=[WORKS])
        await mcp.call("delete_relations", relations=[{**WORKS, **more}])
        assert await mcp.call("read_graph") == graph(left, ACME, relations=[])

    drive(memory, script)


def test_a_text_may_be_empty(memory: Memory) -> None:
    void = {"name": "", "entityType": "", "observations": [""]}
    blank = {"name": " ", "entityType": "\t", "observations": [" ", "x"]}
    typed = {"name": "Bob", "entityType": "", "observations": []}
    links = [
        {"from": "", "to": "Bob", "relationType": ""},
        {"from": "", "to": " ", "relationType": " "},
        {"from": "", "to": "Nobody", "relationType": ""},
    ]

    async def script(mcp: Driver) -> None:
        things = [void, blank, typed]
        assert await mcp.call("create_entities", entities=things) == {"entities": things}
        assert await mcp.call("create_relations", relations=links) == {"relations": links}
        memory.drain()
        assert await mcp.call("read_graph") == graph(*things, relations=links)
        assert await mcp.call("open_nodes", names=[""]) == graph(void, relations=links)
        told = [{"entityName": "Bob", "contents": [""]}]
        (added,) = (await mcp.call("add_observations", observations=told))["results"]
        assert added["addedObservations"] == [""]
        await mcp.call("delete_observations", deletions=[{"entityName": "", "observations": [""]}])
        await mcp.call("delete_relations", relations=links[1:])
        (found,) = (await mcp.call("open_nodes", names=[""]))["entities"]
        assert found == {**void, "observations": []}
        await mcp.call("delete_entities", entityNames=[""])
        bob = {**typed, "observations": [""]}
        assert await mcp.call("read_graph") == graph(blank, bob, relations=[])
        assert [each for each in memory.check() if not each.ok] == []

    drive(memory, script)


def test_texts_are_as_the_reference_server_writes_them(memory: Memory) -> None:
    async def script(mcp: Driver) -> None:
        async def text(tool: str, **arguments: Any) -> str:
            answer = await mcp.client.call_tool(tool, arguments)
            return text_of(answer.content[0])

        zoe = {"name": "Zoë", "entityType": "x", "observations": []}
        assert await text("create_entities", entities=[zoe]) == (
            '[\n  {\n    "name": "Zoë",\n    "entityType": "x",\n    "observations": []\n  }\n]'
        )
        assert await text("create_entities", entities=[zoe]) == "[]"
        assert await text("create_relations", relations=[{**WORKS, "from": "Zoë"}]) == (
            '[\n  {\n    "from": "Zoë",\n    "to": "Acme",\n    "relationType": "works_at"\n  }\n]'
        )
        told = [{"entityName": "Zoë", "contents": ["y"]}]
        assert await text("add_observations", observations=told) == (
            '[\n  {\n    "entityName": "Zoë",\n    "addedObservations": [\n      "y"\n    ]\n  }\n]'
        )
        assert await text("open_nodes", names=[]) == '{\n  "entities": [],\n  "relations": []\n}'
        done = "deleted successfully"
        assert await text("delete_observations", deletions=[]) == f"Observations {done}"
        assert await text("delete_relations", relations=[]) == f"Relations {done}"
        assert await text("delete_entities", entityNames=["Zoë"]) == f"Entities {done}"

    drive(memory, script)


def test_what_is_said_twice_is_kept_once(memory: Memory) -> None:
    """The one thing that is less here: docs/howto/mcp.md says so."""
    twice = {**BOB, "observations": ["a", "a", "b"]}
    once = {**BOB, "observations": ["a", "b"]}

    async def script(mcp: Driver) -> None:
        made = await mcp.call("create_entities", entities=[twice, twice])
        assert made == {"entities": [once]}
        linked = await mcp.call("create_relations", relations=[WORKS, WORKS])
        assert linked == {"relations": [WORKS]}
        told = [{"entityName": "Bob", "contents": ["c", "c", "a"]}]
        (added,) = (await mcp.call("add_observations", observations=told))["results"]
        assert added["addedObservations"] == ["c"]

    drive(memory, script)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("create_entities", {}, "entities is required"),
        ("create_entities", {"entities": {}}, "entities must be a list, not object"),
        ("create_entities", {"entities": [[]]}, "entities[0] must be an object, not array"),
        ("create_entities", {"entities": [{"name": "B", "entityType": "x"}]},
         "entities[0].observations is required"),
        ("create_entities", {"entities": [{**BOB, "observations": [3]}]},
         "entities[0].observations[0] must be a text, not integer"),
        ("create_entities", {"entities": [{**BOB, "name": "x" * 501}]},
         "entities[0].name has 501 characters, the limit is 500"),
        ("create_entities", {"entities": [BOB] * 1001}, "entities are 1001, the limit is 1000"),
        ("create_entities", {"entities": [BOB, {**BOB, "entityType": "x" * 201}]},
         "entities[1].entityType has 201 characters, the limit is 200"),
        ("create_entities", {"entities": [{**BOB, "observations": ["x", "x" * 16_001]}]},
         "entities[0].observations[1] has 16001 characters, the limit is 16000"),
        ("create_relations", {"relations": [{**WORKS, "from": "x" * 501}]},
         "relations[0].from has 501 characters, the limit is 500"),
        ("create_relations", {"relations": [{**WORKS, "to": "x" * 501}]},
         "relations[0].to has 501 characters, the limit is 500"),
        ("delete_relations", {"relations": [WORKS, {**WORKS, "relationType": "x" * 201}]},
         "relations[1].relationType has 201 characters, the limit is 200"),
        ("add_observations", {"observations": [{"entityName": "x" * 501, "contents": []}]},
         "observations[0].entityName has 501 characters, the limit is 500"),
        ("delete_observations", {"deletions": [{"entityName": "x" * 501, "observations": []}]},
         "deletions[0].entityName has 501 characters, the limit is 500"),
        ("delete_observations",
         {"deletions": [{"entityName": "x", "observations": ["y", "x" * 16_001]}]},
         "deletions[0].observations[1] has 16001 characters, the limit is 16000"),
        ("delete_observations",
         {"deletions": [{"entityName": "x", "observations": []}] * 1001},
         "deletions are 1001, the limit is 1000"),
        ("delete_entities", {"entityNames": ["Bob", "x" * 501]},
         "entityNames[1] has 501 characters, the limit is 500"),
        ("delete_entities", {"entityNames": ["x"] * 5001},
         "entityNames are 5001, the limit is 5000"),
        ("open_nodes", {"names": ["x" * 501]}, "names[0] has 501 characters, the limit is 500"),
        ("search_nodes", {"query": "x" * 8001}, "query has 8001 characters, the limit is 8000"),
        ("delete_entities", {"entityNames": "Bob"}, "entityNames must be a list, not string"),
        ("search_nodes", {"query": None}, "query is required"),
        ("open_nodes", {"names": [None]}, "names[0] must be a text, not null"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_words(
    memory: Memory, tool: str, arguments: dict[str, Any], words: str
) -> None:
    async def script(mcp: Driver) -> None:
        assert (await mcp.refused(tool, **arguments)) == words
        assert await mcp.call("read_graph") == graph(relations=[])

    drive(memory, script)


def test_the_client_checks_answers_against_their_schema(memory: Memory) -> None:
    """The official client raises when an answer breaks the schema that was announced."""

    async def script(mcp: Driver) -> None:
        assert isinstance(mcp.client, Client)
        await mcp.client.list_tools()
        await mcp.call("create_entities", entities=[BOB])
        await mcp.call("search_nodes", query="bob")

    drive(memory, script, ANN)
