"""Two hundred pairs of statements: what is known, what is said then, and what should come of it.

Written before the rules of reconciliation were tuned. Lines alternate between the two halves: rules
may be looked at with the first (`dev`), and are judged by the second (`held`).

    same           says again what is known                    noop
    refinement     more of what is known; both hold            update or add: nothing is lost
    change         it was so and now is otherwise              supersede
    contradiction  both cannot be, and nobody says which       add with a link, or clarify
    unrelated      another matter, however alike its words     add without a link
    correction     what is known was wrong                     supersede

The second statement comes a month after the first, but where a line ends in `~`: then both were
said at the same moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

#: What a pair of each class may end in; a contradiction that is added must be linked.
EXPECTED: dict[str, tuple[str, ...]] = {
    "same": ("noop",),
    "refinement": ("update", "add"),
    "change": ("supersede",),
    "contradiction": ("add", "clarify"),
    "unrelated": ("add",),
    "correction": ("supersede",),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements and how they relate."""

    relation: str
    known: str
    said: str
    half: str
    #: Both were said at the same moment.
    at_once: bool = False


_SAME = """
I live in Lisbon. | I'm living in Lisbon.
I work as a nurse at the county hospital. | I'm a nurse at the county hospital.
My sister's name is Clara. | My sister is called Clara.
I'm allergic to peanuts. | I have a peanut allergy.
We have two cats. | We've got two cats.
I go running every morning. | Every morning I go for a run.
My favourite colour is green. | Green is my favourite colour.
I drive a 2015 Honda Civic. | I drive a Honda Civic from 2015.
I don't drink coffee. | I do not drink coffee.
My daughter started school in September. | In September my daughter started school.
I play the cello in a community orchestra. | I play cello in a community orchestra.
Our wedding anniversary is on June 12. | June 12 is our wedding anniversary.
I'm learning Portuguese. | I am learning Portuguese at the moment.
My boss is called Henrik. | Henrik is my boss.
I'm vegetarian. | I am a vegetarian.
I use Firefox as my browser. | My browser is Firefox.
My rent is 950 euros a month. | I pay 950 euros rent a month.
I want to run a marathon next year. | Next year I want to run a marathon.
The team meets every Tuesday at 10. | Every Tuesday at 10 the team meets.
I have type 1 diabetes. | I've got type 1 diabetes.
My brother lives in Toronto. | My brother is living in Toronto.
I hate cilantro. | I really hate cilantro.
We bought our house in 2019. | Our house was bought in 2019.
I wear glasses. | I'm wearing glasses.
My dog is a border collie. | My dog's a border collie.
I studied chemistry at university. | At university I studied chemistry.
I'm 34 years old. | I am 34.
My password manager is Bitwarden. | I use Bitwarden as my password manager.
I prefer window seats on planes. | On planes I prefer window seats.
My grandmother turned 90 in March. | In March my grandmother turned 90.
I take the train to work. | I go to work by train.
My phone is a Pixel 8. | I have a Pixel 8 as my phone.
I'm left-handed. | I am left handed.
"""

_REFINEMENT = """
I have a dog. | I have a three-year-old beagle called Biscuit.
I live in Portugal. | I live in Porto, close to the river.
I work in a bank. | I work in the fraud department of a bank in Leeds.
I play the piano. | I've played the piano since I was six and mostly play Chopin.
I like hiking. | I like hiking in the Dolomites in early autumn.
My son plays football. | My son plays football as goalkeeper for the under-12s.
I'm going to Japan. | I'm going to Japan in April for two weeks with my cousin.
I have asthma. | I have asthma, which gets worse in spring, and carry an inhaler.
I'm writing a book. | I'm writing a book about the history of lighthouses.
My sister is getting married. | My sister is getting married on August 20 in Edinburgh.
I bought a bike. | I bought a red gravel bike from a shop in Ghent.
I have an exam next week. | I have a statistics exam next week on Thursday morning.
My car needs repairs. | My car needs new brake pads before the winter.
I'm taking a course. | I'm taking an evening course in bookkeeping at the local college.
I eat little meat. | I eat little meat, mostly chicken on Sundays.
My mother is a teacher. | My mother is a teacher of maths at a grammar school.
I'm renovating the kitchen. | I'm renovating the kitchen and putting in oak worktops.
I collect stamps. | I collect stamps from Latin America printed before 1950.
We have a garden. | We have a small garden with an apple tree and raised beds.
I volunteer. | I volunteer at the animal shelter on Saturdays.
I have a meeting on Friday. | I have a meeting on Friday at 3 pm with the auditors.
I speak French. | I speak French at a B2 level and took the exam in Lyon.
I'm on medication. | I'm on medication for high blood pressure, 5 mg in the morning.
I have two children. | I have two children, Mia who is 7 and Leo who is 4.
My team is building an app. | My team is building an app for booking ferries.
I own a boat. | I own a small sailing boat that lies in Kiel.
I want to change jobs. | I want to change jobs and move into climate research.
My flat is noisy. | My flat is noisy because of the tram line below.
I cook a lot. | I cook a lot of Vietnamese food on weekends.
I'm training for a race. | I'm training for a half marathon in Valencia.
I have a tattoo. | I have a tattoo of a swallow on my left shoulder.
My laptop is slow. | My laptop is slow since the last system update.
My neighbour is noisy. | My neighbour is noisy, he practises drums after ten at night.
"""

_CHANGE = """
I live in Paris. | I live in Lisbon now.
I work at Siemens. | I work at Bosch.
I'm a junior developer. | I got promoted, I'm a senior developer now.
My favourite band is Radiohead. | My favourite band is The National these days.
I drive a diesel Golf. | I sold the Golf and drive an electric Kia now.
I use Evernote for my notes. | I switched from Evernote to Obsidian for my notes.
I'm single. | I'm married now.
I smoke ten cigarettes a day. | I don't smoke any more.
My gym is the one on Mill Street. | I moved to another gym, the one by the station.
I have one cat. | We have two cats now.
My phone is an iPhone 11. | My phone is a Pixel 9.
I'm 29. | I'm 30.
I weigh 92 kilos. | I weigh 84 kilos.
I eat meat every day. | I no longer eat meat.
My manager is Susan. | My manager is Pedro since the reorganisation.
The project deadline is May 3. | The project deadline is May 17.
I take the bus to work. | Instead of the bus I now cycle to work.
My rent is 800 pounds. | My rent is 875 pounds.
I'm studying physics. | I've switched my degree from physics to computer science.
My savings goal is 5,000 euros. | My savings goal is 8,000 euros now.
I wake up at 7. | I wake up at 5:30 now.
My son goes to the Oak Lane nursery. | My son no longer goes to the Oak Lane nursery, he is in school.
I play tennis on Mondays. | I stopped playing tennis.
My wifi password is blue-harbour-12. | My wifi password is green-harbour-77.
I'm working on the billing service. | I'm no longer working on the billing service, I've moved to search.
My dentist is Dr. Okafor. | My dentist is Dr. Lindqvist.
My favourite food is ramen. | My favourite food is dumplings.
I'm unemployed. | I'm employed at a bakery now.
My daughter's teacher is Mr. Holt. | My daughter's teacher is Mrs. Vance this year.
My current book is Middlemarch. | My current book is Beloved.
The server runs Debian 11. | The server runs Debian 12.
My best personal time over 10 km is 52:30. | My best personal time over 10 km is 49:58.
My flight to Oslo leaves at 9:40. | My flight to Oslo leaves at 11:15.
My address is 14 Elm Road. | My address is 3 Harbour Lane.
"""  # noqa: E501 (a pair is a line)

_CONTRADICTION = """
I've never been to Japan. | When I was in Japan I loved the trains.
I've never broken a bone. | I broke my arm when I was nine.
I don't have any siblings. | My brother and I went fishing on Saturday.
I love mushrooms. | I hate mushrooms.
I've never used Kubernetes. | I have used Kubernetes for three years.
I don't drink alcohol. | I drink a glass of wine with dinner.
I can't swim. | I swim two kilometres every week.
I don't own a car. | I own a car.
I like working from home. | I don't like working from home.
I have never played chess. | I've played chess since school.
The meeting is at 3 pm. | The meeting is at 4 pm. ~
I am not allergic to anything. | I'm allergic to penicillin.
My favourite season is winter. | My favourite season is summer. ~
I've never had a pet. | I had a hamster as a child.
I don't speak Spanish. | I speak Spanish fluently.
I've never tried sushi. | I tried sushi in Osaka.
I enjoy public speaking. | I dislike public speaking.
My flight leaves at 8. | My flight leaves at 10. ~
I don't watch television. | I watch television every evening.
I've never written a test in this project. | I wrote a test in this project for the login page.
I do not eat fish. | I eat fish on Fridays.
I have never met my manager in person. | I met my manager in person in Berlin.
I'm not afraid of heights. | I'm afraid of heights.
My sister lives in Rome. | My sister lives in Milan. ~
I never take painkillers. | I take painkillers for my back.
I've never flown in a plane. | I have flown in a plane to Canada.
I don't like jazz. | I love jazz.
I have no experience with Python. | I have experience with Python.
I haven't finished my degree. | I have finished my degree.
I've never missed a deadline. | I missed a deadline at the end of March.
I don't play any instrument. | I play the guitar.
My budget is 2,000 dollars. | My budget is 3,500 dollars. ~
We don't have children. | We have children.
"""

_UNRELATED = """
My dog is a poodle. | My cat is a siamese.
My favourite colour is blue. | My favourite food is lasagne.
I work at Acme. | I live in Vienna.
My sister lives in Madrid. | My brother lives in Dublin.
I have a meeting with Ana on Monday. | I have a meeting with Raj on Monday.
I use Slack at work. | I use Signal with my family.
My car is a Volvo. | My wife's car is a Fiat.
I ran 5 km on Tuesday. | I ran 8 km on Thursday.
I'm allergic to pollen. | I'm allergic to shellfish.
I like tea. | I like hiking.
My mother's birthday is on May 2. | My father's birthday is on November 9.
I visited Prague last year. | I visited Krakow last year.
I speak German. | I speak Italian.
My home address is 5 Hill Street. | My work address is 80 Canal Street.
I read a novel by Tolstoy. | I read a novel by Morrison.
I have a son called Tim. | I have a daughter called Eva.
The kitchen walls are white. | The bedroom walls are grey.
I'm learning to knit. | I'm learning to sail.
My flight to Oslo leaves at 9. | My flight to Rome leaves at 14:00.
I dislike olives. | I dislike loud restaurants.
I bought a lamp for 40 euros. | I bought a chair for 120 euros.
The staging server runs Ubuntu. | The production server runs Debian.
My knee hurts when I run. | My shoulder hurts when I swim.
I want to visit Peru. | I want to learn the drums.
My Monday class is yoga. | My Wednesday class is pilates.
I have an appointment with the dentist on May 4. | I have an appointment with the optician on May 6.
I pay 30 euros for my phone contract. | I pay 45 euros for internet.
Tom is my cousin. | Lea is my cousin.
My first job was at a bakery. | My second job was at a library.
I planted tomatoes in the garden. | I planted basil on the balcony.
My favourite author is Le Guin. | My husband's favourite author is Pratchett.
The deadline for the grant is June 1. | The deadline for the tax return is July 31.
I sold my old camera. | I sold my old skis.
I take vitamin D in the morning. | I take magnesium in the evening.
"""

_CORRECTION = """
My name is Jon. | Actually, my name is spelled John, not Jon.
My sister lives in Leeds. | Correction: my sister lives in York, not Leeds.
The meeting is on Tuesday. | Sorry, I meant the meeting is on Wednesday.
I have three nephews. | I was wrong, I have four nephews.
My dog is a labrador. | Actually my dog is a golden retriever, not a labrador.
The invoice is 1,200 euros. | No, the invoice is 1,250 euros, I misread it.
My flight is at 6 am. | I made a mistake, my flight is at 6 pm.
My birthday is March 14. | My birthday is March 15, not March 14.
My doctor is Dr. Weiss. | Actually, my doctor is Dr. Weisz, I wrote it wrong.
The shop closes at 8. | Wait, the shop closes at 7, not 8.
I graduated in 2011. | Correction, I graduated in 2012.
My shoe size is 42. | That was wrong, my shoe size is 43.
Our office is on the third floor. | Actually our office is on the fourth floor.
My manager is called Anna. | Not Anna, my manager is called Hanna.
I live in Bern. | I said Bern but I actually live in Basel.
The recipe needs 200 grams of flour. | Correction: the recipe needs 250 grams of flour.
My train leaves at 10:15. | Sorry, my train leaves at 10:45, not 10:15.
My blood type is A positive. | I checked, my blood type is actually O positive.
The project is called Falcon. | Actually the project is called Kestrel, not Falcon.
I'm 41. | I miscounted, I'm 42.
My wife works at a law firm. | Actually my wife works at a notary's office, not a law firm.
The password hint is my first pet. | Correction: the password hint is my first school.
My car is a 2016 model. | I was mistaken, my car is a 2017 model.
Our son is in year 4. | No, our son is in year 5, not year 4.
The concert is on June 9. | I got it wrong, the concert is on June 19.
My cousin's name is Katrin. | Actually my cousin's name is Karin.
I take 20 mg of the tablets. | Correction, I take 10 mg of the tablets.
The database is on port 5432. | Sorry, the database is on port 5433.
My landlord is Mr. Brook. | Actually, my landlord is Mr. Brooks.
The rent is due on the first. | To correct myself: the rent is due on the fifth.
My room number is 214. | Oops, my room number is 241, not 214.
Our budget is 10,000 euros. | I misspoke, our budget is 12,000 euros.
My team has eight people. | Actually my team has nine people, I forgot someone.
"""


def _read() -> Iterator[Pair]:
    number = count()
    for relation, lines in _LINES.items():
        for line in lines.strip().splitlines():
            known, said = (each.strip() for each in line.split("|"))
            half = "held" if next(number) % 2 else "dev"
            text = said.removesuffix("~").strip()
            yield Pair(relation, known, text, half, at_once=text != said)


_LINES = {
    "same": _SAME,
    "refinement": _REFINEMENT,
    "change": _CHANGE,
    "contradiction": _CONTRADICTION,
    "unrelated": _UNRELATED,
    "correction": _CORRECTION,
}
PAIRS: tuple[Pair, ...] = tuple(_read())
