"""A grammar of small stories, poems and jokes."""
from facts import GROUPS

HE = ("he", "him", "his")
SHE = ("she", "her", "her")
NAMES = [(n, HE) for n in "Tom Ben Leo Max Sam Pip Finn Hugo Otto Rufus Toby Milo Jasper Oscar Bruno Felix Nico Theo".split()] + \
        [(n, SHE) for n in "Mia Lily Anna Rosa Ruby Ivy Nora Luna Bella Daisy Poppy Hazel Clara Tilly Wren Maya Olive Zoe".split()]
ANIMALS = ("fox dog cat mouse rabbit bear owl frog duck hen goat sheep pig horse lion tiger wolf hedgehog squirrel "
           "bee turtle elephant monkey penguin deer cow goose robin snail badger mole otter donkey dragon whale crow "
           "dolphin giraffe zebra kangaroo butterfly spider beaver swan parrot camel unicorn").split()
PEOPLE = ("boy girl king queen baker miller farmer sailor teacher knight princess prince wizard gardener fisherman "
          "robot giant pirate shepherd painter tailor cook witch child soldier doctor").split()
ADJ = "little young brave clever small kind old shy happy curious quiet tiny gentle lazy hungry proud".split()
PLACES = ["in a green forest", "near a quiet lake", "on a small farm", "in a little village", "by the sea", "on a high hill",
          "in a warm valley", "at the edge of a wood", "in an old mill", "beside a slow river", "on a sunny island",
          "in a house with a red roof", "under a big oak tree", "in a town by the river", "in a snowy land"]
THINGS = ["a golden key", "a red ball", "a small wooden box", "a blue stone", "an old map", "a silver bell", "a shiny coin",
          "a paper boat", "a lost hat", "a warm scarf", "a round loaf of bread", "a jar of honey", "a tiny lamp", "a green bottle",
          "a book of songs", "a broken clock", "a little drum", "a bag of grain", "a basket of apples", "a feather"]
FOODS = ["bread and honey", "apple pie", "warm soup", "cheese and berries", "a big cake", "fresh bread", "pancakes", "nuts and plums"]
WEATHER = ["The sun was shining.", "It was raining.", "A cold wind was blowing.", "Snow lay on the ground.", "The sky was blue.",
           "The morning was bright and clear.", "A thick fog hid the path.", "The moon was full."]
FEEL = ["happy", "sad", "tired", "glad", "afraid", "excited", "hungry", "proud", "lonely", "calm"]
GOALS = ["to see the sea", "to find a friend", "to learn to sing", "to climb the highest hill", "to bake the best bread",
         "to find a new home", "to see the stars", "to cross the river", "to grow a garden", "to build a boat", "to help the village",
         "to find the lost key"]
LESSONS = ["that a good friend is better than gold", "that it is good to share", "that small steps lead far",
           "that being kind costs nothing", "that everyone is afraid sometimes", "that patience helps", "that home is the best place",
           "that it is wise to ask for help", "that even small ones can do great things", "that the truth is best"]


def an(word):
    return ("an " if word[0].lower() in "aeiou" else "a ") + word


def cap(s):
    return s[0].upper() + s[1:]


class Cast:
    def __init__(self, r, topic=None):
        self.name, (self.he, self.him, self.his) = r.choice(NAMES)
        self.kind = topic or r.choice(ANIMALS if r.random() < 0.7 else PEOPLE)
        while True:
            self.friend, (self.fhe, self.fhim, self.fhis) = r.choice(NAMES)
            if self.friend != self.name:
                break
        self.fkind = r.choice([k for k in ANIMALS if k != self.kind])
        self.thing = r.choice(THINGS)
        self.the_thing = "the " + self.thing.split(" ", 1)[1]
        self.adj = r.choice(ADJ)
        self.place = r.choice(PLACES)
        self.goal = r.choice(GOALS)
        self.food = r.choice(FOODS)


def opening(r, c):
    kind = an(c.adj + " " + c.kind)
    return r.choice([
        f"Once upon a time there was {kind} called {c.name}. {c.name} lived {c.place}.",
        f"Once upon a time, {c.place}, there lived {kind}. {cap(c.his)} name was {c.name}.",
        f"There was once {kind} whose name was {c.name}. {cap(c.he)} lived {c.place}.",
        f"Long ago, {kind} called {c.name} lived {c.place}.",
        f"Once there was {kind} named {c.name} who lived {c.place}.",
    ])


def wish(r, c):
    return r.choice([
        f"More than anything, {c.he} wanted {c.goal}.",
        f"Every night {c.he} dreamed of one thing: {c.goal}.",
        f"{c.name} had one wish, and it was {c.goal}.",
        f"One day {c.name} decided {c.goal}.",
    ])


def _meet(r, c):
    return (f"On the way {c.he} met {an(c.fkind)} called {c.friend}. \"Where are you going?\" asked {c.friend}. "
            f"\"I want {c.goal},\" said {c.name}. \"Then I will come with you,\" said {c.friend}.")


def _find(r, c):
    where = r.choice(["under a stone", "behind a tree", "in the grass", "near the path", "in a hole", "on the sand"])
    return f"Then {c.name} saw something {where}. It was {c.thing}. {cap(c.he)} picked it up and put it in {c.his} bag."


def _lost(r, c):
    return f"Soon {c.name} was lost. {cap(c.he)} looked left and {c.he} looked right, but {c.he} could not see the path. So {c.he} followed the sound of water until {c.he} found the way again."


def _river(r, c):
    how = r.choice(["a fallen tree", "an old bridge", "a small boat", "five flat stones"])
    return f"They came to a wide river. The water was cold and fast. {c.name} found {how}, and so they crossed to the other side."


def _storm(r, c):
    hide = r.choice(["a dry cave", "a hollow tree", "an old barn", "a little hut"])
    return f"In the evening a storm came. There was thunder and the rain fell hard. {c.name} hid in {hide} and waited until it was over."


def _food(r, c):
    return f"By noon {c.name} was hungry. {c.friend} shared {c.food} with {c.him}. \"Thank you,\" said {c.name}. \"That was very good.\""


def _stranger(r, c):
    who = r.choice(["an old woman", "an old man", "a tired traveller", "a sleepy owl", "a lame donkey"])
    return f"Beside the road sat {who}. \"Can you help me?\" the stranger asked. {c.name} stopped and helped, and the stranger smiled."


def _trap(r, c):
    return f"Suddenly {c.friend} fell into a deep hole. \"Do not be afraid,\" called {c.name}. {cap(c.he)} let down a long branch, and {c.friend} climbed out."


def _song(r, c):
    return f"To pass the time they sang a song. {c.friend} knew the words and {c.name} beat the time. Even the birds stopped to listen."


def _night(r, c):
    return f"At night they slept under the stars. {c.name} counted them until {c.his} eyes closed. {cap(c.he)} dreamed of home."


def _race(r, c):
    return f"\"Let us race to that tree,\" said {c.friend}. They ran as fast as they could. {c.name} won by a nose, and both of them laughed."


def _door(r, c):
    return f"They found a small door in a wall. {c.name} knocked three times. Nobody answered, so they went on."


def _market(r, c):
    return f"In the next town there was a market. People sold fish, cloth and bread. {c.name} looked at everything and bought nothing."


def _quarrel(r, c):
    return f"Then they quarrelled about the way. {c.friend} wanted to go left and {c.name} wanted to go right. In the end they said sorry and chose the middle path."


def _garden(r, c):
    return f"They rested in a garden full of roses. A bee told them where the sweetest flowers grew. {c.name} thanked the bee and walked on."


def _mill(r, c):
    return f"They came to an old mill with a stone quern inside. {c.name} turned the stone and ground some grain. Soon there was flour enough for a loaf."


def _mountain(r, c):
    return f"The hill was steep, and the path was full of stones. {c.name} climbed slowly, one step after another. From the top {c.he} could see the whole land."


def _letter(r, c):
    return f"A bird dropped a letter at {c.his} feet. It said: \"Do not give up.\" {c.name} read it twice and felt brave again."


def _giant(r, c):
    return f"A giant stood in the way. \"Nobody may pass,\" said the giant. But {c.name} told a funny joke, and the giant laughed so hard that he let them go."


def _lamp(r, c):
    return f"The forest grew dark. {c.friend} lit a small lamp, and its light showed the way. Step by step they walked on together."


SCENES = [_meet, _find, _lost, _river, _storm, _food, _stranger, _trap, _song, _night, _race, _door, _market, _quarrel,
          _garden, _mill, _mountain, _letter, _giant, _lamp]


def ending(r, c):
    return r.choice([
        f"In the end {c.name} learned {r.choice(LESSONS)}.",
        f"At last {c.name} came home. {cap(c.he)} was {r.choice(['happy', 'tired but happy', 'glad', 'proud'])}.",
        f"From that day on {c.name} and {c.friend} were the best of friends.",
        f"And so {c.name} went home and told everyone what had happened. The end.",
        f"That evening {c.name} fell asleep with a smile. The end.",
        f"And they lived happily ever after.",
    ])


def story(r, topic=None, scenes=None):
    """About five to twelve sentences."""
    c = Cast(r, topic)
    n = scenes if scenes is not None else r.choice([1, 1, 2, 2, 2, 3])
    parts = [opening(r, c)]
    if r.random() < 0.6:
        parts.append(wish(r, c))
    picked = r.sample(SCENES[1:], n)
    # The friend must be met before the friend does anything.
    if any(s in (_food, _trap, _song, _race, _quarrel, _lamp, _river, _night, _door, _garden, _mill, _giant) for s in picked):
        picked = [_meet] + picked[1:] if n > 1 else [_meet]
        if n > 1 and len(picked) < n:
            picked = picked + [SCENES[1]]
    if r.random() < 0.3:
        parts.append(r.choice(WEATHER))
    parts += [s(r, c) for s in picked]
    e = ending(r, c)
    while c.friend in e and _meet not in picked:
        e = ending(r, c)
    parts.append(e)
    return " ".join(parts)


CHAPTERS = "one two three four five six seven eight nine ten eleven twelve".split()


def long_story(r, topic=None, chapters=None):
    """Numbered chapters, so that the length is the plot: several hundred tokens."""
    c = Cast(r, topic)
    n = chapters or r.choice([8, 10, 10, 10, 12])
    scenes = [_meet] + r.sample(SCENES[1:], len(SCENES) - 1)
    out = ["Chapter one. " + opening(r, c) + " " + wish(r, c)]
    k = 0
    for i in range(1, n - 1):
        body = [s(r, c) for s in scenes[k:k + 2]]
        k += 2
        lead = r.choice(WEATHER) + " " if r.random() < 0.4 else ""
        out.append(f"Chapter {CHAPTERS[i]}. {lead}" + " ".join(body))
    out.append(f"Chapter {CHAPTERS[n - 1]}. " + ending(r, c))
    return "\n\n".join(out)


VERBS = ["sat by the river", "looked at the moon", "walked through the wood", "slept in the sun", "ran over the hill", "sang a quiet song",
         "found a red apple", "waited for the rain", "jumped over a log", "smiled at the stars", "hid behind a tree", "played in the snow",
         "crossed the old bridge", "carried a small lamp", "shared its bread with a friend"]
FROM = ["The {a} {k} {v}.", "One morning the {k} {v}.", "A {k} {v} and was {f}.", "The {k} {v} because it was {f}.", "Every evening the {k} {v}."]


def sentence(r, topic=None):
    k = topic or r.choice(ANIMALS)
    s = r.choice(FROM).format(a=r.choice(ADJ), k=k, v=r.choice(VERBS), f=r.choice(FEEL))
    if s.startswith("A ") and k[0] in "aeiou":
        s = "An " + s[2:]
    return s


RHYMES = ["day way play stay", "night light bright sight", "tree free sea me", "hill still mill until", "moon soon tune spoon",
          "rain again grain lane", "sky high by fly", "snow go grow slow"]


def poem(r, topic=None):
    k = topic or r.choice(ANIMALS)
    w = r.choice(RHYMES).split()
    r.shuffle(w)
    return f"The {k} went out one {r.choice(['morning', 'evening', 'summer', 'winter'])} and thought of the {w[0]},\n" \
           f"it walked and it wondered, and sang of the {w[1]}.\n" \
           f"The wind sang along with a word like {w[2]},\n" \
           f"and so ends the song, with a smile and a {w[3]}."


JOKES = [
    "Why did the hen sit on the clock? She wanted to be on time.",
    "What did the quern say to the grain? You look a bit run down.",
    "Why did the baker love Mondays? He kneaded the dough.",
    "What do you call a sleeping bull? A bulldozer.",
    "Why was the book so cold? It left its jacket at home.",
    "What did one wall say to the other? Let us meet at the corner.",
]
