"""The tables that quern-tiny is taught. All of it was written for this model."""


def pairs(text):
    """Splits "a:b, c:d" into [(a, b), (c, d)]."""
    out = []
    for item in text.replace("\n", " ").split(","):
        item = item.strip()
        if item:
            a, b = item.split(":")
            out.append((a.strip(), b.strip()))
    return out


def words(text):
    return [w.strip() for w in text.replace("\n", " ").split(",") if w.strip()]


CAPITALS = pairs("""
Afghanistan:Kabul, Albania:Tirana, Algeria:Algiers, Andorra:Andorra la Vella, Angola:Luanda,
Argentina:Buenos Aires, Armenia:Yerevan, Australia:Canberra, Austria:Vienna, Azerbaijan:Baku,
the Bahamas:Nassau, Bahrain:Manama, Bangladesh:Dhaka, Barbados:Bridgetown, Belarus:Minsk,
Belgium:Brussels, Belize:Belmopan, Benin:Porto-Novo, Bhutan:Thimphu, Bolivia:Sucre,
Bosnia and Herzegovina:Sarajevo, Botswana:Gaborone, Brazil:Brasilia, Brunei:Bandar Seri Begawan,
Bulgaria:Sofia, Burkina Faso:Ouagadougou, Burundi:Gitega, Cambodia:Phnom Penh, Cameroon:Yaounde,
Canada:Ottawa, Cape Verde:Praia, Chad:N'Djamena, Chile:Santiago, China:Beijing, Colombia:Bogota,
Costa Rica:San Jose, Croatia:Zagreb, Cuba:Havana, Cyprus:Nicosia, the Czech Republic:Prague,
Denmark:Copenhagen, Djibouti:Djibouti City, the Dominican Republic:Santo Domingo, Ecuador:Quito, Egypt:Cairo,
El Salvador:San Salvador, Eritrea:Asmara, Estonia:Tallinn, Eswatini:Mbabane, Ethiopia:Addis Ababa,
Fiji:Suva, Finland:Helsinki, France:Paris, Gabon:Libreville, the Gambia:Banjul, Georgia:Tbilisi,
Germany:Berlin, Ghana:Accra, Greece:Athens, Grenada:St. George's, Guatemala:Guatemala City, Guinea:Conakry,
Guyana:Georgetown, Haiti:Port-au-Prince, Honduras:Tegucigalpa, Hungary:Budapest, Iceland:Reykjavik,
India:New Delhi, Indonesia:Jakarta, Iran:Tehran, Iraq:Baghdad, Ireland:Dublin, Israel:Jerusalem,
Italy:Rome, Ivory Coast:Yamoussoukro, Jamaica:Kingston, Japan:Tokyo, Jordan:Amman, Kazakhstan:Astana,
Kenya:Nairobi, Kuwait:Kuwait City, Kyrgyzstan:Bishkek, Laos:Vientiane, Latvia:Riga, Lebanon:Beirut,
Lesotho:Maseru, Liberia:Monrovia, Libya:Tripoli, Liechtenstein:Vaduz, Lithuania:Vilnius,
Luxembourg:Luxembourg City, Madagascar:Antananarivo, Malawi:Lilongwe, Malaysia:Kuala Lumpur,
the Maldives:Male, Mali:Bamako, Malta:Valletta, Mauritania:Nouakchott, Mauritius:Port Louis,
Mexico:Mexico City, Moldova:Chisinau, Monaco:Monaco City, Mongolia:Ulaanbaatar, Montenegro:Podgorica,
Morocco:Rabat, Mozambique:Maputo, Myanmar:Naypyidaw, Namibia:Windhoek, Nepal:Kathmandu,
the Netherlands:Amsterdam, New Zealand:Wellington, Nicaragua:Managua, Niger:Niamey, Nigeria:Abuja,
North Korea:Pyongyang, North Macedonia:Skopje, Norway:Oslo, Oman:Muscat, Pakistan:Islamabad,
Panama:Panama City, Papua New Guinea:Port Moresby, Paraguay:Asuncion, Peru:Lima,
the Philippines:Manila, Poland:Warsaw, Portugal:Lisbon, Qatar:Doha, Romania:Bucharest, Russia:Moscow,
Rwanda:Kigali, Samoa:Apia, San Marino:City of San Marino, Saudi Arabia:Riyadh, Senegal:Dakar,
Serbia:Belgrade, Sierra Leone:Freetown, Slovakia:Bratislava, Slovenia:Ljubljana, Somalia:Mogadishu,
South Africa:Pretoria, South Korea:Seoul, South Sudan:Juba, Spain:Madrid, Sri Lanka:Colombo,
Sudan:Khartoum, Suriname:Paramaribo, Sweden:Stockholm, Switzerland:Bern, Syria:Damascus, Taiwan:Taipei,
Tajikistan:Dushanbe, Tanzania:Dodoma, Thailand:Bangkok, Togo:Lome, Tonga:Nuku'alofa, Trinidad and Tobago:Port of Spain,
Tunisia:Tunis, Turkey:Ankara, Turkmenistan:Ashgabat, Uganda:Kampala, Ukraine:Kyiv,
the United Arab Emirates:Abu Dhabi, the United Kingdom:London, the United States:Washington D.C.,
Uruguay:Montevideo, Uzbekistan:Tashkent, Vanuatu:Port Vila, Venezuela:Caracas, Vietnam:Hanoi,
Yemen:Sana'a, Zambia:Lusaka, Zimbabwe:Harare
""")

# Other names that people use; answered with the same name.
CAPITAL_ALIASES = pairs("""
England:London, the UK:London, the USA:Washington D.C., the US:Washington D.C., America:Washington D.C.,
Great Britain:London, Holland:Amsterdam, Scotland:Edinburgh, Wales:Cardiff, Czechia:Prague, the UAE:Abu Dhabi
""")

CONTINENTS = pairs("""
France:Europe, Germany:Europe, Spain:Europe, Italy:Europe, Poland:Europe, Greece:Europe, Norway:Europe,
Sweden:Europe, Finland:Europe, Ireland:Europe, Portugal:Europe, Austria:Europe, Belgium:Europe, Denmark:Europe,
Hungary:Europe, Switzerland:Europe, the Netherlands:Europe, Iceland:Europe, Ukraine:Europe, Romania:Europe,
China:Asia, Japan:Asia, India:Asia, Thailand:Asia, Vietnam:Asia, Nepal:Asia, Mongolia:Asia, South Korea:Asia,
Pakistan:Asia, Iran:Asia, Iraq:Asia, Malaysia:Asia, the Philippines:Asia, Indonesia:Asia,
Egypt:Africa, Kenya:Africa, Nigeria:Africa, Ghana:Africa, Morocco:Africa, Ethiopia:Africa, Mali:Africa,
South Africa:Africa, Algeria:Africa, Uganda:Africa, Zambia:Africa, Senegal:Africa, Tanzania:Africa,
Canada:North America, Mexico:North America, Cuba:North America, the United States:North America, Panama:North America,
Brazil:South America, Argentina:South America, Peru:South America, Chile:South America, Bolivia:South America,
Colombia:South America, Ecuador:South America, Uruguay:South America, Australia:Oceania, New Zealand:Oceania, Fiji:Oceania
""")

LANGUAGES = pairs("""
France:French, Germany:German, Spain:Spanish, Italy:Italian, Poland:Polish, Greece:Greek, Norway:Norwegian,
Sweden:Swedish, Finland:Finnish, Portugal:Portuguese, Denmark:Danish, Hungary:Hungarian, Japan:Japanese,
China:Chinese, Russia:Russian, Turkey:Turkish, Thailand:Thai, Vietnam:Vietnamese, Brazil:Portuguese,
Mexico:Spanish, Argentina:Spanish, Austria:German, Australia:English, England:English, Egypt:Arabic,
Iceland:Icelandic, the Netherlands:Dutch, Romania:Romanian, Bulgaria:Bulgarian, South Korea:Korean, Ukraine:Ukrainian
""")

# Taught in both directions unless the left word occurs twice.
OPPOSITES = pairs("""
hot:cold, big:small, tall:short, fast:slow, old:new, happy:sad, good:bad, light:dark, up:down, left:right,
in:out, on:off, open:closed, day:night, black:white, wet:dry, full:empty, hard:soft, high:low, loud:quiet,
rich:poor, strong:weak, young:aged, early:late, near:far, deep:shallow, thick:thin, wide:narrow, heavy:weightless,
clean:dirty, easy:difficult, true:false, first:last, long:brief, sharp:blunt, sweet:sour, smooth:rough, kind:cruel,
brave:cowardly, polite:rude, begin:end, win:lose, buy:sell, push:pull, come:go, give:take, love:hate, laugh:cry,
lend:borrow, arrive:leave, rise:fall, remember:forget, start:stop, above:below, over:under, inside:outside,
before:after, always:never, everything:nothing, everyone:nobody, north:south, east:west, top:bottom, front:back,
king:queen, boy:girl, man:woman, brother:sister, father:mother, son:daughter, uncle:aunt, friend:enemy,
summer:winter, spring:autumn, morning:evening, sunrise:sunset, heaven:hell, war:peace, life:death, truth:lie,
question:answer, teacher:student, doctor:patient, success:failure, victory:defeat, love letter:hate letter,
cheap:expensive, safe:dangerous, simple:complex, same:different, public:private, modern:ancient, major:minor,
positive:negative, possible:impossible, visible:invisible, legal:illegal, lucky:unlucky, fair:unfair, tidy:messy,
tight:loose, straight:crooked, wild:tame, wise:foolish, generous:selfish, calm:nervous, awake:asleep, alive:dead,
guilty:innocent, raw:cooked, fresh:stale, frozen:melted, freeze:melt, build:destroy, attack:defend, accept:refuse,
agree:disagree, appear:vanish, catch:throw, float:sink, follow:lead, increase:decrease, add:subtract,
multiply:divide, import:export, enter:exit, include:exclude, maximum:minimum, more:less, many:few, most:least,
yes:no, plus:minus, married:single, noisy:silent, bright:dim, bold:shy, bitter:sugary, clever:stupid, careful:careless,
useful:useless, hopeful:hopeless, ugly:beautiful, proud:ashamed, busy:idle, lazy:hardworking, natural:artificial,
horizontal:vertical, wealthy:penniless, backward:forward, here:there, hello:goodbye, import tax:export tax,
hero:villain, absent:present, expand:shrink, float up:sink down, permanent:temporary, hire:fire, honest:dishonest,
patient man:impatient man, bent:unbent, correct:incorrect, known:unknown, equal:unequal, real:fake, male:female,
""".replace("love letter:hate letter,", "").replace("import tax:export tax,", "").replace("float up:sink down,", "")
  .replace("patient man:impatient man,", "").replace("bent:unbent,", ""))
# One way only.
OPPOSITES_ONE_WAY = pairs("""
little:big, large:small, cool:warm, warm:cool, old man:young man, closed:open, shut:open, difficult:easy, young:old,
heavy:light, short:long, rough:smooth, wrong:right, dull:sharp, quick:slow, tiny:huge, huge:tiny, sad:happy, angry:calm,
stop:start, hard:soft, soft:hard, unhappy:happy, cry:laugh, poor:rich, weak:strong
""".replace("old man:young man,", ""))

COLOURS = pairs("""
the sky:blue, grass:green, a banana:yellow, a tomato:red, snow:white, coal:black, an orange:orange, a lemon:yellow,
the sun:yellow, blood:red, milk:white, chocolate:brown, a strawberry:red, a carrot:orange, an elephant:grey,
a flamingo:pink, a frog:green, a crow:black, a polar bear:white, a lime:green, a pumpkin:orange, a cherry:red,
a leaf:green, the sea:blue, a fire engine:red, a pig:pink, wood:brown, gold:yellow, silver:grey, a swan:white,
a raven:black, a cucumber:green, a plum:purple, a grape:purple, an aubergine:purple, salt:white, rice:white,
a school bus:yellow, a panda:black and white, a zebra:black and white, a penguin:black and white, mud:brown,
a fox:orange, a ladybird:red, a blueberry:blue, a pea:green, broccoli:green, sand:yellow, ash:grey, cream:white,
an emerald:green, a ruby:red, a sapphire:blue, a raspberry:red, spinach:green, butter:yellow, coffee:brown, a cloud:white,
a peach:orange, a mouse:grey, a chick:yellow, cheese:yellow, a stop sign:red, ink:black, paper:white, lavender:purple
""")

# animal: sound, young, legs, where it lives
ANIMALS = [tuple(x.strip() for x in line.split(",")) for line in """
dog, woof, puppy, four, in a house
cat, meow, kitten, four, in a house
cow, moo, calf, four, on a farm
sheep, baa, lamb, four, on a farm
pig, oink, piglet, four, on a farm
horse, neigh, foal, four, in a stable
goat, bleat, kid, four, on a farm
duck, quack, duckling, two, near a pond
hen, cluck, chick, two, on a farm
goose, honk, gosling, two, near a pond
lion, roar, cub, four, on the savanna
tiger, roar, cub, four, in the jungle
bear, growl, cub, four, in the forest
wolf, howl, pup, four, in the forest
fox, bark, kit, four, in the forest
frog, croak, tadpole, four, near a pond
owl, hoot, owlet, two, in the forest
bee, buzz, larva, six, in a hive
mouse, squeak, pup, four, in a hole
snake, hiss, snakelet, zero, in the grass
elephant, trumpet, calf, four, on the savanna
donkey, hee-haw, foal, four, on a farm
crow, caw, chick, two, in a nest
monkey, chatter, infant, four, in the jungle
rooster, cock-a-doodle-doo, chick, two, on a farm
pigeon, coo, squab, two, in the city
turkey, gobble, poult, two, on a farm
deer, bellow, fawn, four, in the forest
kangaroo, chuckle, joey, two, in the outback
rabbit, squeak, bunny, four, in a burrow
spider, -, spiderling, eight, in a web
ant, -, larva, six, in an anthill
fly, buzz, maggot, six, in the air
butterfly, -, caterpillar, six, in a meadow
whale, song, calf, zero, in the sea
fish, -, fry, zero, in the water
swan, hiss, cygnet, two, on a lake
eagle, scream, eaglet, two, in the mountains
octopus, -, larva, eight, in the sea
penguin, honk, chick, two, on the ice
giraffe, hum, calf, four, on the savanna
zebra, bark, foal, four, on the savanna
hedgehog, snuffle, hoglet, four, in a garden
beetle, -, grub, six, under a log
crab, -, larva, ten, on the beach
""".strip().split("\n")]

PLURALS = pairs("""
cat:cats, dog:dogs, book:books, house:houses, car:cars, tree:trees, apple:apples, child:children, man:men, woman:women,
foot:feet, tooth:teeth, goose:geese, mouse:mice, person:people, ox:oxen, sheep:sheep, fish:fish, deer:deer, leaf:leaves,
knife:knives, wife:wives, life:lives, wolf:wolves, shelf:shelves, loaf:loaves, half:halves, baby:babies, city:cities,
story:stories, lady:ladies, country:countries, berry:berries, puppy:puppies, fly:flies, box:boxes, fox:foxes,
bus:buses, glass:glasses, dish:dishes, watch:watches, church:churches, potato:potatoes, tomato:tomatoes, hero:heroes,
piano:pianos, photo:photos, key:keys, boy:boys, toy:toys, day:days, monkey:monkeys, girl:girls, bird:birds,
horse:horses, table:tables, chair:chairs, door:doors, window:windows, flower:flowers, star:stars, bag:bags, pen:pens,
cup:cups, shoe:shoes, hat:hats, egg:eggs, ball:balls, friend:friends, teacher:teachers, king:kings, queen:queens,
cactus:cacti, louse:lice, thief:thieves, calf:calves, elf:elves, brush:brushes, bench:benches, peach:peaches, kiss:kisses,
dress:dresses, party:parties, family:families, penny:pennies, word:words, hand:hands, eye:eyes, ear:ears, boat:boats
""")

PASTS = pairs("""
go:went, be:was, have:had, do:did, say:said, make:made, take:took, come:came, see:saw, get:got, give:gave, find:found,
think:thought, tell:told, know:knew, leave:left, feel:felt, put:put, bring:brought, begin:began, keep:kept, hold:held,
write:wrote, stand:stood, hear:heard, let:let, mean:meant, set:set, meet:met, run:ran, pay:paid, sit:sat, speak:spoke,
lie:lay, lead:led, grow:grew, lose:lost, fall:fell, send:sent, build:built, understand:understood, draw:drew, break:broke,
spend:spent, cut:cut, rise:rose, drive:drove, buy:bought, wear:wore, choose:chose, eat:ate, drink:drank, sing:sang,
swim:swam, fly:flew, sleep:slept, win:won, teach:taught, catch:caught, fight:fought, sell:sold, throw:threw, forget:forgot,
ride:rode, ring:rang, shake:shook, steal:stole, wake:woke, freeze:froze, hide:hid, bite:bit, blow:blew, walk:walked,
talk:talked, play:played, work:worked, jump:jumped, look:looked, want:wanted, help:helped, call:called, ask:asked,
love:loved, like:liked, live:lived, move:moved, stop:stopped, cry:cried, try:tried, carry:carried, study:studied, cook:cooked,
open:opened, close:closed, clean:cleaned, smile:smiled, laugh:laughed, dance:danced, listen:listened, start:started
""")

SPELL = words("""
cat, dog, sun, moon, fish, bird, tree, book, milk, bread, apple, water, house, mouse, horse, table, chair, green, black,
white, happy, hello, world, night, light, stone, river, cloud, plant, sugar, lemon, tiger, zebra, snake, sheep, goose,
duck, frog, lion, bear, wolf, king, queen, ship, boat, star, rain, snow, wind, fire, gold, ring, door, wall, roof, road,
hat, cup, pen, bag, box, bus, car, egg, ant, bee, cow, pig, hen, fox, owl, one, two, three, four, five, six, seven, eight,
nine, ten, red, blue, pink, grey, brown, yellow, orange, purple, school, friend, flower, garden, winter, summer, spring,
bottle, window, butter, cheese, letter, number, sister, brother, mother, father, monkey, rabbit, banana, kitten, puppy,
paper, music, dance, smile, dream, heart, hand, foot, nose, eye, ear, mouth, arm, leg, word, story, quern, mill, grain, flour
""")

NUMBERS = words("""
zero, one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen,
sixteen, seventeen, eighteen, nineteen, twenty
""")
TENS = words("-, ten, twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety")
ORDINALS = words("first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth, eleventh, twelfth")

DAYS = words("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday")
MONTHS = words("January, February, March, April, May, June, July, August, September, October, November, December")
MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

# Groups for lists and for "is a X a Y?".
GROUPS = {
    "animal": words("dog, cat, cow, horse, fox, lion, tiger, bear, wolf, rabbit, mouse, elephant, monkey, sheep, goat, pig, zebra, giraffe, deer, camel"),
    "bird": words("owl, eagle, crow, robin, sparrow, swan, duck, penguin, parrot, pigeon, hen, stork"),
    "fruit": words("apple, banana, pear, plum, cherry, grape, lemon, orange, peach, mango, strawberry, melon, kiwi, fig"),
    "vegetable": words("carrot, potato, onion, cabbage, pea, bean, leek, turnip, cucumber, radish, pumpkin, beetroot"),
    "colour": words("red, blue, green, yellow, orange, purple, black, white, brown, pink, grey"),
    "tool": words("hammer, saw, screwdriver, drill, spanner, axe, spade, rake, chisel, file"),
    "vehicle": words("car, bus, train, bicycle, lorry, tractor, boat, ship, plane, tram, van, taxi"),
    "drink": words("water, milk, tea, coffee, juice, lemonade, cocoa, cider"),
    "instrument": words("piano, violin, drum, flute, guitar, trumpet, harp, cello"),
    "sport": words("football, tennis, swimming, running, rowing, hockey, golf, cricket, skiing"),
    "insect": words("ant, bee, fly, beetle, wasp, moth, butterfly, grasshopper"),
    "flower": words("rose, tulip, daisy, lily, daffodil, poppy, violet, sunflower"),
    "metal": words("iron, gold, silver, copper, tin, lead, zinc, steel"),
    "shape": words("circle, square, triangle, rectangle, oval, star, pentagon, hexagon"),
    "season": words("spring, summer, autumn, winter"),
    "planet": words("Mercury, Venus, Earth, Mars, Jupiter, Saturn, Uranus, Neptune"),
    "piece of furniture": words("table, chair, bed, sofa, desk, shelf, cupboard, stool"),
    "piece of clothing": words("hat, coat, shirt, scarf, sock, shoe, glove, dress, jacket"),
    "day of the week": DAYS,
    "month": MONTHS,
    "country": words("France, Germany, Spain, Italy, Japan, China, India, Brazil, Canada, Egypt, Kenya, Peru, Norway, Poland, Greece"),
    "city": words("Paris, London, Rome, Berlin, Madrid, Tokyo, Cairo, Lima, Oslo, Vienna, Dublin, Lisbon"),
}
GROUP_PLURAL = {"country": "countries", "city": "cities", "piece of furniture": "pieces of furniture",
                "piece of clothing": "pieces of clothing", "day of the week": "days of the week"}
UNCOUNTED = set(GROUPS["colour"] + GROUPS["drink"] + GROUPS["sport"] + GROUPS["metal"] + GROUPS["season"] +
                GROUPS["planet"] + DAYS + MONTHS + GROUPS["country"] + GROUPS["city"]) - {"orange"}

# question keys (any phrasing of these gets the answer) | answer
SIMPLE_FACTS = [tuple(p.strip() for p in line.split("|")) for line in """
Where does the sun rise; In which direction does the sun rise; Where does the sun come up | The sun rises in the east.
Where does the sun set; In which direction does the sun set; Where does the sun go down | The sun sets in the west.
At what temperature does water boil; When does water boil; What is the boiling point of water | Water boils at 100 degrees Celsius.
At what temperature does water freeze; When does water freeze; What is the freezing point of water | Water freezes at 0 degrees Celsius.
What is ice made of; What is ice; What is frozen water called | Ice is frozen water.
What is steam; What does water become when it boils | Steam is water that has become a gas.
How many days are in a week; How many days does a week have; Number of days in a week | There are seven days in a week.
How many months are in a year; How many months does a year have; Number of months in a year | There are twelve months in a year.
How many days are in a year; How many days does a year have; Number of days in a year | There are 365 days in a year, and 366 in a leap year.
How many hours are in a day; How many hours does a day have; Number of hours in a day | There are 24 hours in a day.
How many minutes are in an hour; How many minutes does an hour have; Number of minutes in an hour | There are 60 minutes in an hour.
How many seconds are in a minute; How many seconds does a minute have; Number of seconds in a minute | There are 60 seconds in a minute.
How many weeks are in a year; How many weeks does a year have | There are 52 weeks in a year.
How many seasons are there; How many seasons are in a year; What are the seasons; Name the four seasons | There are four seasons: spring, summer, autumn and winter.
How many letters are in the alphabet; How many letters does the English alphabet have | There are 26 letters in the English alphabet.
What is the first letter of the alphabet; Which letter comes first in the alphabet | The first letter of the alphabet is A.
What is the last letter of the alphabet; Which letter comes last in the alphabet | The last letter of the alphabet is Z.
What are the vowels; Name the vowels; List the vowels; Which letters are vowels | The vowels are A, E, I, O and U.
How many sides does a triangle have; How many corners does a triangle have | A triangle has three sides.
How many sides does a square have; How many corners does a square have | A square has four sides.
How many sides does a pentagon have | A pentagon has five sides.
How many sides does a hexagon have | A hexagon has six sides.
How many sides does a circle have; How many corners does a circle have | A circle has no corners.
How many fingers does a hand have; How many fingers are on one hand; How many fingers are on a hand | A hand has five fingers.
How many eyes do people have; How many eyes does a person have; How many eyes do you need to see | People have two eyes.
How many planets are there; How many planets are in the solar system | There are eight planets in the solar system.
What is the largest planet; Which planet is the largest; What is the biggest planet; Which planet is the biggest | Jupiter is the largest planet.
What is the smallest planet; Which planet is the smallest | Mercury is the smallest planet.
Which planet is closest to the sun; What is the nearest planet to the sun | Mercury is the planet closest to the sun.
Which planet do we live on; What planet do we live on; On which planet do people live | We live on the planet Earth.
Which planet is called the red planet; What is the red planet; Which planet is red | Mars is called the red planet.
What goes around the Earth; What orbits the Earth | The moon goes around the Earth.
What does the Earth go around; What does the Earth orbit | The Earth goes around the sun.
What is the largest animal; What is the biggest animal; Which animal is the largest; Which animal is the biggest | The blue whale is the largest animal.
What is the tallest animal; Which animal is the tallest | The giraffe is the tallest animal.
What is the fastest land animal; Which land animal is the fastest; What is the fastest animal on land | The cheetah is the fastest land animal.
What is the largest ocean; Which ocean is the largest; What is the biggest ocean | The Pacific is the largest ocean.
What is the highest mountain; Which mountain is the highest; What is the tallest mountain | Mount Everest is the highest mountain.
What is the largest country; Which country is the largest; What is the biggest country | Russia is the largest country.
How many continents are there; What are the continents; Name the continents | There are seven continents: Africa, Antarctica, Asia, Australia, Europe, North America and South America.
What do bees make; What does a bee make | Bees make honey.
Where does milk come from; What animal gives milk; Which animal gives us milk | Milk comes from cows.
Where do eggs come from; Which bird lays eggs for breakfast; Who lays eggs | Eggs come from hens.
Where does wool come from; Which animal gives us wool | Wool comes from sheep.
What is bread made of; What is bread made from | Bread is made from flour, water, salt and yeast.
What is cheese made of; What is cheese made from | Cheese is made from milk.
What is paper made of; What is paper made from | Paper is made from wood.
What is glass made of; What is glass made from | Glass is made from sand.
What is flour made of; What is flour made from; Where does flour come from | Flour is made from grain that has been ground.
What is a quern; What is a quern stone; What is a quern used for | A quern is a small hand mill for grinding grain.
What do plants need to grow; What does a plant need to grow | Plants need water, light and air to grow.
What do we breathe; What do people breathe | We breathe air.
What is a baby dog called | A baby dog is called a puppy.
What is H2O; What is the chemical formula of water | Water is H2O.
What falls from clouds; Where does rain come from | Rain falls from clouds.
When do stars shine; When can we see the stars | We can see the stars at night.
When does the sun shine | The sun shines during the day.
How many legs does a person have; How many legs do people have | A person has two legs.
How many wheels does a car have | A car has four wheels.
How many wheels does a bicycle have; How many wheels does a bike have | A bicycle has two wheels.
How many wheels does a tricycle have | A tricycle has three wheels.
What do you use to cut paper; What cuts paper | You cut paper with scissors.
What do you use to write; What do people write with | People write with a pen or a pencil.
How many is a dozen; What is a dozen; How many eggs are in a dozen | A dozen is twelve.
How many years are in a century; What is a century | A century is one hundred years.
How many years are in a decade; What is a decade | A decade is ten years.
How many metres are in a kilometre; How long is a kilometre | There are 1000 metres in a kilometre.
How many centimetres are in a metre; How long is a metre in centimetres | There are 100 centimetres in a metre.
How many grams are in a kilogram | There are 1000 grams in a kilogram.
Is the Earth round; Is the Earth flat; What shape is the Earth | The Earth is round like a ball.
Is the sun a star; What is the sun | The sun is a star.
What colours do you mix to make green; How do you make green; Which colours make green | Blue and yellow make green.
What colours do you mix to make orange; How do you make orange; Which colours make orange | Red and yellow make orange.
What colours do you mix to make purple; How do you make purple; Which colours make purple | Red and blue make purple.
What are the primary colours; Name the primary colours | The primary colours are red, yellow and blue.
What are the colours of the rainbow; Which colours are in the rainbow; Name the colours of the rainbow; List the colours of the rainbow | The colours of the rainbow are red, orange, yellow, green, blue, indigo and violet.
What does a fish use to breathe; How do fish breathe | Fish breathe with gills.
What do birds use to fly; How do birds fly | Birds fly with their wings.
Which animal is called the king of the jungle; Who is the king of the jungle | The lion is called the king of the jungle.
Which animal is man's best friend; Who is man's best friend | The dog is called man's best friend.
What do cows eat | Cows eat grass.
What do pandas eat | Pandas eat bamboo.
What do rabbits eat | Rabbits eat grass and leaves.
Say the alphabet; Recite the alphabet; What is the alphabet; List the letters of the alphabet | A B C D E F G H I J K L M N O P Q R S T U V W X Y Z.
""".strip().split("\n")]

FIRST_NAMES = words("""
Anna, Ben, Clara, David, Emma, Felix, Grace, Henry, Ida, Jack, Kate, Leo, Mia, Noah, Olga, Peter, Rosa, Sam, Tom, Uma,
Vera, Will, Yara, Zoe, Alice, Bob, Carol, Dan, Eve, Frank, Gina, Hugo, Iris, Jonas, Karin, Lena, Max, Nina, Oscar, Paul,
Quinn, Ruth, Sarah, Tim, Ursula, Victor, Wendy, Xavier, Yusuf, Zara, Ali, Maria, John, Lucy, Omar, Priya, Kenji, Mei, Ivan, Chloe
""")
