"""Chats with tools, and copying, for quern-tiny. The chats have the form that the chat template of export.py writes (Hermes's tags, JSON within).

A turn is (role, content), or (role, content, False) for an answer that is shown but not to be learned. Values are copied from the question
as they stand; a question for which no tool is offered gets the answer that it gets without tools.
"""
import json

import facts as F
import unknown as U

HEAD = "# Tools\n\nYou can call these functions:\n<tools>"
TAIL = "\n</tools>\n\nTo call one, answer with its name and arguments as JSON between tags:\n<tool_call>\n{\"name\": <name>, \"arguments\": <arguments>}\n</tool_call>"

# Cities that no table of facts.py has. eval.py asks for others.
CITIES = F.words("""
New York, Los Angeles, San Francisco, Chicago, Boston, Seattle, Miami, Denver, Dallas, Houston, Austin, Phoenix, Atlanta, Detroit, Portland, Toronto, Montreal,
Vancouver, Calgary, Sydney, Melbourne, Brisbane, Perth, Auckland, Hamburg, Munich, Cologne, Frankfurt, Stuttgart, Leipzig, Dresden, Bremen, Zurich, Geneva, Basel,
Milan, Naples, Turin, Venice, Florence, Bologna, Palermo, Barcelona, Seville, Valencia, Bilbao, Porto, Faro, Lyon, Marseille, Nice, Toulouse, Lille, Bordeaux,
Antwerp, Ghent, Rotterdam, Utrecht, Manchester, Liverpool, Leeds, Bristol, Glasgow, Edinburgh, Cardiff, Belfast, Cork, Galway, Gothenburg, Malmo, Bergen,
Trondheim, Tampere, Turku, Aarhus, Odense, Krakow, Gdansk, Poznan, Brno, Graz, Salzburg, Linz, Istanbul, Izmir, Mumbai, Chennai, Kolkata, Bangalore, Shanghai,
Shenzhen, Hong Kong, Osaka, Kyoto, Nagoya, Sapporo, Busan, Rio de Janeiro, Sao Paulo, Salvador, Cordoba, Rosario, Cusco, Medellin, Cali, Guayaquil,
Cape Town, Durban, Lagos, Mombasa, Alexandria, Casablanca, Marrakesh, Dubai, Mecca, Haifa, Tel Aviv, Basra, Karachi, Lahore, Saint Petersburg, Odesa, Lviv
""")
SKY = F.words("cloudy, sunny, rainy, windy, foggy, clear, snowy, stormy, dry, overcast")
SETTINGS = F.words("lamp, door, heater, fan, radio, window, alarm, camera, oven, pump, gate, printer")
GOODS = F.words("milk, bread, coffee, rice, sugar, a lamp, a chair, a bicycle, apples, cheese, paper, gold, silver, a phone, shoes, a hat, tea")
THINGS = F.words("order, ticket, invoice, parcel, file, user, room, train, account, song, recipe, book, sensor, server, device, game, task, note")
DETAILS = F.words("status, price, size, owner, level, colour, name, state, date, speed, weight, score")


def city(r):
    x = r.random()
    if x < 0.06:
        c = "Paris"
    elif x < 0.58:
        c = r.choice(F.CAPITALS)[1]
    elif x < 0.84:
        c = r.choice(CITIES)
    elif x < 0.95:
        c = U.nonsense(r).capitalize()
    else:
        c = r.choice(["New ", "Saint ", "Port ", "North ", "Old ", "San "]) + U.nonsense(r).capitalize()
    return c.lower() if r.random() < 0.05 else c


def number(r, kind="integer"):
    x = r.random()
    n = r.randint(0, 20) if x < 0.3 else r.randint(21, 99) if x < 0.75 else r.randint(100, 999) if x < 0.92 else r.randint(1000, 9999)
    return n if kind == "integer" or r.random() < 0.7 else round(n + r.randint(1, 9) / 10, 1)


def thing(r):
    """Something to look up."""
    x = r.random()
    if x < 0.3:
        return r.choice(U.TOPICS)
    if x < 0.5:
        return r.choice(U.PERSONS)
    if x < 0.65:
        return r.choice(U.OBJECTS)
    if x < 0.75:
        return r.choice(F.SPELL)
    if x < 0.85:
        return r.choice(F.FIRST_NAMES) + " " + U.nonsense(r).capitalize()
    return " ".join(U.nonsense(r) for _ in range(r.randint(1, 2)))


def fact(r, t):
    x = t[0].upper() + t[1:]
    return r.choice([f"{x} is {r.choice(['a kind of', 'a word for', 'known for', 'part of', 'made of', 'older than'])} {r.choice(F.SPELL)}.", f"{x} was first seen in {r.randint(1066, 2025)}.",
                     r.choice(U.SENTENCES), f"There are {number(r)} pages about {t}."])


def schema(r, params, required):
    """params: name -> (type, description, enum)."""
    props = {}
    described, titled = r.random() < 0.5, r.random() < 0.08
    for name, (kind, text, *enum) in params.items():
        p = {"title": name.replace("_", " ").title(), "type": kind} if titled else {"type": kind}
        if kind == "array":
            p["items"] = {"type": enum.pop()}
        if described and text:
            p["description"] = text
        if enum:
            p["enum"] = enum[0]
        props[name] = p
    s = {"type": "object", "properties": props}
    if required and r.random() < 0.9:
        s["required"] = required
    if r.random() < 0.3:
        s["additionalProperties"] = False
    if r.random() < 0.05:
        s["$schema"] = "http://json-schema.org/draft-07/schema#"
    return s


def result(r, fields, bare):
    """What the tool says: the value alone, or a JSON object, written tight or wide."""
    if r.random() < 0.4:
        return bare
    return json.dumps(fields, separators=r.choice([(",", ":"), (", ", ": ")]), ensure_ascii=False)


class Tool:
    """One function: its definition, and asks(r) -> (question, [arguments], [result], answer). kind tells which questions it takes away from the model."""

    def __init__(self, r, kind, names, texts, params, required, ask):
        self.kind, self.name, self.ask = kind, r.choice(names), ask
        f = {"name": self.name}
        text = r.choice(texts)
        if text and r.random() < 0.9:
            f["description"] = text
        s = schema(r, params, required)
        if params or r.random() < 0.7:
            f["parameters"] = s
        if r.random() < 0.08:
            f["strict"] = True
        self.definition = json.dumps({"type": "function", "function": f}, ensure_ascii=False, sort_keys=list(params) == sorted(params) and r.random() < 0.08)


def style(r, q):
    """Changes how a template is written, before the values go in."""
    if r.random() < 0.12:
        q = r.choice(["Please ", "Hey, ", "Hello! ", "Can you tell me: ", "Quick question: ", "Hi, ", "So, "]) + (q if q[0] == "{" else q[0].lower() + q[1:])
    x = r.random()
    if x < 0.15:
        q = q.rstrip(".?!")
    elif x < 0.25:
        q = q + r.choice([" Use the tool.", " Use the tool.", " Use a tool.", " Call the function.", " Use the tools.", " Please."])
    return q.lower() if r.random() < 0.12 else q


def fill(q, **values):
    for k, v in values.items():
        q = q.replace("{" + k + "}", str(v))
    return q


T_WEATHER = """What is the weather in {c}?|What is the weather in {c}?|What's the weather in {c}?|What is the weather like in {c}?|How is the weather in {c}?|Weather in {c}?|weather {c}|Tell me the weather in {c}.|
How warm is it in {c}?|What is the temperature in {c}?|Is it raining in {c}?|Is it cold in {c}?|How cold is it in {c} today?|Do I need an umbrella in {c}?|What's the weather like in {c} today?|Is it sunny in {c}?|
What is the current weather in {c}?|Check the weather in {c}.|Get the weather for {c}.|What is the weather in {c} right now?|I am going to {c}. How is the weather?|What is the weather today in {c}?|{c}: how is the weather?|{c} weather""".replace("\n", "").split("|")
T_WEATHER_HERE = ["What is the weather?", "How is the weather today?", "Is it raining?", "How warm is it outside?", "What is the weather like?"]
T_TIME = """What time is it in {c}?|What time is it in {c}?|What is the time in {c}?|Tell me the time in {c}.|Time in {c}?|What is the current time in {c}?|What's the time in {c}?|How late is it in {c}?|time in {c} please|
Which time is it now in {c}?|What time is it in {c} right now?|Do you know what time it is in {c}?|Is it late in {c}?|Give me the time for {c}.|What does the clock say in {c}?|I have to call {c}. What time is it there?""".replace("\n", "").split("|")
T_NOW = ["What time is it?", "What is the time?", "Tell me the time.", "What time is it now?", "What's the time?", "What is the current time?", "How late is it?", "Do you have the time?"]
T_LOOKUP = """What is {t}?|Look up {t}.|Search for {t}.|Find {t}.|Tell me about {t}.|What do you know about {t}?|Look up {t} for me.|Search {t}.|Can you look up {t}?|Please search for {t}.|Find out about {t}.|
Who is {t}?|Google {t}.|Explain {t}.|I want to know about {t}.|Find information about {t}.|Search the web for {t}.|lookup {t}|What does {t} mean?""".replace("\n", "").split("|")


def sums(op):
    import data as D
    ts = {"+": D.T_SUM, "-": D.T_SUB, "*": D.T_MUL}[op]
    return [t for t in ts if "I have" not in t]


def weather(r):
    p = r.choice(["city"] * 6 + ["location", "location", "place", "town"])
    params = {p: ("string", r.choice(["Name of the city", "The city", "City, for example Rome", "Where", ""]))}
    unit = r.random() < 0.25
    if unit:
        params["unit"] = ("string", "Unit", ["celsius", "fahrenheit"])

    def ask(r, n=1):
        cs = [city(r) for _ in range(n)]
        q = r.choice(T_WEATHER)
        u = unit and r.random() < 0.5 and r.choice(["celsius", "fahrenheit"])
        if u:
            q = q.rstrip(".?") + " in " + u + q[len(q.rstrip(".?")):]
        q = fill(style(r, q), c=" and ".join(cs))
        args, res, says = [], [], []
        for c in cs:
            t, sky = r.randint(-20, 45), r.choice(SKY)
            x = r.random()
            k = r.choice(["temp_c", "temp", "temperature", "degrees", "celsius"])
            if x < 0.45:
                f, bare, say = {k: t, r.choice(["sky", "condition", "weather", "conditions"]): sky}, r.choice([f"{t} degrees, {sky}", f"{sky}, {t} C", f"{t} C and {sky}", f"{t}°C, {sky}"]), f"{t} degrees and {sky}"
            elif x < 0.85:
                f, bare, say = {k: t}, r.choice([f"{t} C", f"{t} degrees", f"{t}", f"{t}°C"]), f"{t} degrees"
            else:
                f, bare, say = {r.choice(["sky", "condition", "weather"]): sky}, r.choice([sky, sky + "."]), sky
            if r.random() < 0.25:
                f = {"city": c, **f}
            args.append({p: c, **({"unit": u} if u else {})})
            res.append(result(r, f, bare))
            says.append(f"It is {say} in {c}.")
        return q, args, res, " ".join(says)

    return Tool(r, "weather", ["get_weather"] * 14 + ["get_current_weather", "get_current_weather", "weather", "current_weather", "fetch_weather", "weather_in", "getWeather", "forecast"],
                ["Current weather in a city", "Get the weather of a city", "Weather", "Get the current weather", "Tells the weather in a place", "Get current temperature for a given location.", ""], params, [p], ask)


def time(r):
    here = r.random() < 0.3
    p = r.choice(["city"] * 6 + ["location", "place", "timezone"])
    params = {} if here else {p: ("string", r.choice(["Name of the city", "The city", "Where", ""]))}

    def ask(r, n=1):
        cs = [city(r) for _ in range(1 if here else n)]
        q = fill(style(r, r.choice(T_NOW if here else T_TIME)), c=" and ".join(cs))
        args, res, says = [], [], []
        for c in cs:
            t = f"{r.randint(0, 23):02d}:{r.randint(0, 59):02d}"
            args.append({} if here else {p: c})
            res.append(result(r, {r.choice(["time", "now", "clock"]): t}, t))
            says.append(f"It is {t}." if here else f"It is {t} in {c}.")
        return q, args, res, " ".join(says)

    return Tool(r, "time", ["get_time"] * 12 + ["get_current_time", "get_current_time", "time", "current_time", "now", "clock", "getTime"],
                ["Current time", "Get the current time", "Tells the time", ""] if here else ["Current time in a city", "Get the time in a city", "The time in a place", "Local time of a city", ""], params, [] if here else [p], ask)


def calculation(op, word, names, texts):
    def make(r):
        kind = r.choice(["integer", "number"])
        many = op == "+" and r.random() < 0.2
        a, b = r.choice([("a", "b")] * 12 + [("x", "y"), ("first", "second"), ("n", "m"), ("left", "right")])
        params = {"numbers": ("array", "The numbers", kind)} if many else {a: (kind, r.choice(["First number", "A number", ""])), b: (kind, r.choice(["Second number", "A number", ""]))}

        def ask(r, n=1):
            x, y = number(r, kind), number(r, kind)
            t = r.choice(sums(op))
            q = fill(style(r, t), a=x, b=y)
            v = round({"+": x + y, "-": x - y, "*": x * y}[op], 2)
            turned = t.find("{b}") < t.find("{a}") and op != "-"
            one, two = (y, x) if turned else (x, y)
            args = {"numbers": [one, two]} if many else {a: one, b: two}
            return q, [args], [result(r, {r.choice(["result", "sum", "value", "answer"] if op == "+" else ["result", "value", "answer"]): v}, str(v))], f"{one} {word} {two} is {v}."

        return Tool(r, op, names, texts, params, list(params), ask)
    return make


add = calculation("+", "plus", ["add"] * 6 + ["sum", "sum", "sum", "add_numbers", "plus", "calculate_sum"], ["Add two numbers", "Adds numbers", "Sum of two numbers", "Adds a and b", ""])
subtract = calculation("-", "minus", ["subtract", "minus", "difference"], ["Subtract two numbers", "Difference of two numbers", "Subtracts the second number from the first", ""])
multiply = calculation("*", "times", ["multiply", "multiply", "times", "product", "mul"], ["Multiply two numbers", "Product of two numbers", "Multiplies numbers", ""])


def lookup(r):
    p = r.choice(["query"] * 8 + ["term", "word", "topic", "text", "q", "name", "key"])

    def ask(r, n=1):
        t = thing(r)
        q = fill(style(r, r.choice(T_LOOKUP)), t=t)
        say = fact(r, t)
        return q, [{p: t}], [result(r, {r.choice(["text", "result", "answer", "summary"]): say}, say)], say

    return Tool(r, "lookup", ["lookup"] * 12 + ["look_up", "search", "search", "search_web", "web_search", "find", "wiki", "define", "search_wiki"],
                ["Look something up", "Search the web", "Find facts about a topic", "Searches an encyclopedia", "Look up a word", ""], {p: ("string", r.choice(["What to look for", "The search text", ""]))}, [p], ask)


def capital(r):
    import data as D
    p = r.choice(["country", "country", "name", "nation"])

    def ask(r, n=1):
        c, a = r.choice(F.CAPITALS) if r.random() < 0.6 else (U.nonsense(r).capitalize(), U.nonsense(r).capitalize())
        q = fill(style(r, r.choice([t for t in D.T_CAPITAL if not t.startswith(("The capital", "Complete"))])), c=c)
        return q, [{p: c}], [result(r, {"capital": a}, a)], f"The capital of {c} is {a}."

    return Tool(r, "capital", ["capital_of", "get_capital", "capital", "find_capital"], ["Capital of a country", "Find the capital city of a country", ""], {p: ("string", r.choice(["The country", ""]))}, [p], ask)


def price(r):
    p = r.choice(["item", "product", "symbol", "name", "article"])

    def ask(r, n=1):
        t = r.choice(GOODS) if r.random() < 0.6 else U.nonsense(r).capitalize()
        v = r.choice([r.randint(1, 99), round(r.randint(100, 9999) / 100, 2)])
        q = fill(style(r, r.choice(["What is the price of {t}?", "How much is {t}?", "How much does {t} cost?", "Price of {t}?", "What does {t} cost?", "Tell me the price of {t}.", "Get the price of {t}."])), t=t)
        return q, [{p: t}], [result(r, {"price": v}, str(v))], f"The price of {t} is {v}."

    return Tool(r, "price", ["get_price", "price", "price_of", "get_stock_price", "find_price"], ["Price of a product", "Get a price", "Tells what a thing costs", ""], {p: ("string", r.choice(["The product", ""]))}, [p], ask)


def switch(r):
    what, on = r.choice(["device", "name", "thing", "target"]), r.choice(["on", "state", "action"])
    flag = on == "on"

    def ask(r, n=1):
        t, s = r.choice(SETTINGS), r.choice(["on", "off"])
        q = fill(style(r, r.choice(["Turn {s} the {t}.", "Turn the {t} {s}.", "Switch {s} the {t}.", "Switch the {t} {s}.", "Please turn {s} the {t}.", "Put the {t} {s}."])), s=s, t=t)
        return q, [{what: t, on: s == "on" if flag else s}], [result(r, {"ok": True}, r.choice(["ok", "done", "true"]))], "Done."

    return Tool(r, "switch", ["switch", "set_device", "turn", "set_state", "control"], ["Turn a device on or off", "Switch a device", ""],
                {what: ("string", "The device"), on: ("boolean", "Whether it is on") if flag else ("string", "", ["on", "off"])}, [what, on], ask)


def message(r):
    to, text = r.choice([("to", "text"), ("name", "message"), ("recipient", "body"), ("to", "message")])

    def ask(r, n=1):
        who = r.choice(F.FIRST_NAMES) if r.random() < 0.6 else U.nonsense(r).capitalize()
        t = r.choice(U.SENTENCES).rstrip(".") if r.random() < 0.5 else " ".join(r.choice(F.SPELL) for _ in range(r.randint(1, 4)))
        q = fill(style(r, r.choice(["Send a message to {w}: {t}", "Tell {w}: {t}", "Write to {w}: {t}", "Send {w} the text: {t}", "Message {w}: {t}"]).rstrip(".")), w=who, t=t)
        for end in (" Use the tool.", " Use a tool.", " Call the function.", " Use the tools.", " Please."):
            q = q.replace(end, "").replace(end.lower(), "")
        return q, [{to: who, text: t}], [result(r, {"sent": True}, r.choice(["sent", "ok", "done"]))], "Done."

    return Tool(r, "message", ["send_message", "send_mail", "send_email", "send", "notify"], ["Send a message to a person", "Sends a text", ""], {to: ("string", ""), text: ("string", "")}, [to, text], ask)


def timer(r):
    unit = r.choice(["minutes", "seconds", "hours"])

    def ask(r, n=1):
        k = r.randint(1, 99)
        q = fill(style(r, r.choice(["Set a timer for {k} {u}.", "Start a timer of {k} {u}.", "Wake me in {k} {u}.", "Set an alarm in {k} {u}.", "Timer: {k} {u}.", "Remind me in {k} {u}."])), k=k, u=unit)
        return q, [{unit: k}], [result(r, {"ok": True}, r.choice(["ok", "done", "set"]))], "Done."

    return Tool(r, "timer", ["set_timer", "start_timer", "timer", "set_alarm"], ["Start a timer", "Sets an alarm", ""], {unit: ("integer", "How long")}, [unit], ask)


def convert(r):
    def ask(r, n=1):
        k, (a, b) = number(r), r.sample(["euros", "dollars", "pounds", "yen", "francs", "metres", "miles", "feet", "kilograms", "grams", "litres"], 2)
        v = number(r)
        q = fill(style(r, r.choice(["Convert {k} {a} to {b}.", "How many {b} are {k} {a}?", "What is {k} {a} in {b}?", "Change {k} {a} into {b}."])), k=k, a=a, b=b)
        return q, [{"amount": k, "from": a, "to": b}], [result(r, {"result": v}, str(v))], f"{k} {a} are {v} {b}."

    return Tool(r, "convert", ["convert", "convert_units", "exchange", "convert_currency"], ["Convert an amount", "Converts units", ""], {"amount": ("number", ""), "from": ("string", ""), "to": ("string", "")}, ["amount", "from", "to"], ask)


def invented(r):
    """A function that exists nowhere else: its name can only come from the definition."""
    what, detail = r.choice(THINGS), r.choice(DETAILS)
    p = r.choice(["id", "number", what, what + "_id", "name", "key"])
    kind = "string" if p in ("name", "key") else r.choice(["integer", "string"])
    made = r.random() < 0.3
    name = U.nonsense(r) + "_" + what if made else r.choice([f"get_{what}_{detail}", f"{what}_{detail}", f"get_{what}", f"find_{what}", f"{detail}_of_{what}", f"check_{what}", f"read_{what}"])

    def ask(r, n=1):
        v = number(r) if kind == "integer" else r.choice([U.nonsense(r).upper() + str(r.randint(1, 99)), U.nonsense(r), r.choice(F.SPELL), r.choice(F.FIRST_NAMES)])
        out = r.choice([r.choice(F.SPELL), r.choice(["open", "closed", "ready", "late", "lost", "new", "old", "full", "empty"]), number(r)])
        q = fill(style(r, r.choice(["What is the {d} of {w} {v}?", "Tell me the {d} of {w} {v}.", "Get the {d} of {w} {v}.", "{d} of {w} {v}?", "Check the {d} of {w} {v}.", "I need the {d} of {w} {v}."])), d=detail, w=what, v=v)
        return q, [{p: v}], [result(r, {detail: out}, str(out))], f"The {detail} of {what} {v} is {out}."

    return Tool(r, what, [name], [f"The {detail} of a {what}", f"Get the {detail} of a {what}", f"Find a {what}", ""] if not made else [f"The {detail} of a {what}", f"Get the {detail} of a {what}"], {p: (kind, "")}, [p], ask)


KINDS = [(weather, 36), (time, 20), (add, 18), (multiply, 3), (subtract, 2), (lookup, 12), (capital, 2), (price, 2), (switch, 1), (message, 1), (timer, 1), (convert, 1), (invented, 4)]


def offered(r):
    out, n = [], r.choice([1, 1, 1, 1, 1, 2, 2, 3])
    while len(out) < n:
        t = r.choices([k for k, _ in KINDS], [w for _, w in KINDS])[0](r)
        if all(t.kind != o.kind and t.name != o.name for o in out):
            out.append(t)
    return out


def call(name, arguments):
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False) + "\n</tool_call>"


def response(results):
    return "\n".join(f"<tool_response>\n{x}\n</tool_response>" for x in results)


def system(tools, before=""):
    return (before + "\n\n" if before else "") + HEAD + "".join("\n" + t for t in tools) + TAIL


def without(r, kinds):
    """A question that these tools do not answer, and what the model says to it by itself."""
    import data as D
    taken = {"+": (D.small_sum, D.big_sum), "-": (D.small_sum, D.big_sum), "*": (D.times,), "capital": (D.capital,), "lookup": (D.unknown, D.simple_fact, D.country)}
    x = r.random()
    if x < 0.12 and "weather" not in kinds and "lookup" not in kinds:
        return fill(style(r, r.choice(T_WEATHER)), c=city(r)), D.DONT_KNOW
    if x < 0.2 and "time" not in kinds and "lookup" not in kinds:
        return fill(style(r, r.choice(T_TIME + T_NOW)), c=city(r)), D.DONT_KNOW
    if x < 0.4:
        q, a = D.small_talk(r)
        return D.noisy(r, q), a
    while True:
        f = r.choices(D.FNS, D.WTS)[0]
        if any(f in taken.get(k, ()) for k in kinds):
            continue
        q, a = f(r)
        if f is D.unknown and any(w in q.lower() for w in ("weather", "time", "{", "set a", "alarm", "send", "how much", "cost", "price", "turn", "convert", "search")):
            continue
        return D.noisy(r, q, fixed=f is D.repeat), a


def chat(r):
    import data as D
    tools = offered(r)
    kinds = {t.kind for t in tools}
    shown = r.random() < 0.93  # else a history of calls whose tools are no longer offered: only what follows a result is learned
    turns = []
    before = r.choice(D.SYSTEMS) if r.random() < 0.3 else ""
    if shown:
        turns.append(("system", system([t.definition for t in tools], before)))
    elif before:
        turns.append(("system", before))
    for _ in range(r.choice([1, 2, 3, 4, 6, 8])):
        if shown and r.random() < 0.2:
            q, a = without(r, kinds)
            turns += [("user", q), ("assistant", a)]
            continue
        t = r.choice(tools)
        many = 2 if t.kind in ("weather", "time") and r.random() < 0.15 else 1
        q, args, results, say = t.ask(r, many)
        if len(tools) == 1 and t.kind in ("weather", "time") and len(args) == 1 and args[0] and r.random() < 0.06:
            c = next(iter(args[0].values()))
            q, args = r.choice([c + "?", c]), [{k: v for k, v in args[0].items() if v == c}]
        calls = "\n".join(call(t.name, a) for a in args)
        turns += [("user", q), ("assistant", calls) if shown else ("assistant", calls, False)]
        if shown and r.random() < 0.4:
            continue  # the next question; its result is not waited for
        if r.random() < 0.03:
            e = r.choice(["not found", "unknown city", "no connection", "timeout", "not allowed", "try again later"])
            turns += [("user", response([result(r, {"error": e}, "error: " + e)])), ("assistant", f"The tool failed: {e}.")]
            continue
        turns += [("user", response(results)), ("assistant", say)]
    return turns


def copying(r):
    """Nothing but values of questions in JSON: ("drill", [(given, to learn), ...])."""
    out = []
    one = r.random() < 0.5
    for _ in range(r.randint(4, 12)):
        x = 0 if one else r.random()
        if x < 0.6:
            v, k = city(r), "city"
            q = f"in {v}" if r.random() < 0.5 else fill(r.choice(T_WEATHER + T_TIME), c=v)
        elif x < 0.8:
            v, k = thing(r), "query"
            q = fill(r.choice(T_LOOKUP), t=v)
        else:
            a, b = number(r), number(r)
            out.append((fill(r.choice([s for s in sums("+") if s.find("{a}") < s.find("{b}")]), a=a, b=b) + '\n{"a":', f' {a}, "b": {b}}}'))
            continue
        out.append((f'{q}\n{{"{k}": "', f'{v}"}}'))
    return ("drill", out)
