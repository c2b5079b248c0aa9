package g2p

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

var cyrillic = map[rune]string{'а': "a", 'б': "b", 'в': "v", 'г': "g", 'д': "d", 'е': "ye", 'ё': "yo", 'ж': "zh", 'з': "z", 'и': "ee", 'й': "y", 'к': "k", 'л': "l", 'м': "m", 'н': "n", 'о': "o", 'п': "p", 'р': "r", 'с': "s", 'т': "t", 'у': "oo", 'ф': "f", 'х': "kh", 'ц': "ts", 'ч': "ch", 'ш': "sh", 'щ': "shch", 'ъ': "", 'ы': "i", 'ь': "", 'э': "e", 'ю': "yu", 'я': "ya", 'і': "ee", 'ї': "yee", 'є': "ye", 'ґ': "g"}

var greek = map[rune]string{'α': "alpha", 'β': "beta", 'γ': "gamma", 'δ': "delta", 'ε': "epsilon", 'ζ': "zeta", 'η': "eta", 'θ': "theta", 'ι': "iota", 'κ': "kappa", 'λ': "lambda", 'μ': "mu", 'ν': "nu", 'ξ': "xi", 'ο': "omicron", 'π': "pi", 'ρ': "rho", 'σ': "sigma", 'ς': "sigma", 'τ': "tau", 'υ': "upsilon", 'φ': "phi", 'χ': "chi", 'ψ': "psi", 'ω': "omega"}

var scripts = []struct {
	table *unicode.RangeTable
	name  string
}{
	{unicode.Han, "Chinese"}, {unicode.Hiragana, "Japanese"}, {unicode.Katakana, "Japanese"}, {unicode.Hangul, "Korean"}, {unicode.Arabic, "Arabic"},
	{unicode.Hebrew, "Hebrew"}, {unicode.Devanagari, "Hindi"}, {unicode.Thai, "Thai"},
}

// foreign reads a run of letters that are not Latin: Cyrillic is written in
// Latin letters, Greek letters are named, and of other scripts the name is said,
// once for each run.
func (s *scanner) foreign(rest string) {
	first := firstRune(rest)
	k := 0
	same := func(t *unicode.RangeTable) bool {
		for k < len(rest) {
			r, n := utf8.DecodeRuneInString(rest[k:])
			if !unicode.Is(t, r) && !unicode.Is(unicode.Mn, r) {
				break
			}
			k += n
		}
		return true
	}
	switch {
	case unicode.Is(unicode.Cyrillic, first) && same(unicode.Cyrillic):
		var b strings.Builder
		for _, r := range strings.ToLower(norm.NFC.String(rest[:k])) {
			b.WriteString(cyrillic[r])
		}
		if b.Len() > 0 {
			s.add(item{Token: Token{Text: b.String(), Kind: Word}}, k)
			return
		}
	case unicode.Is(unicode.Greek, first):
		n := utf8.RuneLen(first)
		base := firstRune(norm.NFD.String(string(unicode.ToLower(first))))
		if name := greek[base]; name != "" {
			s.put([]string{name}, n)
			if unicode.IsLetter(firstRune(rest[n:])) {
				s.space()
			}
			return
		}
		k = n
	}
	name := "foreign"
	for _, sc := range scripts {
		if unicode.Is(sc.table, first) {
			name = sc.name
			if k == 0 {
				same(sc.table)
			}
			break
		}
	}
	if k == 0 {
		k = wordLen(rest)
	}
	at := len(s.out)
	s.put([]string{name, "text"}, max(k, utf8.RuneLen(first)))
	for i := at; i < len(s.out); i++ {
		s.out[i].Source = Unreadable
	}
}

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
