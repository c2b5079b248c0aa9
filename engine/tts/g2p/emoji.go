package g2p

// emoji have short names; those that are not here are not said, nor are skin
// tones, joiners and variation selectors.
var emoji = map[rune]string{
	// Faces.
	'😀': "grinning face", '😃': "grinning face", '😄': "grinning face", '😁': "beaming face", '😆': "laughing face", '😅': "nervous smile", '😂': "tears of joy", '🤣': "rolling on the floor laughing",
	'😊': "smiling face", '🙂': "smiling face", '☺': "smiling face", '😇': "angel face", '😍': "heart eyes", '🥰': "smiling face with hearts", '😘': "kissing face", '😉': "winking face",
	'😋': "yummy face", '😜': "winking face with tongue", '😛': "face with tongue", '🤪': "zany face", '😎': "sunglasses face", '🤓': "nerd face", '🧐': "face with monocle", '🥳': "partying face",
	'😏': "smirking face", '😒': "unamused face", '🙄': "rolling eyes", '😬': "grimacing face", '😔': "sad face", '😢': "crying face", '😭': "sobbing face", '😞': "disappointed face",
	'🥺': "pleading face", '😡': "angry face", '😠': "angry face", '🤬': "swearing face", '🤯': "exploding head", '😳': "flushed face", '😱': "screaming face", '😨': "fearful face",
	'😰': "anxious face", '😴': "sleeping face", '🤔': "thinking face", '🤗': "hugging face", '🤫': "shushing face", '🤭': "face with hand over mouth", '😷': "face with mask", '🤒': "sick face",
	'🤢': "nauseated face", '🥶': "cold face", '🥵': "hot face", '🤠': "cowboy face", '🤡': "clown face", '👻': "ghost", '💀': "skull", '👽': "alien",
	'🤖': "robot", '💩': "pile of poo", '😈': "smiling devil", '🙈': "see no evil monkey", '🙃': "upside down face",
	// Hands and people.
	'👍': "thumbs up", '👎': "thumbs down", '👌': "O K hand", '✌': "victory hand", '🤞': "crossed fingers", '🤝': "handshake", '👏': "clapping hands", '🙌': "raising hands",
	'👐': "open hands", '🙏': "folded hands", '👋': "waving hand", '✋': "raised hand", '👊': "fist bump", '✊': "raised fist", '💪': "strong arm", '👉': "pointing right",
	'👈': "pointing left", '👆': "pointing up", '👇': "pointing down", '☝': "pointing up", '👀': "eyes", '🧠': "brain", '👶': "baby", '🤷': "shrug",
	'🤦': "facepalm", '🏃': "runner", '💃': "dancer",
	// Hearts.
	'❤': "heart", '♥': "heart", '🧡': "orange heart", '💛': "yellow heart", '💚': "green heart", '💙': "blue heart", '💜': "purple heart", '🖤': "black heart",
	'🤍': "white heart", '💔': "broken heart", '💕': "two hearts", '💖': "sparkling heart", '💗': "growing heart", '💘': "heart with arrow", '💝': "heart with ribbon", '💋': "kiss mark",
	// Nature and food.
	'🔥': "fire", '✨': "sparkles", '⭐': "star", '🌟': "glowing star", '💫': "dizzy", '☀': "sun", '🌞': "sun", '🌙': "moon",
	'☁': "cloud", '🌧': "rain", '⛈': "storm", '❄': "snowflake", '⛄': "snowman", '🌈': "rainbow", '🌊': "wave", '⚡': "lightning",
	'💧': "droplet", '🌍': "globe", '🌎': "globe", '🌏': "globe", '🌱': "seedling", '🌳': "tree", '🌲': "evergreen tree", '🌴': "palm tree",
	'🌸': "cherry blossom", '🌹': "rose", '🌻': "sunflower", '🌺': "hibiscus", '🍀': "four leaf clover", '🍁': "maple leaf", '🐶': "dog face", '🐱': "cat face",
	'🐭': "mouse face", '🐰': "rabbit face", '🦊': "fox", '🐻': "bear", '🐼': "panda", '🦁': "lion", '🐷': "pig face", '🐸': "frog",
	'🐵': "monkey face", '🐔': "chicken", '🐧': "penguin", '🦅': "eagle", '🦉': "owl", '🐝': "bee", '🦋': "butterfly", '🐢': "turtle",
	'🐍': "snake", '🐙': "octopus", '🐳': "whale", '🐬': "dolphin", '🐟': "fish", '🐴': "horse face", '🍎': "red apple",
	'🍌': "banana", '🍓': "strawberry", '🍒': "cherries", '🍑': "peach", '🥑': "avocado", '🍕': "pizza", '🍔': "hamburger", '🍟': "french fries",
	'🌮': "taco", '🍣': "sushi", '🍜': "noodles", '🍪': "cookie", '🍩': "doughnut", '🍰': "cake", '🎂': "birthday cake", '🍫': "chocolate",
	'🍿': "popcorn", '☕': "coffee", '🍵': "tea", '🍺': "beer", '🍻': "beers", '🍷': "wine", '🥂': "clinking glasses", '🍾': "champagne",
	// Things and signs.
	'🎉': "party popper", '🎊': "confetti", '🎁': "gift", '🎈': "balloon", '🎄': "Christmas tree", '🎃': "jack o lantern", '🚀': "rocket", '✈': "airplane",
	'🚗': "car", '🚕': "taxi", '🚌': "bus", '🚲': "bicycle", '🚂': "train", '🚢': "ship", '🏠': "house", '🏆': "trophy",
	'🥇': "gold medal", '🥈': "silver medal", '🥉': "bronze medal", '🏅': "medal", '⚽': "soccer ball", '🏀': "basketball", '🏈': "football", '⚾': "baseball",
	'🎾': "tennis", '🎮': "video game", '🎯': "bullseye", '🎵': "musical note", '🎶': "musical notes", '🎤': "microphone", '🎧': "headphones", '🎸': "guitar",
	'🎬': "clapper board", '📷': "camera", '📱': "mobile phone", '☎': "telephone", '📞': "telephone", '💻': "laptop", '🖥': "computer", '⌨': "keyboard",
	'📧': "e-mail", '✉': "envelope", '📦': "package", '📌': "pushpin", '📍': "pin", '📅': "calendar", '📈': "chart increasing", '📉': "chart decreasing",
	'📊': "bar chart", '📚': "books", '📖': "open book", '📝': "memo", '✏': "pencil", '🔍': "magnifying glass", '🔒': "locked", '🔓': "unlocked",
	'🔑': "key", '🔨': "hammer", '🔧': "wrench", '⚙': "gear", '🔗': "link", '💡': "light bulb", '💰': "money bag", '💵': "dollar bill",
	'💸': "flying money", '💎': "gem", '⏰': "alarm clock", '⏳': "hourglass", '⌛': "hourglass", '🔔': "bell", '📢': "loudspeaker", '💣': "bomb",
	'💥': "collision", '💯': "one hundred points", '💤': "sleeping", '✅': "check mark", '☑': "check box", '❌': "cross mark", '❓': "question mark", '❗': "exclamation mark",
	'⚠': "warning", '🚫': "prohibited", '⛔': "no entry", '♻': "recycling", '🆕': "new", '🆗': "O K", '🔴': "red circle", '🟢': "green circle",
	'🟡': "yellow circle", '🔵': "blue circle", '🚨': "siren", '👑': "crown", '🎓': "graduation cap", '👨': "man", '👩': "woman", '👦': "boy",
	'👧': "girl", '🧑': "person", '🌐': "globe", '🏁': "checkered flag", '🚩': "red flag",
}
