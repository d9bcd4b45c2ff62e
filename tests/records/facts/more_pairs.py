"""A hundred and twenty pairs more: clear changes of one thing, and what only looks like one.

Written before the rules were widened to them. Lines alternate between the two halves, as in
`pairs`: rules may be looked at with the first (`dev`), and are judged by the second (`held`).

    change  one thing was so and now is otherwise                        supersede
    apart   two things, two people, a plan, the past, a single time      add; a link does no harm

The second statement comes a month after the first.
"""

from __future__ import annotations

from tests.records.facts.pairs import Pair

#: What a pair of each class may end in.
EXPECTED: dict[str, tuple[str, ...]] = {"change": ("supersede",), "apart": ("add", "clarify")}

_CHANGE = """
My studio is in Ghent. | My studio is in Antwerp now.
Our store is on Elm Street. | Our store is now on Harbour Road.
The exam is on 3 June. | The exam is now on 10 June.
The launch is planned for March 9. | The launch has been moved to March 23.
My session with the dentist is on Monday. | My session with the dentist was rescheduled to Friday.
We use Jira for bug tracking. | We switched bug tracking to Linear.
Our backups run at 2 am. | Our backups now run at 4 am.
My email address is ann@old.example. | My new email address is ann@new.example.
I take vitamin D every day. | I now take vitamin D every other day.
Choir practice is on Wednesdays. | Choir practice moved to Mondays.
I'm vegan. | I'm no longer vegan.
I smoke. | I don't smoke any more.
I have one dog. | I have two dogs now.
Our rent is 900 euros. | Our rent went up to 960 euros.
I'm reading Middlemarch. | I finished Middlemarch last night.
The project is on hold. | The project is no longer on hold.
My commute takes 40 minutes. | My commute now takes 25 minutes.
Our gas bill is 120 euros a month. | Our gas bill went from 120 to 140 euros a month.
My flight leaves at 9:40. | My flight now leaves at 11:15.
We host the site on Heroku. | We moved the site to Fly.
I'm training for a half marathon. | I'm no longer training for a half marathon.
My physio is Karin. | My new physio is Daan.
Our standup is at 9:30. | Our standup has been pushed to 10.
The wedding is on 5 July. | The wedding has been postponed to 12 September.
My daughter is in third grade. | My daughter is in fourth grade now.
I drive to work. | I cycle to work now instead of driving.
My insurance is with Allianz. | My insurance is with AXA now.
My savings account is at ING. | I moved my savings account to Triodos.
The team has seven people. | The team has nine people now.
The printer is broken. | The printer works again.
My dose is 5 mg. | My dose is 10 mg now.
My password manager is Bitwarden. | I changed my password manager to KeePass.
I get up at six. | I get up at seven now.
I go to the gym twice a week. | I go to the gym three times a week now.
My piano lesson is on Thursdays. | My piano lesson is on Tuesdays now.
The API runs on port 8080. | The API now runs on port 9090.
Our database is MySQL. | We migrated our database to Postgres.
The paper is due on May 2. | The paper is now due on May 16.
The car insurance costs 480 a year. | The car insurance costs 530 a year now.
I'm single. | I'm engaged to Priya now.
We're going with the blue tiles. | Forget the blue tiles, we're going with the green ones.
Lufthansa it is. | Forget Lufthansa. I'm going with KLM after all.
I don't eat fish. | I eat fish again.
I don't drink coffee. | I drink coffee again.
Our goal is 500 signups. | We raised our goal to 800 signups.
I'm on the night shift. | I'm on the day shift now.
I work from home three days a week. | I work from home two days a week now.
My locker is number 14. | My locker is number 37 now.
The meeting room is B12. | The meeting room changed to C04.
Our landlord is Mr. Visser. | Our new landlord is Ms. de Boer.
My bike is in the basement. | My bike is in the shed now.
The release is scheduled for Thursday. | The release slipped to Monday.
I'm writing the kitchen scene. | I finished writing the kitchen scene.
I'm using React for the frontend. | I switched the frontend to Svelte.
My Dutch course starts on 4 September. | My Dutch course has been moved to 18 September.
The budget for the shed is 4,000 euros. | The budget for the shed has been raised to 5,500 euros.
I'm looking for a flat. | I'm no longer looking for a flat.
I play tennis on Sundays. | I don't play tennis on Sundays anymore.
My knee hurts. | My knee doesn't hurt anymore.
The surgery is on 14 March. | The clinic moved the surgery to 2 April.
"""
_APART = """
My office is in Utrecht. | My sister's office is in Breda now.
Our office is in Berlin. | Our second office is in Munich now.
We have an office in Berlin. | We have an office in Munich now.
My meeting with Tom is on Tuesday. | My meeting with Ana is on Thursday now.
The meeting is on Tuesday. | I have another meeting on Thursday.
I'm going to Rome in May. | I went to Oslo in June.
I visited Prague. | I visited Vienna.
I live in Leiden. | I'm in Madrid this week.
I live in Leiden. | I might move to Delft.
My budget for the bathroom is 8k. | My budget for the kitchen is 20k now.
I take the tablet every evening. | I took the tablet this morning.
I take magnesium every evening. | I take iron every morning now.
I'm vegetarian. | My brother eats meat again.
I'm reading Dune. | I finished Emma.
I'm reading Dune. | I finished the first chapter of Dune.
I have two cats. | My neighbour has three cats now.
I have two cats. | I had three cats as a child.
I have two cats. | I have three hamsters now.
We use Postgres for billing. | We switched the logger to SQLite.
We use SQLite for the logger. | We should switch the logger to Postgres.
We use SQLite for the logger. | If it gets slow, we switch the logger to Postgres.
My phone number is 0612. | My work phone number is 0699.
My phone number is 0612. | My mother's new phone number is 0699.
The deadline for the grant is 20 April. | The deadline for the report is now 11 May.
My lease ends on 30 June. | My new lease starts on 1 July.
My daughter's school starts at 8:30. | My son's school starts at 9 now.
I have lunch at noon. | Today I had lunch at two.
I run on Mondays. | I also run on Thursdays now.
I speak Dutch. | I speak Spanish now as well.
I work at the bakery. | I'm volunteering at the food bank now.
My car is a Golf. | My wife's new car is a Kia.
My flight to Oslo leaves at 9:40. | My flight back from Oslo leaves at 18:20.
The living room is green. | The bedroom is blue now.
I lost my keys on Monday. | I lost my wallet on Friday.
Our old house was in Breda. | Our house is in Tilburg now.
I used to take the train. | I take the train again.
I don't eat pork. | I eat fish again.
I don't drink alcohol. | I had a beer on Saturday.
I ran 5 km yesterday. | I ran 8 km today.
I paid 40 euros for the ticket. | I paid 55 euros for the ticket to Leeds.
Anna is on the night shift. | Joost is on the day shift now.
My sister has moved to Lyon. | My cousin has moved to Nice.
I'm taking the 9:15 train. | I'm taking the 10:15 train tomorrow.
Our team meets on Tuesdays. | The design team moved to Thursdays.
My office is in Delft. | My desk is in the corner now.
I prefer window seats. | I took an aisle seat this time.
My bike is at the shop. | My new bike is at home.
My first marathon was in 2019. | My second marathon is in 2027.
We're going with oak for the floor. | We're going with walnut for the table.
The dentist appointment is on 3 May. | The vet appointment is now on 9 May.
I finished the report. | I'm working on the slides now.
My boss wants the launch on Monday. | The launch is on Thursday now.
I swim twice a week. | I cycle three times a week now.
My knee hurts. | My back doesn't hurt anymore.
I was in Delft for a conference. | My office is in Delft now.
Our meeting is on Tuesdays. | This week our meeting moved to Thursday.
My team is in Dublin. | My team is growing again.
Our Paris office has 12 people. | Our Rome office has 20 people now.
My son is in third grade. | My daughter is in fourth grade now.
My budget is 18k. | My budget was 20k last year.
"""


def _pairs(relation: str, lines: str) -> list[Pair]:
    found = []
    for number, line in enumerate(lines.strip().splitlines()):
        known, _, said = line.partition(" | ")
        found.append(Pair(relation, known, said, ("dev", "held")[number % 2]))
    return found


MORE_PAIRS: tuple[Pair, ...] = (*_pairs("change", _CHANGE), *_pairs("apart", _APART))
