"""What people say when a built-in task is under way, and when none is: compared by meaning.

A trigger alone, one word, is near to nothing in an embedding; a sentence that uses it is. They vary
in subject, since a subject weighs as much in an embedding as what is asked of it.
"""

from __future__ import annotations

#: (profile, trigger) -> what people say who mean it. A custom trigger has none.
EXAMPLES: dict[tuple[str, str], tuple[str, ...]] = {
    ("research", "research"): (
        "Research this topic and tell me what is known about it.",
        "What do studies and experts say about this?",
        "Find reliable information and figures on this subject.",
        "Give me an overview of the field with references.",
        "What should I read to learn about the history of this period?",
        "Is this medical advice backed by science?",
    ),
    ("research", "summarize"): (
        "Summarize this article for me.",
        "Sum up the key points of the report in a few sentences.",
        "Shorten these meeting notes to one page.",
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
    ),
    ("debate", "argue"): (
        "Argue for or against this claim.",
        "Give me the strongest arguments for my side of the debate.",
        "Convince me that I am wrong about this.",
        "Should this be banned or allowed? Take a side.",
        "Write a speech against the proposal.",
    ),
    ("debate", "defend"): ("Defend this position against its critics.",),
    ("debate", "counter"): (
        "How do I answer someone who says the opposite?",
        "Challenge my plan and point out its weaknesses.",
        "What would an opponent object to my opinion?",
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
