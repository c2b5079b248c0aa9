"""Greedy accuracy of an exported model on phrasings that data.py does not use. eval.py MODEL.gguf TOKENIZER.json [threads] [-v] [-t]

-v prints what went wrong, -t asks only what needs tools.

For tables, every phrasing here is new; the items (a country, a pair of numbers) are those taught. Sums to 99 and the unknown
questions are mostly new items too. An answer with tools offered must be right to the letter.
"""
import json
import random
import sys

import torch

import data as D
import facts as F
import stories as S
import tools as T
import unknown as U
from export import load
from model import greedy
from tokenizer import Tokenizer

r = random.Random(20260)


def pick(xs, n):
    return r.sample(xs, min(n, len(xs)))


def cases():
    cap = [(f"Hey model, which city would you call the capital of {c}?", a) for c, a in pick(F.CAPITALS, 40)] + \
          [(f"could you please name {c}'s capital city for me", a) for c, a in pick(F.CAPITALS, 40)] + \
          [(f"Which capital does {c} have?", a) for c, a in pick(F.CAPITALS, 40)] + \
          [(f"I would love to know what the capital city of {c} is.", a) for c, a in pick(F.CAPITALS, 40)]
    yield "capitals (172, new phrasing)", cap
    yield "capitals, plain question, all", [(f"What is the capital of {c}?", a) for c, a in F.CAPITALS]
    yield "France, 16 new phrasings", [(q, "Paris") for q in [
        "France's capital is?", "what s the capital of france", "WHAT IS THE CAPITAL OF FRANCE", "Capital city of France please", "so what is France's capital city called",
        "Tell me, what's the capital of France", "the capital of france, please", "Which city is France's capital city?", "Please, what is the capital of France?", "What is the captial of France?",
        "Name France's capital.", "What is the capital of France, please?", "Do you happen to know the capital of France?", "In France, what is the capital?", "hi, capital of France?",
        "What is the capital of France? I forgot."]]
    yield "country of a capital", [(f"The capital city {a} belongs to which country?", c) for c, a in pick(F.CAPITALS, 40)] + \
        [(f"{a} is which country's capital?", c) for c, a in pick(F.CAPITALS, 40)]
    small = [(a, b) for a in range(21) for b in range(21)]
    yield "a + b, 0 to 20, all, taught phrasing", [(f"What is {a}+{b}?", f" is {a + b}.") for a, b in small]
    yield "a + b, 0 to 20, new phrasing", [(f"Tell me how much {a} plus {b} is.", f" is {a + b}.") for a, b in pick(small, 80)] + [(f"so {a} + {b} is?", f" is {a + b}.") for a, b in pick(small, 80)]
    yield "a - b, 0 to 20, new phrasing", [(f"Tell me how much {a} minus {b} is.", f" is {a - b}.") for a, b in pick([p for p in small if p[0] >= p[1]], 120)]
    big = [(a, b) for a in range(21, 100) for b in range(21, 100)]
    yield "a + b, 21 to 99", [(f"What is {a} + {b}?", f" is {a + b}.") for a, b in pick(big, 120)]
    yield "a - b, 21 to 99", [(f"What is {a} - {b}?", f" is {a - b}.") for a, b in pick([p for p in big if p[0] >= p[1]], 120)]
    yield "a x b, 0 to 10", [(f"How much do you get for {a} times {b}?", f" is {a * b}.") for a in range(11) for b in range(11)]
    yield "opposites", [(f"If something is not {w}, what is its opposite word?", f"is {a}.") for w, a in pick(D.OPP, 60)] + \
        [(f"please give the opposite for {w}", f"is {a}.") for w, a in pick(D.OPP, 100)]
    yield "colours", [(f"In which colour do we see {x}?", c) for x, c in F.COLOURS]
    yield "days and months", [(f"Which day follows after {F.DAYS[i]}?", F.DAYS[(i + 1) % 7] + " comes") for i in range(7)] + \
        [(f"What day is right before {F.DAYS[i]}?", F.DAYS[i - 1] + " comes") for i in range(7)] + \
        [(f"Which month follows after {F.MONTHS[i]}?", F.MONTHS[(i + 1) % 12] + " comes") for i in range(12)] + \
        [(f"What month is right before {F.MONTHS[i]}?", F.MONTHS[i - 1] + " comes") for i in range(12)]
    yield "animals", [(f"Do you know which sound {D.an(n)} makes?", s) for n, s, *_ in F.ANIMALS if s != "-"] + \
        [(f"What do people call a baby {n}?", y) for n, _, y, _, _ in F.ANIMALS] + \
        [(f"How many legs would {D.an(n)} have?", "no legs" if l == "zero" else l) for n, _, _, l, _ in F.ANIMALS]
    yield "plurals", [(f"If there are many of {w}, what is the plural?", f"is {p}.") for w, p in F.PLURALS]
    yield "past tense", [(f"How does the past tense of {w} go?", f"is {p}.") for w, p in F.PASTS]
    yield "spelling", [(f"What letters spell {w}?", "-".join(w.upper())) for w in pick(F.SPELL, 60)]
    yield "simple facts", [(f"Do you know this: {qs.split(';')[0].strip()[0].lower()}{qs.split(';')[0].strip()[1:]}?", a) for qs, a in F.SIMPLE_FACTS]
    yn = []
    for k, xs in F.GROUPS.items():
        x = r.choice(xs)
        yn.append((f"Could one say {x if x in F.UNCOUNTED else D.an(x)} is {D.an(k)}?", "Yes"))
        o = r.choice([g for g in F.GROUPS if g != k and k not in ("animal",)] or ["tool"])
        x = r.choice([y for y in F.GROUPS[o if o != k else "tool"] if y not in xs])
        yn.append((f"Could one say {x if x in F.UNCOUNTED else D.an(x)} is {D.an(k)}?", "No"))
    yield "yes or no", yn
    yield "counting", [(f"Please do count from {a} to {b}", ", ".join(str(i) for i in range(a, b + 1))) for a in (1, 2, 3) for b in (7, 10, 12, 15, 20)] + \
        [("Count aloud from one to ten.", "One, two, three, four, five, six, seven, eight, nine, ten")]
    yield "repeat", [(f"Say this sentence: {s}", s) for s in U.SENTENCES] + [(f"Please repeat the words {a} {b}", f"{a} {b}") for a, b in [r.sample(F.SPELL, 2) for _ in range(20)]]
    yield "who are you", [(q, "quern-tiny") for q in ["Hello, who are you?", "And what is your name, please?", "tell me what you are", "what exactly are you", "Who is speaking?", "What do people call you?", "Good day! Who are you?",
                                                      "Are you some kind of AI model?", "may i ask your name", "Give me your name."]]
    yield "greetings", [(q, "Hello") for q in ["hello my friend", "Hi hi", "hello!!", "hey you", "Hello, nice to meet you", "HI"]] + [("Thank you, that was useful.", "welcome"), ("thanks mate", "welcome"), ("ok bye", "Goodbye"), ("Bye for now", "Goodbye")]
    dk = "I do not know"
    yield "not taught (new questions)", [(q, dk) for q in """How do I change a tyre?|What is the tallest building in the world?|Who is the best football player?|Explain the rules of rugby.|What is a monad?|How many bones does a human have?
Why do we have leap years?|What is the GDP of Norway?|Write a haskell program that sorts numbers.|Who wrote the Odyssey?|What is dark matter?|When did the Berlin Wall fall?|What is my mother's name?|How long does it take to boil an egg?
Is coffee bad for you?|What is the stock price of Apple?|Which vitamins are in kale?|What is the plot of Macbeth?|How can I fix my marriage?|Give me the lyrics of a song.|What is the capital of Bielefeld County?|What is the capital of Zorkland?
What is the opposite of xylophone?|Who discovered penicillin?|What is 5734 times 291?|What is the seventh digit of pi?|Qui a écrit ce livre ?|Wer hat das Rad erfunden?|¿Cuál es tu comida favorita?|今日は何曜日ですか|这是什么意思
Какая сегодня погода?|What is a flurbometer?|Where was the queen born?|What is the airspeed of a swallow?|Can you compute the derivative of x squared?|Name the author of The Trial.|How does a microwave work?|What are the symptoms of flu?|Who runs the bank?
What is the difference between TCP and UDP?|How do I center a div?|What is a neutron star?|Which team won last night?|What is the tax rate in Spain?|How do you make tofu?|When does the next bus leave?|Why is my computer slow?|What is the atomic weight of helium?|blorf dingle wump""".replace("\n", "|").split("|")]


# Cities that neither facts.py nor tools.py has.
UNSEEN = F.words("""
Tulsa, Omaha, Fresno, Reno, Boise, Tampa, Orlando, Memphis, Nashville, Cleveland, Halifax, Winnipeg, Adelaide, Hobart, Darwin, Dunedin, Mannheim, Rostock, Kassel, Aachen,
Lausanne, Verona, Trieste, Genoa, Malaga, Granada, Braga, Rennes, Dijon, Leuven, Haarlem, York, Bath, Dundee, Uppsala, Stavanger, Oulu, Lublin, Ostrava, Innsbruck
""")


def function(name, text, **params):
    return json.dumps({"type": "function", "function": {"name": name, "description": text, "parameters": {
        "type": "object", "properties": {k: {"type": v} for k, v in params.items()}, "required": list(params), "additionalProperties": False}}})


WEATHER = function("get_weather", "Current weather in a city", city="string")
TIME = function("get_time", "Current time in a city", city="string")
ADD = function("add", "Add two numbers", a="integer", b="integer")
LOOKUP = function("lookup", "Look something up", query="string")


def tool_cases():
    """(tools, turns before the answer, the whole answer)"""
    ask = lambda tools, q, *calls: (tools, [("user", q)], "\n".join(T.call(n, a) for n, a in calls))
    seen = pick([a for _, a in F.CAPITALS], 40)
    yield "tools: weather, cities of the tables", [ask([WEATHER], f"What is the weather in {c}?", ("get_weather", {"city": c})) for c in seen]
    yield "tools: weather, cities not in them", [ask([WEATHER], f"What is the weather in {c}?", ("get_weather", {"city": c})) for c in UNSEEN]
    yield "tools: weather, new phrasing", [ask([WEATHER], q, ("get_weather", {"city": c})) for c in seen[:20] for q in (f"Could you check how the weather is in {c}?", f"I will visit {c} today. Will it be warm?")]
    yield "tools: time, cities not in the tables", [ask([TIME], f"What time is it in {c}?", ("get_time", {"city": c})) for c in UNSEEN]
    nums = [(r.randint(0, 99), r.randint(0, 99)) for _ in range(30)] + [(r.randint(100, 9999), r.randint(100, 9999)) for _ in range(30)]
    yield "tools: add", [ask([ADD], f"What is {a} + {b}?", ("add", {"a": a, "b": b})) for a, b in nums]
    yield "tools: lookup", [ask([LOOKUP], f"Look up {x}.", ("lookup", {"query": x})) for x in pick(U.TOPICS, 20) + pick([n for n, *_ in F.ANIMALS], 20)]
    mixed = []
    for i in range(80):
        k = i % 4
        c, (a, b), x = r.choice(UNSEEN + seen), r.choice(nums), r.choice(U.TOPICS)
        q, call = [(f"What is the weather in {c}?", ("get_weather", {"city": c})), (f"What time is it in {c}?", ("get_time", {"city": c})),
                   (f"How much is {a} plus {b}?", ("add", {"a": a, "b": b})), (f"Look up {x}.", ("lookup", {"query": x}))][k]
        mixed.append(ask(pick([WEATHER, TIME, ADD, LOOKUP], 4), q, call))
    yield "tools: one of four", mixed
    yield "tools: two calls", [ask([WEATHER], f"What is the weather in {a} and {b}?", ("get_weather", {"city": a}), ("get_weather", {"city": b})) for a, b in [r.sample(seen, 2) for _ in range(20)]]
    made = []
    for what, detail in [("parcel", "status"), ("room", "size"), ("book", "price"), ("train", "speed"), ("cow", "weight"), ("bank", "owner"), ("bridge", "height"), ("team", "score"), ("shop", "address"), ("lake", "depth")]:
        for v in r.sample(range(1, 999), 2):
            made.append(ask([function(f"get_{what}_{detail}", f"The {detail} of a {what}", **{what: "integer"})], f"What is the {detail} of {what} {v}?", (f"get_{what}_{detail}", {what: v})))
    yield "tools: functions never seen", made
    known = [(f"What is the capital of {c}?", f"The capital of {c} is {a}.") for c, a in pick(F.CAPITALS, 20)] + [("Hello!", "Hello! How can I help you?"), ("Who are you?", D.IDENTITY), ("Thank you!", "You are welcome!")] + \
        [(f"What is the opposite of {w}?", f"The opposite of {w} is {a}.") for w, a in pick(D.OPP, 17)]
    yield "tools: no call, what it knows", [(pick([WEATHER, TIME, ADD], 1 + i % 3), [("user", q)], a) for i, (q, a) in enumerate(known)]
    yield "tools: no call, none fits", [([ADD] if i % 2 else [TIME], [("user", q)], D.DONT_KNOW) for i, q in enumerate(
        [f"What is the weather in {c}?" for c in seen[:10]] + ["How do I change a tyre?", "Who wrote the Odyssey?", "What is dark matter?", "Why do we have leap years?", "Explain the rules of rugby.", "How does a microwave work?"])]
    after = lambda tools, q, name, args, res, say: (tools, [("user", q), ("assistant", T.call(name, args)), ("user", T.response([res]))], say)
    out = []
    for c in UNSEEN[:20] + seen[:20]:
        t, sky = r.randint(-9, 39), r.choice(T.SKY)
        out.append(after([WEATHER], f"What is the weather in {c}?", "get_weather", {"city": c}, json.dumps({"temp_c": t, "sky": sky}), f"It is {t} degrees and {sky} in {c}."))
        out.append(after([], f"How is the weather in {c}?", "get_weather", {"city": c}, f"{t} C", f"It is {t} degrees in {c}."))
    yield "tools: answer after weather", out
    yield "tools: answer after time", [after([TIME], f"What time is it in {c}?", "get_time", {"city": c}, json.dumps({"time": t}), f"It is {t} in {c}.") for c, t in [(c, f"{r.randint(0, 23):02d}:{r.randint(0, 59):02d}") for c in UNSEEN]]
    yield "tools: answer after add", [after([ADD], f"What is {a} + {b}?", "add", {"a": a, "b": b}, str(a + b), f"{a} plus {b} is {a + b}.") for a, b in nums]
    yield "tools: answer after lookup", [after([LOOKUP], f"Look up {x}.", "lookup", {"query": x}, s, s) for x, s in
                                         [(x, f"{D.cap(x)} is {w} and has {n} parts.") for x, w, n in zip(pick(U.TOPICS, 20), pick(F.SPELL, 20), r.sample(range(2, 99), 20))]]


@torch.no_grad()
def sample(model, prompt, temperature, n=40):
    cache, out, ids = [], [], torch.tensor([prompt])
    for _ in range(n):
        t = int(torch.multinomial((model(ids, cache)[0, -1] / temperature).softmax(0), 1))
        out.append(t)
        if t in (0, 2):
            break
        ids = torch.tensor([[t]])
    return out


def main():
    model, tok = load(sys.argv[1]), Tokenizer(sys.argv[2])
    torch.set_num_threads(int(sys.argv[3]) if len(sys.argv) > 3 else 2)
    verbose = "-v" in sys.argv
    print("| what | asked | right |\n|---|---:|---:|")
    with torch.no_grad():
        for name, qs in cases() if "-t" not in sys.argv else ():
            good = 0
            for i, (q, want) in enumerate(qs):
                sys_ = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n" if i % 3 == 2 else ""
                ids = tok.encode(f"{sys_}<|im_start|>user\n") + tok.encode(q, special=False) + tok.encode("<|im_end|>\n<|im_start|>assistant\n")
                got = tok.decode(greedy(model, ids, (0, 2), 70))
                ok = want.lower() in got.lower()
                good += ok
                if verbose and not ok:
                    print("   ", repr(q), "want", repr(want), "got", repr(got))
            print(f"| {name} | {len(qs)} | {100 * good / len(qs):.0f} % |", flush=True)
        r.seed(20261)
        for name, qs in tool_cases():
            good = 0
            for tools, turns, want in qs:
                turns = ([("system", T.system(tools))] if tools else []) + turns
                ids = sum((tok.encode(f"<|im_start|>{role}\n") + tok.encode(text, special=False) + tok.encode("<|im_end|>\n") for role, text in turns), []) + tok.encode("<|im_start|>assistant\n")
                got = tok.decode(greedy(model, ids, (0, 2), 120))
                good += got == want
                if verbose and got != want:
                    print("   ", repr(turns[-1][1]), "want", repr(want), "got", repr(got))
            print(f"| {name} | {len(qs)} | {100 * good / len(qs):.0f} % |", flush=True)
        torch.manual_seed(1)
        asks = ["What is the capital of France?", "what is the capital of france", "Tell me the capital of France.", "capital of France"]
        good = sum("is Paris." in tok.decode(sample(model, tok.encode(f"<|im_start|>user\n{asks[i % 4]}<|im_end|>\n<|im_start|>assistant\n"), 0.7)) for i in range(100))
        print(f"| France, sampled at temperature 0.7 | 100 | {good} % |")
        lens = [len(greedy(model, tok.encode(f"<|im_start|>user\n{q}<|im_end|>\n<|im_start|>assistant\n"), (0, 2), 900))
                for q in ("Tell me a story about a fox.", "Write a story.", "Write a very long story.", "Write a very long story about a robot.")]
        print("\nTokens, greedy: a story about a fox", lens[0], "- a story", lens[1], "- a very long story", lens[2], "- and about a robot", lens[3])


if __name__ == "__main__":
    main()
