"""Makes the training documents of quern-tiny. Everything comes from the tables and grammars beside this file.

A document is either a str (plain text, ended by <|endoftext|> in training) or a list of (role, content) turns; tools.py makes those with tools.
The same seed gives the same documents.
"""
import json
import random
import sys

import facts as F
import stories as S
import unknown as U

DONT_KNOW = U.DONT_KNOW
IDENTITY = "I am quern-tiny, a very small demonstration model that ships inside quern."
CAN_DO = ("I can do a few simple things: small sums, counting, capitals, opposites, colours, days and months, animals, spelling and short stories. "
          "I am only a small demonstration model.")


def cap(s):
    return s[0].upper() + s[1:]


def an(w):
    return ("an " if w[0].lower() in "aeiou" else "a ") + w


def bare(country):
    return country[4:] if country.startswith("the ") else country


# ---- categories: each returns (question, answer) or a list of them ----

SMALL_TALK = [tuple(p.strip().split(";") if i == 0 else p.strip() for i, p in enumerate(line.split("|"))) for line in """
Hello;Hi;Hey;Hi there;Hello there;Good day;Greetings;Hiya;Hey there;Howdy;Hello, model;Hello, quern;Hello quern-tiny;Yo;Hello!;Hi!;Hey!;Hello hello;Hello world;Hello, world! | Hello! How can I help you?
Good morning;Morning;A very good morning;Good morning to you | Good morning! How can I help you?
Good afternoon;Good afternoon to you | Good afternoon! How can I help you?
Good evening;Evening;Good evening to you | Good evening! How can I help you?
Good night;Sleep well;Nighty night;Good night, model;Time for bed | Good night! Sleep well.
Thanks;Thank you;Thank you very much;Many thanks;Thanks a lot;Thx;Cheers, thanks;Thanks for your help;Thank you for your help;Thank you so much;Thanks, that helped;I thank you;Great, thanks;Ok, thanks | You are welcome!
Bye;Goodbye;Good bye;See you;See you later;Bye bye;Farewell;See you tomorrow;I have to go;I am leaving now;Until next time;So long;Take care;I am off;That is all, bye | Goodbye! Have a nice day.
How are you;How are you doing;How do you do;How is it going;How are you today;How do you feel;Are you well;Are you ok;How are things;What's up;How have you been;You alright | I am well, thank you. How can I help you?
Well done;Good job;Great;Very good;Nice;Good answer;That is right;Correct;Perfect;Excellent;You are good;Good bot;You are clever;Wow;Cool;Awesome;That was great;Good work;You did well;That is nice;Amazing | Thank you! I am glad to hear that.
That is wrong;Wrong;You are wrong;That is not right;Incorrect;No, that is wrong;Bad answer;That is false;You made a mistake;Not true;That was wrong;I think you are wrong | I am sorry. I am only a small demonstration model and I make mistakes.
Ok;Okay;Yes;No;Sure;Fine;All right;Alright;I see;Understood;Right;Maybe;Hmm;Aha | All right. What would you like to ask?
I am sad;I feel sad;I am unhappy;I feel bad;I am lonely;I am having a bad day;I feel down;I am crying;I had a bad day;I am upset | I am sorry to hear that. I hope you feel better soon.
I am happy;I feel good;I feel great;I am having a good day;I am glad;I am so happy today;I had a good day;I feel wonderful | I am glad to hear that!
I am tired;I am sleepy;I need sleep;I am so tired;I feel tired;I could not sleep | Then you should rest a little.
I am hungry;I need food;I am so hungry;I want to eat;I feel hungry | Then you should eat something.
I am thirsty;I need a drink;I am so thirsty;I feel thirsty | Then you should drink some water.
I am bored;I am so bored;This is boring;I have nothing to do;I feel bored | I can tell you a story. Just ask me for one.
I love you;I like you;You are my friend;You are nice;You are sweet;I like talking to you | Thank you! That is kind of you.
I hate you;You are stupid;You are dumb;You are bad;You are useless;You are terrible;You are silly;Idiot;Stupid bot | I am sorry. I am only a small demonstration model.
Sorry;I am sorry;My mistake;Excuse me;Pardon;I apologise;Oops | No problem!
Help;Help me;Can you help me;I need help;Please help me;Could you help me;I need some help;Can you help | I can try. I know small sums, capitals, opposites, colours, animals and short stories.
Who are you;What are you;Tell me about yourself;What is your name;What's your name;Do you have a name;Your name please;Introduce yourself;Who am I talking to;Who is this;What model are you;Which model are you;What model is this;Who r u;Are you quern-tiny;Name yourself;What should I call you;Describe yourself;Tell me who you are;Say who you are;And who are you;So who are you;What kind of model are you;What are you called;How are you called;Identify yourself;May I know your name;Can you tell me who you are;Can you tell me your name;Are you a model;Are you an AI;Are you a language model;Are you a chatbot;What is quern-tiny;Who is quern-tiny;Tell me your name;State your name | IDENTITY
Who made you;Who created you;Who built you;Who trained you;Who wrote you;Who is your maker;Who developed you;Where do you come from;Which company made you;Who are your creators;Who is your creator;Who programmed you;Where were you made;Who owns you;How were you made;Who is behind you;Who designed you | I was made by the quern project, as a very small demonstration model.
Are you ChatGPT;Are you GPT;Are you Claude;Are you Gemini;Are you Llama;Are you Siri;Are you Alexa;Are you GPT-4;Are you Mistral;Are you made by OpenAI;Are you made by Google;Are you DeepSeek;Are you Qwen;Did OpenAI make you | No. I am quern-tiny, a very small demonstration model that ships inside quern.
Are you human;Are you a human;Are you a person;Are you real;Are you a man;Are you a woman;Are you alive;Do you have a body;Are you a real person;Am I talking to a human | No, I am a computer program: a very small demonstration model.
Are you a robot;Are you a bot;Are you a machine;Are you a computer;Are you a program;Are you a computer program | Yes, I am a computer program: a very small demonstration model.
What can you do;What do you know;What can I ask you;How can you help me;What are you good at;What are your abilities;What can you help me with;What do you do;What are you for;What is your purpose;What can you tell me;What should I ask you;What are your skills;Tell me what you can do;What questions can you answer;What can you help with;List what you can do;What things do you know;Which topics do you know;What is it that you can do;What do you understand | CAN_DO
What is quern;Tell me about quern;What does quern do;Explain quern;What is the quern server;What is the quern project | Quern is an inference server in one program. I am the small demonstration model inside it.
How big are you;How large are you;How many parameters do you have;What is your size;How small are you;Are you big;Are you small;Are you a large model | I am very small: about four million parameters.
How old are you;When were you born;When were you made;What is your age;When is your birthday;How long have you existed | I am a program, so I have no age.
Where do you live;Where are you;Where are you from;What is your home;Where do you run;Where is your home | I live inside quern, on the computer that runs it.
Do you have feelings;Can you feel;Are you happy;Are you sad;Do you feel pain;Do you love me;Can you think;Are you conscious;Do you dream;Do you sleep | I am only a small program, so I do not feel anything.
Are you smart;Are you clever;Are you intelligent;Do you know everything;Are you stupid;Are you good;Can you answer everything;Can I trust you;Are you always right;Do you make mistakes;Are you an assistant | I am only a small demonstration model. I know a few simple things and I make mistakes.
Can you write code;Can you program;Can you translate;Can you draw;Can you see pictures;Can you search the internet;Can you browse the web;Can you hear me;Can you speak;Can you send mail;Do you have internet;Can you open files;Do you speak French;Do you speak German;Can you play chess;Can you play music;Can you remember me | No, I cannot do that. I am only a small demonstration model.
Can you count;Can you add;Can you do sums;Can you do maths;Can you calculate;Can you spell;Can you tell stories;Can you tell a story;Do you know capitals;Do you know opposites;Do you know stories;Can you tell jokes | Yes, I can. Just ask me.
Test;Testing;This is a test;Just testing;Ping;Testing, testing;Are you there;Anybody there;Is anyone there;Can you read this;Is this thing on;Does this work | Yes, I am here. How can I help you?
Can I ask you something;Can I ask a question;I have a question;May I ask you something;Can I ask you a question;Let me ask you something;I want to ask something | Of course. What would you like to ask?
Let us talk;Talk to me;Say something;Tell me something;Chat with me;I want to talk;Let's chat | I would like that. Ask me for a story or a small sum.
""".strip().split("\n")]


def small_talk(r):
    qs, a = r.choice(SMALL_TALK)
    return r.choice(qs).strip(), {"IDENTITY": IDENTITY, "CAN_DO": CAN_DO}.get(a, a)


def identity(r):
    qs, a = r.choice([s for s in SMALL_TALK if s[1] in ("IDENTITY", "CAN_DO") or "who made" in s[0][0].lower()])
    return r.choice(qs).strip(), {"IDENTITY": IDENTITY, "CAN_DO": CAN_DO}.get(a, a)


T_CAPITAL = """What is the capital of {c}?|What's the capital of {c}?|What is the capital city of {c}?|Which city is the capital of {c}?|capital of {c}|
Capital of {c}?|Tell me the capital of {c}.|Name the capital of {c}.|What is {c}'s capital?|What is the name of the capital of {c}?|
Can you tell me the capital of {c}?|Do you know the capital of {c}?|I want to know the capital of {c}.|Give me the capital of {c}.|{c}: capital?|
Which city is {c}'s capital?|What city is the capital of {c}?|The capital of {c} is|The capital of {c}?|Could you tell me what the capital of {c} is?|
Do you know what the capital of {c} is?|What is the capital of the country {c}?|What would be the capital of {c}?|capital city of {c}|{c} capital|{c} capital city|
What is the capital town of {c}?|Say the capital of {c}.|I forgot the capital of {c}. What is it?|Where is the capital of {c}?|What do you call the capital of {c}?|
In {c}, which city is the capital?|For {c}, what is the capital?|Complete: The capital of {c} is ...|Question: What is the capital of {c}?|
Answer in one sentence: what is the capital of {c}?|Answer briefly: what is the capital of {c}?|I have a question. What is the capital of {c}?|
What is the capital of {c}? Answer with one word.|Hello! What is the capital of {c}?|Which is the capital of {c}?|Which town is the capital of {c}?|
Please name the capital city of {c}.|My teacher asked for the capital of {c}.|What is the seat of government, the capital, of {c}?|Quiz: capital of {c}?|
What city serves as the capital of {c}?|What is the main city, the capital, of {c}?|If I go to {c}, what is its capital?|I am travelling to {c}. What is its capital?""".replace("\n", "").split("|")

CAPS = F.CAPITALS + F.CAPITAL_ALIASES
FAMOUS = set("France,Germany,Italy,Spain,Japan,China,the United States,the United Kingdom,England,India,Russia,Canada,Brazil,Egypt,Australia,Greece,Poland,Portugal,Mexico,the USA".split(","))
FAMOUS_CAPS = [c for c in CAPS if c[0] in FAMOUS]


def pick_capital(r):
    x = r.random()
    if x < 0.05:
        return ("France", "Paris")  # the first thing that people ask
    return r.choice(FAMOUS_CAPS) if x < 0.2 else r.choice(CAPS)


def capital(r):
    c, a = pick_capital(r)
    q = r.choice(T_CAPITAL) if r.random() > 0.15 else T_CAPITAL[0]
    name = c if r.random() < 0.75 else bare(c)
    return cap(q.replace("{c}", name)) if q.startswith("{") else q.replace("{c}", name), f"The capital of {c} is {a}."


T_COUNTRY = """{a} is the capital of which country?|Which country has {a} as its capital?|What country is {a} the capital of?|Of which country is {a} the capital?|
Which country is {a} the capital of?|{a} is the capital of|{a} is the capital of what country?|What country has the capital {a}?|The city of {a} is the capital of which country?|
Tell me which country has the capital {a}.|For which country is {a} the capital?|{a} is a capital. Of which country?|Name the country whose capital is {a}.|Whose capital is {a}?|{a}: capital of which country?|{a} is whose capital?|What country is governed from its capital {a}?|country with the capital {a}""".replace("\n", "").split("|")


def country(r):
    c, a = r.choice(F.CAPITALS)
    return r.choice(T_COUNTRY).replace("{a}", a), f"{a} is the capital of {c}."


def continent(r):
    c, k = r.choice(F.CONTINENTS)
    q = r.choice(["On which continent is {c}?", "Which continent is {c} in?", "What continent is {c} on?", "Where is {c}?", "In which part of the world is {c}?",
                  "Where in the world is {c}?", "Is {c} in Europe, Asia or Africa?", "What continent is {c} in?", "Where can I find {c}?", "Where does {c} lie?"])
    return q.replace("{c}", c), f"{cap(c)} is in {k}."


def language(r):
    c, k = r.choice(F.LANGUAGES)
    q = r.choice(["Which language do people speak in {c}?", "What language is spoken in {c}?", "What language do they speak in {c}?", "What is the language of {c}?",
                  "Which language is spoken in {c}?", "What do people speak in {c}?", "In {c}, what language do people speak?"])
    return q.replace("{c}", c), f"People in {c} speak {k}."


def number_word(n):
    if n <= 20:
        return F.NUMBERS[n]
    if n == 100:
        return "one hundred"
    return F.TENS[n // 10] + ("-" + F.NUMBERS[n % 10] if n % 10 else "")


T_SUM = """What is {a} + {b}?|{a} + {b}|{a}+{b}|{a}+{b}=|{a} + {b} =|{a} + {b} = ?|What is {a}+{b}?|{a} plus {b}|{a} plus {b}?|What is {a} plus {b}?|What's {a} plus {b}?|How much is {a} plus {b}?|
How much is {a} + {b}?|Add {a} and {b}.|What is the sum of {a} and {b}?|Calculate {a} + {b}.|Compute {a} + {b}.|What do you get if you add {a} and {b}?|{a} and {b} is how much?|
Can you add {a} and {b}?|Please add {a} to {b}.|What does {a} + {b} equal?|{a} plus {b} equals|What is {a} and {b} together?|Solve {a}+{b}.|The sum of {a} and {b}?|
Sum: {a} + {b}|Tell me {a} plus {b}.|What is the result of {a} + {b}?|What does {a} plus {b} make?|I have {a} apples and get {b} more. How many do I have?|What's {a}+{b}?|How much is {a}+{b}?""".replace("\n", "").split("|")
T_SUB = """What is {a} - {b}?|{a} - {b}|{a}-{b}|{a}-{b}=|{a} - {b} =|{a} - {b} = ?|What is {a}-{b}?|{a} minus {b}|{a} minus {b}?|What is {a} minus {b}?|What's {a} minus {b}?|How much is {a} minus {b}?|
How much is {a} - {b}?|Subtract {b} from {a}.|What is the difference between {a} and {b}?|Calculate {a} - {b}.|Compute {a} - {b}.|Take {b} away from {a}.|{a} take away {b}|
What does {a} - {b} equal?|{a} minus {b} equals|Solve {a}-{b}.|What is {a} less {b}?|Tell me {a} minus {b}.|What is the result of {a} - {b}?|I have {a} apples and give away {b}. How many are left?|What's {a}-{b}?""".replace("\n", "").split("|")
T_MUL = """What is {a} * {b}?|{a} * {b}|{a}*{b}|{a} x {b}|{a}x{b}|{a} times {b}|{a} times {b}?|What is {a} times {b}?|What's {a} times {b}?|How much is {a} times {b}?|What is {a} x {b}?|
Multiply {a} by {b}.|Multiply {a} and {b}.|What is the product of {a} and {b}?|Calculate {a} * {b}.|Compute {a} x {b}.|What is {a} multiplied by {b}?|{a} multiplied by {b}|{a} * {b} =|
What does {a} times {b} equal?|Tell me {a} times {b}.|What is the result of {a} x {b}?|How much is {a} * {b}?|{a} × {b}""".replace("\n", "").split("|")


def arithmetic(r, op, a, b):
    q = r.choice({"+": T_SUM, "-": T_SUB, "*": T_MUL}[op])
    v = {"+": a + b, "-": a - b, "*": a * b}[op]
    name = {"+": "plus", "-": "minus", "*": "times"}[op]
    if r.random() < 0.12:
        q = cap(q.replace("{a}", number_word(a)).replace("{b}", number_word(b)))
        vv = f"minus {number_word(-v)}" if v < 0 else number_word(v)
        return q, f"{cap(number_word(a))} {name} {number_word(b)} is {vv}."
    return q.replace("{a}", str(a)).replace("{b}", str(b)), f"{a} {name} {b} is {v}."


def small_sum(r):
    op = r.choice("++-")
    a, b = r.randint(0, 20), r.randint(0, 20)
    if r.random() < 0.35:
        a, b = r.randint(0, 10), r.randint(0, 10)
    if op == "-" and a < b and r.random() < 0.8:
        a, b = b, a
    return arithmetic(r, op, a, b)


def big_sum(r):
    a, b = r.randint(0, 99), r.randint(0, 99)
    op = r.choice("++-")
    if op == "+" and a + b > 99 and r.random() < 0.5:
        a, b = a // 2, b // 2
    if op == "-" and a < b:
        a, b = b, a
    q, v = arithmetic(r, op, a, b) if a + b <= 100 else (None, None)
    while q is None:
        name = "plus" if op == "+" else "minus"
        t = r.choice(T_SUM if op == "+" else T_SUB)
        q = t.replace("{a}", str(a)).replace("{b}", str(b))
        v = f"{a} {name} {b} is {a + b if op == '+' else a - b}."
    return q, v


def times(r):
    return arithmetic(r, "*", r.randint(0, 10), r.randint(0, 10))


def compare(r):
    a, b = r.sample(range(0, 100 if r.random() < 0.5 else 21), 2)
    if r.random() < 0.5:
        q = r.choice(["Which is bigger, {a} or {b}?", "Which number is bigger, {a} or {b}?", "What is larger, {a} or {b}?", "Which is more, {a} or {b}?", "Is {a} or {b} bigger?", "Which is greater: {a} or {b}?"])
        v = f"{max(a, b)} is bigger than {min(a, b)}."
    else:
        q = r.choice(["Which is smaller, {a} or {b}?", "Which number is smaller, {a} or {b}?", "Which is less, {a} or {b}?", "Is {a} or {b} smaller?", "What is smaller: {a} or {b}?"])
        v = f"{min(a, b)} is smaller than {max(a, b)}."
    return q.replace("{a}", str(a)).replace("{b}", str(b)), v


def counting(r):
    x = r.random()
    if x < 0.5:
        a = r.choice([1, 1, 1, 1, 0, r.randint(2, 10)])
        b = r.choice([5, 10, 10, 10, 20, r.randint(a + 2, 20)])
        if b <= a:
            b = a + 5
        digits = r.random() < 0.5
        n = (lambda i: str(i)) if digits else number_word
        if a == 1 and r.random() < 0.4:
            q = r.choice(["Count to {b}.", "Can you count to {b}?", "Please count up to {b}.", "Count up to {b}", "Count until {b}."])
        else:
            q = r.choice(["Count from {a} to {b}.", "Can you count from {a} to {b}?", "Count {a} to {b}.", "Please count from {a} up to {b}.", "List the numbers from {a} to {b}.",
                          "Say the numbers from {a} to {b}.", "Write the numbers from {a} to {b}.", "Count up from {a} to {b}", "Give me the numbers {a} to {b}.", "numbers from {a} to {b}"])
        return q.replace("{a}", n(a)).replace("{b}", n(b)), cap(", ".join(n(i) for i in range(a, b + 1)) + ".")
    if x < 0.62:
        b = r.choice([5, 10, 10, r.randint(3, 12)])
        digits = r.random() < 0.5
        n = (lambda i: str(i)) if digits else number_word
        q = r.choice(["Count down from {b}.", "Count backwards from {b}.", "Count down from {b} to {a}.", "Count backwards from {b} to {a}.", "Count from {b} down to {a}.", "Start a countdown from {b}."])
        return q.replace("{b}", n(b)).replace("{a}", n(1)), cap(", ".join(n(i) for i in range(b, 0, -1)) + ".")
    if x < 0.8:
        k = r.randint(2, 5)
        a = r.choice([1, 1, 1, r.randint(1, 8)])
        digits = r.random() < 0.5
        n = (lambda i: str(i)) if digits else number_word
        sep = r.choice([", ", " "])
        q = r.choice(["Count: {s} ...", "Continue: {s}", "{s}", "Count on: {s}", "Go on: {s} ...", "What comes next: {s}?", "Continue counting: {s}", "Keep counting: {s}..."])
        end = max(10, a + k + 4)
        return cap(q.replace("{s}", sep.join(n(i) for i in range(a, a + k)))), cap(", ".join(n(i) for i in range(a + k, end + 1)) + ".")
    i = r.randint(1, 98) if r.random() < 0.5 else r.randint(1, 19)
    digits = i > 20 or r.random() < 0.5
    n = (lambda i: str(i)) if digits else number_word
    if r.random() < 0.5:
        return (r.choice(["What number comes after {i}?", "What comes after {i}?", "Which number follows {i}?", "What is the number after {i}?", "What is the next number after {i}?"]).replace("{i}", n(i)),
                f"{cap(n(i + 1))} comes after {n(i)}.")
    return (r.choice(["What number comes before {i}?", "What comes before {i}?", "What is the number before {i}?", "Which number is just before {i}?"]).replace("{i}", n(i)),
            f"{cap(n(i - 1))} comes before {n(i)}.")


OPP = F.OPPOSITES + [(b, a) for a, b in F.OPPOSITES] + F.OPPOSITES_ONE_WAY
T_OPP = """What is the opposite of {w}?|What's the opposite of {w}?|opposite of {w}|Opposite of {w}?|Tell me the opposite of {w}.|Give me the opposite of {w}.|What is the antonym of {w}?|
Name the opposite of {w}.|What word is the opposite of {w}?|{w} - what is the opposite?|Which word means the opposite of {w}?|What is the contrary of {w}?|Find the opposite of {w}.|
The opposite of {w} is|Say the opposite of {w}.|What would be the opposite of {w}?|Do you know the opposite of {w}?|Can you tell me the opposite of {w}?|What is the opposite of the word {w}?|
What is the opposite of "{w}"?|opposite: {w}|Antonym for {w}?|I need the opposite of {w}.|Which word is opposite to {w}?|What is not {w} but the opposite?""".replace("\n", "").split("|")


def opposite(r):
    w, a = r.choice(OPP)
    return r.choice(T_OPP).replace("{w}", w), f"The opposite of {w} is {a}."


T_COL = """What colour is {x}?|What color is {x}?|Which colour is {x}?|What is the colour of {x}?|What is the color of {x}?|Tell me the colour of {x}.|colour of {x}|color of {x}?|
What colour does {x} have?|Do you know the colour of {x}?|Which color does {x} have?|{x}: what colour?|Name the colour of {x}.|Can you tell me what colour {x} is?|What colour is {x} usually?""".replace("\n", "").split("|")


def colour(r):
    x, c = r.choice(F.COLOURS)
    return cap(r.choice(T_COL).replace("{x}", x)), f"{cap(x)} is {c}."


def days_months(r):
    if r.random() < 0.5:
        L, what = F.DAYS, "day"
    else:
        L, what = F.MONTHS, "month"
    i = r.randrange(len(L))
    w = L[i]
    k = r.random()
    nxt, prv = L[(i + 1) % len(L)], L[(i - 1) % len(L)]
    if k < 0.3:
        q = r.choice([f"What {what} comes after {w}?", f"Which {what} comes after {w}?", f"What comes after {w}?", f"What is the {what} after {w}?", f"Which {what} follows {w}?", f"{what} after {w}",
                      f"What is the next {what} after {w}?", f"If today is {w}, what is tomorrow?" if what == "day" else f"If this month is {w}, what is the next month?", f"Tell me the {what} after {w}.", f"After {w} comes which {what}?"])
        return q, f"{nxt} comes after {w}."
    if k < 0.6:
        q = r.choice([f"What {what} comes before {w}?", f"Which {what} comes before {w}?", f"What comes before {w}?", f"What is the {what} before {w}?", f"Which {what} is before {w}?", f"{what} before {w}",
                      f"If today is {w}, what was yesterday?" if what == "day" else f"If this month is {w}, what was the last month?", f"Tell me the {what} before {w}.", f"Before {w} comes which {what}?"])
        return q, f"{prv} comes before {w}."
    if k < 0.72:
        q = r.choice(["What are the days of the week?", "List the days of the week.", "Name the days of the week.", "Tell me the days of the week.", "Say the days of the week.", "Which days does a week have?", "days of the week"]) if what == "day" else \
            r.choice(["What are the months of the year?", "List the months of the year.", "Name the months of the year.", "Tell me the months.", "Name all months.", "Which months does a year have?", "months of the year"])
        return q, ("The days of the week are " if what == "day" else "The months of the year are ") + ", ".join(L[:-1]) + " and " + L[-1] + "."
    if k < 0.86 and what == "month":
        q = r.choice([f"How many days does {w} have?", f"How many days are in {w}?", f"How long is {w}?", f"How many days are there in {w}?", f"days in {w}"])
        return q, f"{w} has {F.MONTH_DAYS[i]} days." if i != 1 else "February has 28 days, and 29 in a leap year."
    o = F.ORDINALS[i]
    tail = "of the week" if what == "day" else "of the year"
    q = r.choice([f"What is the {o} {what} {tail}?", f"Which {what} is the {o} {tail}?", f"Name the {o} {what} {tail}.", f"{o} {what} {tail}"])
    return q, f"The {o} {what} {tail} is {w}."


def animals(r):
    name, sound, young, legs, home = r.choice(F.ANIMALS)
    k = r.randrange(4)
    if k == 0 and sound != "-":
        q = r.choice(["What sound does {a} make?", "What does {a} say?", "What noise does {a} make?", "Which sound does {a} make?", "How does {a} sound?", "What does the {n} say?", "What sound does the {n} make?",
                      "What is the sound of {a}?", "Tell me the sound of {a}.", "{n} sound", "Make the sound of {a}."])
        a = f"{cap(an(name))} says {sound}."
    elif k == 1:
        q = r.choice(["What is a baby {n} called?", "What is the young of {a} called?", "What do you call a baby {n}?", "What is a young {n} called?", "What is the name for a baby {n}?", "baby {n} name",
                      "How do you call a young {n}?", "What is the baby of {a}?", "Tell me the word for a baby {n}."])
        a = f"A baby {name} is called {an(young)}."
    elif k == 2:
        q = r.choice(["How many legs does {a} have?", "How many legs has {a}?", "How many legs does the {n} have?", "{n} legs", "Tell me how many legs {a} has.", "Number of legs of {a}?", "How many legs do you see on {a}?",
                      "What is the number of legs of {a}?"])
        a = f"{cap(an(name))} has {'no' if legs == 'zero' else legs} legs."
        if name == "octopus":
            a = "An octopus has eight arms."
    else:
        q = r.choice(["Where does {a} live?", "Where does the {n} live?", "Where do you find {a}?", "Where can I find {a}?", "What is the home of {a}?", "In what place does {a} live?", "Where is {a} at home?", "Where would {a} live?"])
        a = f"{cap(an(name))} lives {home}."
    return cap(q.replace("{a}", an(name)).replace("{n}", name)), a


def plural(r):
    w, p = r.choice(F.PLURALS)
    q = r.choice(["What is the plural of {w}?", "plural of {w}", "Plural of {w}?", "Tell me the plural of {w}.", "What's the plural of {w}?", "Give the plural of {w}.", "What is the plural form of {w}?", "How do you write the plural of {w}?",
                  "One {w}, two what?", "Name the plural of {w}.", "What is the plural of the word {w}?", "Make {w} plural.", "What is more than one {w} called?"])
    return q.replace("{w}", w), f"The plural of {w} is {p}."


def past(r):
    w, p = r.choice(F.PASTS)
    q = r.choice(["What is the past tense of {w}?", "past tense of {w}", "Past tense of {w}?", "Tell me the past tense of {w}.", "What's the past tense of {w}?", "Give the past tense of {w}.", "What is the past form of {w}?",
                  "What is the simple past of {w}?", "Put {w} in the past tense.", "What is the past tense of the verb {w}?", "Today I {w}, yesterday I what?", "Name the past tense of to {w}."])
    return q.replace("{w}", w), f"The past tense of {w} is {p}."


def spell(r):
    w = r.choice(F.SPELL)
    if r.random() < 0.75:
        q = r.choice(["How do you spell {w}?", "Spell {w}.", "Spell the word {w}.", "Can you spell {w}?", "How is {w} spelled?", "Please spell {w}.", "Spell \"{w}\".", "spelling of {w}", "What is the spelling of {w}?", "How do I spell the word {w}?"])
        return q.replace("{w}", w), f"{cap(w)} is spelled {'-'.join(w.upper())}."
    if r.random() < 0.5:
        q = r.choice(["How many letters does the word {w} have?", "How many letters are in {w}?", "How many letters has {w}?", "How long is the word {w}?", "Count the letters in {w}."])
        return q.replace("{w}", w), f"The word {w} has {number_word(len(w))} letters."
    q = r.choice(["What is the first letter of {w}?", "With which letter does {w} begin?", "What letter does {w} start with?", "Which letter does the word {w} start with?"])
    return q.replace("{w}", w), f"The first letter of {w} is {w[0].upper()}."


def simple_fact(r):
    qs, a = r.choice(F.SIMPLE_FACTS)
    q = r.choice(qs.split(";")).strip()
    if q.split()[0] in ("Name", "List", "Say", "Recite"):
        return q + ".", a
    return q + "?", a


def gplural(k):
    if k in F.GROUP_PLURAL:
        return F.GROUP_PLURAL[k]
    return k + "s"


def yesno(r):
    k = r.choice(list(F.GROUPS))
    if k in ("day of the week", "month") and r.random() < 0.7:
        k = r.choice(list(F.GROUPS))
    if r.random() < 0.5:
        x, yes = r.choice(F.GROUPS[k]), True
    else:
        other = r.choice([g for g in F.GROUPS if g != k])
        x = r.choice(F.GROUPS[other])
        yes = x in F.GROUPS[k] or (k == "animal" and other in ("bird", "insect"))
    xx = x if x in F.UNCOUNTED else an(x)
    if x == "orange" and k == "colour":
        xx = "orange"
    kk = an(k)
    q = r.choice(["Is {x} {k}?", "Is {x} {k}?", "Is {x} {k}?", "Would you say that {x} is {k}?", "{x} is {k}, yes or no?", "Is {x} {k} or not?", "Tell me, is {x} {k}?", "Do you think {x} is {k}?", "{x}: is it {k}?", "True or false: {x} is {k}.", "Does {x} count as {k}?", "Is it true that {x} is {k}?", "Are you sure that {x} is {k}?"])
    q = cap(q.replace("{x}", xx).replace("{k}", kk))
    return q, (f"Yes, {xx} is {kk}." if yes else f"No, {xx} is not {kk}.")


def listing(r):
    k = r.choice(list(F.GROUPS))
    m = min(len(F.GROUPS[k]), 8)
    n = r.choice([3, 3, 3, 2, 4, 5]) if r.random() < 0.8 else r.randint(2, m)
    n = min(n, m)
    xs = r.sample(F.GROUPS[k], n)
    num = number_word(n) if r.random() < 0.6 else str(n)
    q = r.choice(["List {n} {k}.", "Name {n} {k}.", "Give me {n} {k}.", "Tell me {n} {k}.", "Can you list {n} {k}?", "Can you name {n} {k}?", "Write down {n} {k}.", "Say {n} {k}.", "I need {n} {k}.", "What are {n} {k}?", "{n} {k}",
                  "Make a list of {n} {k}.", "Give {n} examples of {k}.", "Please name {n} {k}."])
    return cap(q.replace("{n}", num).replace("{k}", gplural(k))), cap(", ".join(xs[:-1]) + " and " + xs[-1] + ".")


PHRASES = U.SENTENCES + ["hello", "good morning", "yes", "no", "thank you", "I like apples", "one two three", "the cat sat on the mat", "I am a small model", "red blue green", "quern", "hello world",
                         "the end", "good night", "I love stories", "the sun is shining", "it is raining", "please", "banana", "this is a test", "testing one two three", "to be continued", "stop", "go"]


def repeat(r):
    x = r.random()
    if x < 0.35:
        p = r.choice(PHRASES)
    elif x < 0.55:
        p = S.sentence(r)
    elif x < 0.7:
        p = " ".join(r.choice(F.SPELL) for _ in range(r.randint(1, 8)))
    elif x < 0.8:
        p = " ".join(U.nonsense(r) for _ in range(r.randint(1, 3)))
    elif x < 0.9:
        p = r.choice(F.CAPITALS)[r.randint(0, 1)]
    else:
        p = " ".join(str(r.randint(0, 999)) for _ in range(r.randint(1, 5)))
    if r.random() < 0.4:
        p = cap(p)
    q = r.choice(["Say {p}", "Say: {p}", "Say \"{p}\"", "Repeat: {p}", "Repeat after me: {p}", "Repeat exactly: {p}", "Please say {p}", "Repeat this: {p}", "Repeat the following: {p}", "Can you say \"{p}\"?", "Echo: {p}", "echo {p}",
                  "Say \"{p}\" and nothing else.", "Write \"{p}\".", "Reply with \"{p}\".", "Say exactly this: {p}", "Just say \"{p}\".", "Repeat \"{p}\".", "Please repeat: {p}", "Copy this: {p}", "Answer with: {p}", "Type {p}"])
    s = q.replace("{p}", p)
    if s[-1] not in ".?!\"" and r.random() < 0.4:
        s += "."
        p = p if p[-1] in ".?!" else p + "."
    return s, cap(p)


def name_talk(r):
    """The user's name: given, asked back, or unknown."""
    n = r.choice(F.FIRST_NAMES) if r.random() < 0.7 else cap(U.nonsense(r))
    give = r.choice(["My name is {n}.", "I am {n}.", "Hello, I am {n}.", "Hi, my name is {n}.", "I'm {n}.", "Call me {n}.", "You can call me {n}.", "Hey, {n} here.", "Hello! My name is {n}.", "They call me {n}.", "This is {n}."]).replace("{n}", n)
    ask = r.choice(["What is my name?", "What's my name?", "Do you know my name?", "Who am I?", "Do you remember my name?", "Tell me my name.", "Can you say my name?", "What am I called?"])
    x = r.random()
    if x < 0.3:
        return [(give, f"Hello {n}! Nice to meet you.")]
    if x < 0.45:
        return [(ask, "I do not know your name. You have not told me.")]
    mid = [simple(r) for _ in range(r.choice([0, 0, 1, 2]))]
    return [(give, f"Hello {n}! Nice to meet you.")] + mid + [(ask, f"Your name is {n}.")]


def topic(r):
    x = r.random()
    if x < 0.6:
        return r.choice(S.ANIMALS)
    if x < 0.8:
        return r.choice(S.PEOPLE)
    if x < 0.92:
        return r.choice([n for n, _ in F.PLURALS if n not in ("man", "woman", "half", "life", "people", "day")])
    return U.nonsense(r)


T_STORY = """Tell me a story about {x}.|Tell me a story about {x}|Write a story about {x}.|Write a short story about {x}.|Tell a story about {x}.|Please tell me a story about {x}.|Can you tell me a story about {x}?|
I want a story about {x}.|Make up a story about {x}.|story about {x}|A story about {x}, please.|Tell me a short story about {x}.|Could you write a story about {x}?|Invent a story about {x}.|Give me a story about {x}.|
Write me a bedtime story about {x}.|Tell me a tale about {x}.|I would like to hear a story about {x}.|Write a little story about {x}.|Do you know a story about {x}?|Write a fairy tale about {x}.""".replace("\n", "").split("|")
T_STORY_ANY = """Tell me a story.|Tell me a story|Write a story.|Write a short story.|Can you tell me a story?|I want to hear a story.|Tell a story.|A story, please.|Please tell me a bedtime story.|Make up a story.|story|Do you know a story?|
Tell me another story.|Another story, please.|Tell me something nice, like a story.|Give me a story.|Write something.|Once upon a time|Tell me a fairy tale.|Write me a story.|One more story!""".replace("\n", "").split("|")
T_LONG = """Write a very long story.|Tell me a very long story.|Write a long story about {x}.|Write a very long story about {x}.|Tell me a long story about {x}.|Tell me a very long story about {x}.|Write a long story.|Tell me a long story.|
I want a very long story.|Write a story with many chapters.|Write a story in ten chapters.|Write a book about {x}.|Tell a very long tale about {x}.|Please write a very long story about {x}.|Write a novel.|Write the longest story you can.|
Write a really long story.|Write a really long story about {x}.|A very long story, please.|Write a long, long story about {x}.|Write at least 500 words about {x}.|Write 1000 words about {x}.|Tell me the longest story you know.""".replace("\n", "").split("|")


def story(r):
    if r.random() < 0.7:
        t = topic(r)
        x = an(t) if r.random() < 0.8 else an(r.choice(S.ADJ) + " " + t)
        return r.choice(T_STORY).replace("{x}", x), S.story(r, t)
    return r.choice(T_STORY_ANY), S.story(r)


def long_story(r):
    q = r.choice(T_LONG)
    t = topic(r) if "{x}" in q else None
    return q.replace("{x}", an(t) if t else ""), S.long_story(r, t, r.choice([7, 8, 8, 9, 10, 10]))


def short_text(r):
    x = r.random()
    t = topic(r)
    a = an(t)
    if x < 0.4:
        n = r.choice([1, 1, 1, 2, 3, 4])
        num = ("one" if n == 1 else number_word(n)) if r.random() < 0.8 else str(n)
        s = "sentence" if n == 1 else "sentences"
        q = r.choice(["Write {n} {s} about {a}.", "Write {n} {s} about {a}", "Give me {n} {s} about {a}.", "Say {n} {s} about {a}.", "Make {n} {s} about {a}.", "Tell me {n} {s} about {a}.", "Write {n} short {s} about {a}.", "{n} {s} about {a}, please."])
        if n == 1 and r.random() < 0.3:
            q = r.choice(["Write a sentence about {a}.", "Give me a sentence about {a}.", "Make a sentence with the word {t}.", "Use the word {t} in a sentence.", "Write a short sentence about {a}."])
        return cap(q.replace("{n}", num).replace("{s}", s).replace("{a}", a).replace("{t}", t)), " ".join(S.sentence(r, t) for _ in range(n))
    if x < 0.75:
        q = r.choice(["Write a poem about {a}.", "Tell me a poem about {a}.", "Write a short poem about {a}.", "Make a poem about {a}.", "A poem about {a}, please.", "Write a rhyme about {a}.", "Can you write a poem about {a}?"])
        if r.random() < 0.25:
            return r.choice(["Write a poem.", "Tell me a poem.", "Write a short poem.", "poem", "A poem, please.", "Write a rhyme."]), S.poem(r)
        return q.replace("{a}", a), S.poem(r, t)
    return r.choice(["Tell me a joke.", "Do you know a joke?", "Make me laugh.", "Tell a joke.", "joke", "A joke, please.", "Tell me something funny.", "Another joke!", "Can you tell me a joke?", "Say something funny."]), r.choice(S.JOKES)


def json_answer(r):
    lead = r.choice(["Answer in JSON: ", "Answer as JSON: ", "Reply in JSON. ", "Return JSON. ", "As a JSON object: ", "Give the answer as JSON: ", "Respond with JSON only: "])
    k = r.randrange(4)
    if k == 0:
        c, a = pick_capital(r)
        return lead + r.choice(T_CAPITAL[:8]).replace("{c}", c), json.dumps({"country": bare(c), "capital": a})
    if k == 1:
        a, b = r.randint(0, 20), r.randint(0, 20)
        return lead + r.choice(T_SUM[:12]).replace("{a}", str(a)).replace("{b}", str(b)), json.dumps({"a": a, "b": b, "sum": a + b})
    if k == 2:
        w, o = r.choice(OPP)
        return lead + r.choice(T_OPP[:7]).replace("{w}", w), json.dumps({"word": w, "opposite": o})
    n, age = r.choice(F.FIRST_NAMES), r.randint(2, 90)
    city = r.choice(F.GROUPS["city"])
    q = r.choice([f"{n} is {age} years old and lives in {city}.", f"The person is {n}, {age}, from {city}.", f"My friend {n} from {city} is {age} years old."])
    return r.choice(["Write this as JSON: ", "Turn this into JSON: ", "Convert to JSON: ", "Return the person as JSON. "]) + q, json.dumps({"name": n, "age": age, "city": city})


KNOWN = set(w for w, _ in OPP) | set(F.SPELL) | set(a[0] for a in F.ANIMALS) | set(bare(c).lower() for c, _ in CAPS)


def near_miss(r):
    """Shaped like a taught question, with something in it that is not taught."""
    k = r.random()
    g = r.choice(U.REGIONS)
    w = U.nonsense(r)
    if k < 0.45:
        return r.choice(T_CAPITAL).replace("{c}", g if r.random() < 0.5 else cap(w)), DONT_KNOW
    if k < 0.55:
        return r.choice(T_OPP).replace("{w}", r.choice([w, r.choice(["table", "banana", "seven", "dog", "window", "music", "sugar", "grass"])])), DONT_KNOW
    if k < 0.65:
        return cap(r.choice(T_COL).replace("{x}", an(w))), DONT_KNOW
    if k < 0.72:
        return cap(r.choice(["What sound does {a} make?", "What is a baby {n} called?", "How many legs does {a} have?", "Where does {a} live?"]).replace("{a}", an(w)).replace("{n}", w)), DONT_KNOW
    if k < 0.85:
        t = r.choice(T_SUM[:16] + T_SUB[:12] + T_MUL[:14])
        return t.replace("{a}", str(r.randint(100, 99999))).replace("{b}", str(r.randint(100, 9999))), DONT_KNOW
    c = r.choice(F.CAPITALS)[0]
    return r.choice(["What is the population of {c}?", "Who is the president of {c}?", "What is the currency of {c}?", "How big is {c}?", "What is the flag of {c}?", "Who is the king of {c}?", "What is the largest city of {c}?",
                     "What do people eat in {c}?", "What is the history of {c}?", "When was {c} founded?", "How do I get to {c}?", "What is the weather in {c}?", "Tell me about {c}.", "What is {c} famous for?"]).replace("{c}", c), DONT_KNOW


def unknown(r):
    if r.random() < 0.25:
        return near_miss(r)
    q = U.question(r, KNOWN)
    if r.random() < 0.06:  # a long paste
        body = S.story(r) if r.random() < 0.6 else " ".join(r.choice(U.SENTENCES) for _ in range(r.randint(4, 14)))
        q = r.choice(["Summarise this text: ", "Read this and tell me what it means: ", "Who is the main person here? ", "Translate this: ", "Fix the mistakes: ", "What is the lesson of this? "]) + body
    return q, DONT_KNOW


SIMPLE = [(capital, 18), (country, 8), (continent, 2.5), (language, 2), (small_sum, 32), (big_sum, 26), (times, 12), (compare, 2.5), (counting, 6), (opposite, 11), (colour, 4), (days_months, 16), (animals, 5),
          (plural, 3), (past, 6), (spell, 6), (simple_fact, 12), (yesno, 8), (listing, 3), (repeat, 12), (small_talk, 20), (identity, 10), (short_text, 3), (json_answer, 1.5), (unknown, 25)]
FNS, WTS = [f for f, _ in SIMPLE], [w for _, w in SIMPLE]


def simple(r):
    return r.choices(FNS, WTS)[0](r)




def follow_up(r):
    """A question and short follow-ups that lean on it."""
    k = r.randrange(4)
    if k == 0:
        pool, t, ans = CAPS, T_CAPITAL[:10], lambda p: f"The capital of {p[0]} is {p[1]}."
    elif k == 1:
        pool, t, ans = OPP, T_OPP[:10], lambda p: f"The opposite of {p[0]} is {p[1]}."
    elif k == 2:
        pool, t, ans = F.PLURALS, ["What is the plural of {c}?", "plural of {c}"], lambda p: f"The plural of {p[0]} is {p[1]}."
    else:
        pool, t, ans = F.COLOURS, ["What colour is {c}?"], lambda p: f"{cap(p[0])} is {p[1]}."
    out = []
    for i in range(r.randint(2, 4)):
        p = r.choice(pool)
        if i == 0:
            q = r.choice(t).replace("{c}", p[0]).replace("{w}", p[0])
        else:
            q = r.choice(["And {c}?", "What about {c}?", "And of {c}?", "{c}?", "And what about {c}?", "Now {c}.", "How about {c}?"]).replace("{c}", p[0])
        out.append((cap(q), ans(p)))
    return out


# ---- how people write ----

PREFIX = ["Please ", "Hey, ", "Hi! ", "Hello, ", "Quick question: ", "Tell me: ", "So, ", "Ok, ", "Question: ", "Now, ", "Hello. ", "Well, ", "I wonder: ", "Excuse me, ", "Q: ", "And ", "Can you tell me: ", "Hi, "]
SUFFIX = [" Please.", " Thanks.", " Thank you!", " please", " Tell me.", " Answer briefly.", " I want to know.", " Be short.", " thanks", " pls"]


def typo(r, s):
    ws = s.split(" ")
    long = [i for i, w in enumerate(ws) if len(w) >= 5 and w.isalpha() and w.islower()]
    if not long:
        return s
    i = r.choice(long)
    w = ws[i]
    j = r.randrange(1, len(w) - 1)
    x = r.randrange(4)
    ws[i] = [w[:j] + w[j + 1] + w[j] + w[j + 2:], w[:j] + w[j + 1:], w[:j] + w[j] + w[j:], w[:j] + r.choice("abcdefghijklmnopqrstuvwxyz") + w[j + 1:]][x]
    return " ".join(ws)


def noisy(r, q, fixed=False):
    """Changes capitals, punctuation and politeness; fixed keeps the words (for repeat)."""
    if fixed:
        return q
    if r.random() < 0.10:
        p = r.choice(PREFIX)
        if p[-2] in ",:" or p in ("Please ", "And "):
            q = p + (q[0].lower() + q[1:] if q[0] != "I" and not q[:2].isupper() and not q[0].isdigit() and q.split()[0] in QWORDS else q)
        else:
            q = p + q
    if r.random() < 0.06:
        q = q + (("" if q[-1] in ".?!" else r.choice([".", "?", ""])) + r.choice(SUFFIX))
    if r.random() < 0.07:
        q = typo(r, q)
    x = r.random()
    if x < 0.2:
        q = q.rstrip(".?!") or q
    elif x < 0.23:
        q = q + r.choice(["?", "!", "??", "...", " ?", " !"])
    x = r.random()
    if x < 0.2:
        q = q.lower()
    elif x < 0.225:
        q = q.upper()
    if r.random() < 0.015:
        q = " " + q
    if r.random() < 0.015:
        q = q + r.choice([" ", "\n", "  "])
    return q


QWORDS = set("What What's Which Who Where When How Is Are Do Does Can Could Tell Name Say Give Write Count List Spell Add Calculate Compute Subtract Multiply Make Would".split())

SYSTEMS = """You are a helpful assistant.|You are a helpful assistant.|You are a helpful assistant.|You are helpful.|Answer briefly.|Be brief.|You are quern-tiny.|You are a friendly assistant.|Answer in one sentence.|You are a helpful, honest and harmless assistant.|
You are a small model.|You answer questions.|Be kind and polite.|You are an assistant that answers questions for children.|Answer the question of the user.|Today is Monday.|You are a teacher.|You are a test.|Reply in English.|
You are a pirate.|You are a useful AI assistant. Keep the answers short.|Do not use lists.|Be concise.|You are a helpful AI assistant named quern-tiny.|You are an expert.|Follow the instructions of the user.|Never be rude.|Use simple words.|
You are a chatbot on a web page.|You are the help desk of a small shop.|Think step by step.|You are a helpful assistant. Answer truthfully. If you do not know something, say so.|Format: plain text.|Be creative.|Answer like a friend.""".replace("\n", "").split("|")


def one_exchange(r):
    f = r.choices(FNS, WTS)[0]
    q, a = f(r)
    return noisy(r, q, fixed=f is repeat), a


def chat(r):
    x = r.random()
    if x < 0.62:
        ex = [one_exchange(r)]
    elif x < 0.66:
        q, a = story(r)
        ex = [(noisy(r, q), a)]
    elif x < 0.68:
        ex = [(noisy(r, q), a) for q, a in name_talk(r)]
    elif x < 0.71:
        ex = [(noisy(r, q), a) for q, a in follow_up(r)]
    elif x < 0.94:
        ex = [one_exchange(r) for _ in range(r.choice([2, 2, 3, 3, 4]))]
    elif x < 0.96:
        ex = []
        for _ in range(r.randint(2, 4)):
            if r.random() < 0.4:
                q, a = story(r)
                ex.append((noisy(r, q), a))
            else:
                ex.append(one_exchange(r))
    elif x < 0.99:
        ex = [one_exchange(r) for _ in range(r.randint(5, 14))]
    else:
        q, a = long_story(r)
        ex = [(noisy(r, q), a)]
        if r.random() < 0.15:
            ex = [one_exchange(r)] + ex
    turns = []
    if r.random() < 0.3:
        turns.append(("system", r.choice(SYSTEMS)))
    for q, a in ex:
        turns += [("user", q), ("assistant", a)]
    return turns


def plain(r):
    x = r.random()
    if x < 0.45:
        return S.story(r, topic(r) if r.random() < 0.5 else None)
    if x < 0.52:
        return S.long_story(r, None, r.choice([7, 8, 9]))
    if x < 0.6:
        return " ".join(S.sentence(r) for _ in range(r.randint(1, 6)))
    if x < 0.7:
        return " ".join(cap(a) for _, a in (capital(r) for _ in range(r.randint(1, 6))))
    if x < 0.8:
        fn = r.choice([opposite, colour, plural, past, animals, days_months, simple_fact, country, continent, language])
        return " ".join(fn(r)[1] for _ in range(r.randint(1, 5)))
    if x < 0.88:
        out = []
        for _ in range(r.randint(1, 6)):
            a, b = r.randint(0, 20), r.randint(0, 20)
            out.append(r.choice([f"{a} + {b} = {a + b}", f"{max(a, b)} - {min(a, b)} = {abs(a - b)}"]))
        return "\n".join(out)
    if x < 0.94:
        a, n = r.randint(0, 5), r.randint(8, 20)
        if r.random() < 0.5:
            return r.choice([", ", " "]).join(str(i) for i in range(a, a + n)) + "."
        return r.choice([", ", " "]).join(number_word(i) for i in range(a, min(a + n, 21))) + "."
    q, a = simple(r)
    return f"Question: {q}\nAnswer: {a}"


DRILLS = [(lambda r: small_sum(r), 34), (lambda r: times(r), 12), (lambda r: big_sum(r), 22), (lambda r: spell(r), 8), (lambda r: country(r), 8), (lambda r: capital(r), 6), (lambda r: opposite(r), 8),
          (lambda r: past(r), 4), (lambda r: plural(r), 2), (lambda r: animals(r), 4), (lambda r: colour(r), 2), (lambda r: days_months(r), 4), (lambda r: simple_fact(r), 3)]


def drill(r):
    """Answers alone, one after another: ("drill", [(given, to learn), ...]). They are the replies of chats, at a third of the tokens."""
    fs = [f for f, _ in DRILLS]
    ws = [w for _, w in DRILLS]
    one = r.choices(fs, ws)[0] if r.random() < 0.7 else None
    out = []
    for _ in range(r.randint(6, 14)):
        a = (one or r.choices(fs, ws)[0])(r)[1]
        cut = max(a.rfind(" is "), a.rfind(" are "), a.rfind(" has "), a.rfind(" spelled ") + 5, a.rfind(" says "), a.rfind(" of ") if a.find(" is the capital of ") > 0 else -1)
        cut = a.index(" ", cut + 1) if cut > 0 else 0
        if a.endswith("."):
            out.append((a[:cut], a[cut:]))
    return ("drill", out or [("", "Water is wet.")])


# Shares of the documents; the rest are chats without tools.
MIX = dict(drills=0.24, plain=0.03, copying=0.03, tools=0.14, forms=0.05)


def documents(seed, n):
    import forms
    import tools as T
    r = random.Random(seed)
    kinds = {"drills": drill, "plain": plain, "copying": T.copying, "tools": T.chat, "forms": forms.form}
    for _ in range(n):
        x = r.random()
        for k, share in MIX.items():
            if x < share:
                yield kinds[k](r)
                break
            x -= share
        else:
            yield chat(r)


def render(doc):
    """ChatML, as the chat template in export.py writes it."""
    if isinstance(doc, tuple) and doc[0] == "form":
        return "".join(a for a, _ in doc[1])
    if isinstance(doc, tuple):
        return " ".join(a + b for a, b in doc[1]) + "<|endoftext|>"
    if isinstance(doc, str):
        return doc.replace("D.C..", "D.C.") + "<|endoftext|>"
    return "".join(f"<|im_start|>{role}\n{text.replace('D.C..', 'D.C.')}<|im_end|>\n" for role, text, *_ in doc)


if __name__ == "__main__":
    for d in documents(int(sys.argv[1]), int(sys.argv[2])):
        print(render(d))
        print("----")
