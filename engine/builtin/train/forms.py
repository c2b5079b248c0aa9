"""Chats whose answer a schema holds to an object, for quern-tiny.

Names of members come from the schema, which the model does not see, so they are not learned, nor is that the answer opens an object: what it
answers freely stays text. Learned is what a schema leaves open: short values, the space around them, the end of a text, a list and the object.

    ("form", [(text, to learn), ...])
"""
import json

import facts as F
import tools as T
import unknown as U

SHORT = ["small", "big", "new", "old", "good", "bad", "open", "closed", "red", "blue", "warm", "cold", "fast", "slow", "high", "low", "easy", "hard", "yes", "no"]
NOTES = ["A quiet place.", "It is old and well known.", "Many people like it.", "A good choice.", "There is not much to say.", "It is easy to find.", "Small but useful.", "Known to everybody.", "Water is wet.",
         "Nobody knows.", "It is ready."]
STREETS = ["High Street", "Main Street", "Station Road", "Park Lane", "Mill Road", "Church Street"]


def word(r):
    return r.choice([r.choice(SHORT), r.choice(F.SPELL), r.choice(F.GROUPS[r.choice(sorted(F.GROUPS))]), U.nonsense(r)])


def whole(r):
    return T.number(r)


def decimal(r):
    return round(T.number(r) + r.random(), r.choice([1, 2]))


def several(of):
    return lambda r: [of(r) for _ in range(r.choice([0, 1, 1, 2, 2, 3, 4]))]


def person(r):
    n = r.choice(F.FIRST_NAMES)
    return n if r.random() < 0.6 else n + " " + U.nonsense(r).capitalize()


def date(r):
    return f"{r.randint(1950, 2030)}-{r.randint(1, 12):02}-{r.randint(1, 28):02}"


# Names of members, and what is said there.
MEMBERS = [
    ("city town place location capital origin destination", T.city),
    ("country nation home", lambda r: r.choice(F.CAPITALS)[0]),
    ("name user person author owner customer friend", person),
    ("animal pet species", lambda r: r.choice(F.GROUPS["animal"])),
    ("colour color", lambda r: r.choice(F.GROUPS["colour"])),
    ("size state status kind type level category mood answer result unit language", word),
    ("title subject topic product item object query label key id word", word),
    ("text summary description note comment reason message sentence", lambda r: r.choice(NOTES + U.SENTENCES)),
    ("people age count number year total amount quantity score rank stars pages population a b sum", whole),
    ("price weight height temperature distance rating speed", lambda r: whole(r) if r.random() < 0.5 else decimal(r)),
    ("ok wet true open valid active ready happy found done is_animal is_city", lambda r: r.random() < 0.5),
    ("date day_of_birth created due", date),
    ("day weekday", lambda r: r.choice(F.DAYS)),
    ("month", lambda r: r.choice(F.MONTHS)),
    ("email mail", lambda r: r.choice(F.FIRST_NAMES).lower() + "@" + U.nonsense(r) + ".com"),
    ("tags words keywords labels", several(word)),
    ("cities places stops", several(T.city)),
    ("names people_names friends authors", several(person)),
    ("colours colors", several(lambda r: r.choice(F.GROUPS["colour"]))),
    ("numbers scores ages values", several(whole)),
    ("address", lambda r: {"street": r.choice(STREETS), "city": T.city(r)}),
    ("parent", lambda r: {"name": person(r), "age": r.randint(20, 90)}),
    ("", word),
    ("", several(word)),
    ("", whole),
]
SUBJECTS = {"city": T.city, "country": lambda r: r.choice(F.CAPITALS)[0], "name": person, "animal": lambda r: "a " + r.choice(F.GROUPS["animal"]), "title": T.thing}
ASKS = """Describe {x}.|Describe {x} with short values.|Describe {x} in a few words.|Tell me about {x}.|What is {x}?|Who is {x}?|Give me a record of {x}.|Fill in the form for {x}.|Make a record for {x}.|{x}|Extract the data: {x}|
Give me details of {x}.|Write down what you know about {x}.|Rate {x}.|Classify {x}.|Is {x} good?|Return the data of {x}.|Give me {x} as JSON.|Describe {x} as JSON.|Short facts about {x}, please.|Tag {x}.|Label this: {x}""".replace("\n", "").split("|")


def members(r):
    out = {}
    for names, of in r.sample(MEMBERS, r.choice([1, 1, 2, 2, 3, 3, 4, 5])):
        k = r.choice(names.split()) if names else U.nonsense(r) if r.random() < 0.6 else r.choice(T.THINGS) + "_" + r.choice(T.DETAILS)
        out[k] = of(r)
    return out


def spelled(v, colon, comma):
    """Text of a value in pieces: (text, to learn)."""
    if isinstance(v, dict):
        out = [("{", True)]
        for i, (k, x) in enumerate(v.items()):
            out += [(comma, True)] if i else []
            out += [('"' + k, False), ('"' + colon, True)] + spelled(x, colon, comma)
        return out + [("}", True)]
    return [(json.dumps(v, ensure_ascii=False, separators=(comma, colon)), True)]


def form(r):
    import data as D
    kind = r.choice(sorted(SUBJECTS))
    x = SUBJECTS[kind](r)
    said = members(r)
    if r.random() < 0.3:
        q = D.simple(r)[0]
    else:
        q = D.noisy(r, r.choice(ASKS).replace("{x}", x))
        for k in said:
            if k in [n for n in (kind, "name", "title", "city", "subject", "item", "object") if isinstance(said[k], str)] and r.random() < 0.8:
                said[k] = x[2:] if kind == "animal" else x
    colon, comma = (": ", ", ") if r.random() < 0.9 else (":", ",")
    out = [(f"<|im_start|>system\n{r.choice(D.SYSTEMS)}<|im_end|>\n", False)] if r.random() < 0.2 else []
    out.append((f"<|im_start|>user\n{q}<|im_end|>\n<|im_start|>assistant\n", False))
    answer = spelled(said, colon, comma)
    return ("form", out + [("{", False)] + answer[1:] + [("<|im_end|>", True)])
