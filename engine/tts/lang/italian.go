package lang

import (
	"regexp"
	"strings"
	"sync"
)

// italian follows the orthography; which e and o are open, and which words have their
// stress on the last syllable but two, follows from endings, with exceptions.
func italian() *Language {
	return &Language{
		Code: "it", Name: "Italian", own: "àèéìíîòóùú", elides: true,
		letters: newTable(`
V = aeiouàèéìíòóùú
E = eièéìí
[cqu] = kːw
[c'] = ʧ
['] =
[cci] {aouàòù} = ʧː
[cc] E = ʧː
[cch] = kː
[cc] = kː
[ch] = k
[ci] {aouàòù} = ʧ
[cie] = ʧe
[c] E = ʧ
[ck] = k
[c] = k
[ggi] {aouàòù} = ʤː
[gg] E = ʤː
[ggh] = ɡː
[gg] = ɡː
[gh] = ɡ
[gli] V = ʎ
[gli] # = ʎi
[gli] = ʎi
[gn] = ɲ
[gi] {aouàòù} = ʤ
[g] E = ʤ
[gu] V = ɡw
[g] = ɡ
# [uò] = wˈɔ
# [uo] = wɔ
b [uon] # = wɔn
[qu] = kw
[q] = k
[sci] {aouàòù} = ʃ
[scie] = ʃe
[sc] E = ʃ
[sch] = sk
[ss] = S
V [s] V = z
[s] {bdglmnrv} = z
[s] = s
# [z] = ʣ
i [zz] = ʣː
me [zz] = ʣː
[zz] = ʦː
[z] = ʦ
[tt] = tː
[pp] = pː
[bb] = bː
[dd] = dː
[rr] = rɾ
[h] =
[j] = j
[y] = i
[x] = ks
[w] = w
[kk] = kː
[ph] = f
[à] = ˈa
[è] = ˈɛ
[é] = ˈe
[ì] = ˈi
[í] = ˈi
[î] = i
[ò] = ˈɔ
[ó] = ˈo
[ù] = ˈu
[ú] = ˈu
`),
		settle: newTable(`
V = aeiouɛɔɪʊ
C = pbtdkɡfvszʃʧʤʦʣmnɲlʎrɾSː
; Which stressed e is open.
i ˈ [e] = ɛ
ˈ [e] lːo # = ɛ
m ˈ [e] nte # = e
m ˈ [e] nt{oi} # = e
ˈ [e] nt{eiao} = ɛ
ˈ [e] n{ʦsd} = ɛ
ˈ [e] l{lvf} = ɛ
ˈ [e] r{tsvmncɡkbpl} = ɛ
ˈ [e] {S}{oei} = ɛ
ˈ [e] vano # = e
ˈ [e] v{aoi} # = ɛ
ˈ [e] r{aoi} # = ɛ
ˈ [e] n{eio} # = ɛ
ˈ [e] mo # = ɛ
ˈ [e] mmo # = ɛ
ˈ [e] st{eio} # = ɛ
ˈ [e] st{ar} = ɛ
ˈ [e] bːe # = ɛ
ˈ [ei] # = ɛi
ˈ [oi] # = ɔi
ˈ [e] {ao} # = ɛ
ˈ [e] m{aei} # = ɛ
ˈ [e] mbr = ɛ
ˈ [e] d{i} V = ɛ
ˈ [e] ri{oae} = ɛ
ˈ [e] tːo # = ɛ
ˈ [e] ʦːo # = ɛ
ˈ [e] tik = ɛ
ˈ [e] {dnmlr} V {dnmlrkvtb} {oaie} # = ɛ
; Which stressed o is closed.
ˈ [o] re # = o
ˈ [o] n{eio} # = o
ˈ [o] zo # = o
ˈ [o] n{dtʦ} = o
ˈ [o] m{pb} = o
ˈ [o] me # = o
ˈ [o] r{ns} {oaei} # = o
ˈ [o] rme # = o
ˈ [o] rdin = o
ˈ [o] ʧe # = o
ˈ [o] ri # = o
ˈ [o] rɾ = o
ˈ [o] lp = o
ˈ [o] lt{oa} # = o
ˈ [o] tːo # = o
ˈ [o] {ɲʎŋ} = o
ˈ [o] ve # = o
ˈ [o] = ɔ
; Long vowels, glides, and what unstressed vowels become.
ˈ [ai] # = aːɪ
ˈ ɛ [i] # = i
ˈ ɔ [i] # = i
ˈ o [i] # = i
ˈ e [i] # = i
{lrɾ} [i] ˈ? {aeouɛɔ} = i
ʦ [i] ˈ{oɛe} = i
z [i] ˈ{oɛ} = i
V [i] V = j
V [i] ˈ V = j
{nvtS} [i] ˈ ɛr = i
kː [i] ˈ ɛr = i
ˈ V* C* [i] {oa} # = i
C [i] ˈ? {aeouɛɔ} = j
# [i] ˈ? {aeouɛɔ} = j
a [i] {^ˈ} = j
[ll] = ll
V [ɲ] {oaei} # = ɲɲ
[i] # = ɪ
ˈ [u] = u
ˈ [i] = i
[u] = ʊ
k [w] = w
a [r] ˈ? {aɔ} = ɾ
a [r] ˈ ɔ = ɾ
e [r] ˈ {aɔ} # = ɾ
i [r] ˈ {aɔ} # = ɾ
{S} e [r] o # = ɾ
`),
		sounds: newTable(`
[n] {ˈˌ_}* ɡ = ŋ
{dmtsvʎlʧkw} [i] {#_} = ɪ
{#_} [un] {#_} = ʊn
{#_} [iːl] {#_} = il
`),
		nuclei:  "aeiouɛɔ",
		stress:  italianStress,
		derived: italianDerived,

		words: map[string]string{"il": "ˈiːl", "in": "ˈiːn", "dei": "dˈA", "no": "nˈɔ", "sì": "sˈiː", "io": "ˈio", "hai": "ˈaj", "mai": "mˈaj", "sai": "sˈaj", "stai": "stˈaj", "vai": "vˈaj", "fai": "fˈaj", "ai": "ˈaj", "gli": "ʎˈɪ", "beh": "bˈɛ", "perché": "perkˈe",
			"lui": "lˈui", "lei": "lˈɛi", "noi": "nˈoi", "voi": "vˈoi", "tuoi": "tʊˈɔi", "suoi": "sʊˈɔi", "vuoi": "vʊˈɔi", "poi": "pˈɔi", "sei": "sˈɛi", "ci": "ʧˈi", "mi": "mˈi", "di": "dˈi", "si": "sˈi", "ti": "tˈi", "vi": "vˈi", "chi": "kˈi", "qui": "kwˈi", "li": "lˈi", "lì": "lˈi",
			"ho": "ˈɔ", "so": "sˈɔ", "do": "dˈɔ", "o": "ˈo", "e": "ˈe", "è": "ˈɛ", "più": "pjˈu", "e'": "ˈɛ", "una": "ˈuna", "nei": "nˈei", "del": "dˈel", "nel": "nˈɛl", "sul": "sˈul", "col": "kˈol", "della": "dˈella", "delle": "dˈelle", "dello": "dˈello", "degli": "dˈeʎɪ", "questo": "kwˈesto", "questa": "kwˈesta", "questi": "kwˈestɪ", "queste": "kwˈeste", "quello": "kwˈello", "quella": "kwˈella", "quelle": "kwˈelle", "quegli": "kwˈeʎɪ",
			"sono": "sˈono", "molto": "mˈolto", "ora": "ˈora", "solo": "sˈolo", "come": "kˈome", "dove": "dˈove", "loro": "lˈoro", "nome": "nˈome", "sotto": "sˈotːo", "dopo": "dˈopo", "giorno": "ʤˈorno", "mondo": "mˈondo", "posto": "pˈosto", "secondo": "sekˈondo", "con": "kˈon", "non": "nˈon", "ancora": "ankˈora", "allora": "allˈora", "signora": "siɲˈora", "persona": "persˈona", "sopra": "sˈopra", "voce": "vˈoʧe", "troppo": "trˈɔpːo", "tre": "trˈe", "re": "rˈe", "che": "kˈe", "me": "mˈe", "te": "tˈe", "se": "sˈe", "le": "lˈe", "ne": "nˈe", "per": "pˈer",
			"euro": "ˈeʊro", "zero": "ʣˈɛro", "zona": "ʣˈɔna", "mezzo": "mˈɛʣːo", "mezza": "mˈɛʣːa", "pizza": "pˈiʦːa", "ragazza": "raɡˈaʦːa", "cosa": "kˈɔza", "così": "kozˈi", "cosi": "kˈɔzɪ", "forse": "fˈorse", "mamma": "mˈamma", "due": "dˈue", "tua": "tˈua", "sua": "sˈua", "mia": "mˈia", "via": "vˈia", "sia": "sˈia", "zio": "ʣˈio", "dio": "dˈio", "mio": "mˈio", "tuo": "tˈuo", "suo": "sˈuo", "auto": "ˈaʊto"},
		weak:    set("il lo la i gli le un di a da in con su per tra fra e o ma che ne si mi ti ci vi se non ha del dello della dei degli delle al allo alla ai agli alle dal dalla dai dagli dalle nel nella nei negli nelle sul sulla sui sugli sulle col ed ad od"),
		lesser:  set("è una questo questa questi queste sono anche lui mio mia tuo tua suo sua loro"),
		alone:   "aeio",
		spelled: map[rune]string{'a': "a", 'b': "bi", 'c': "ci", 'd': "di", 'e': "e", 'f': "effe", 'g': "gi", 'h': "acca", 'i': "i", 'j': "ilunga", 'k': "cappa", 'l': "elle", 'm': "emme", 'n': "enne", 'o': "o", 'p': "pi", 'q': "cu", 'r': "erre", 's': "esse", 't': "ti", 'u': "u", 'v': "vu", 'w': "vudoppia", 'x': "ics", 'y': "ipsilon", 'z': "zeta"},
		said:    map[string]bool{"FIAT": true, "ENEL": true, "INPS": false},
		alien:   func(w string) bool { return italianAlien().MatchString(w) },

		vocabulary: ready(italianWords()),
	}
}

// italianAlien knows words that cannot be Italian by their spelling.
var italianAlien = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[wy]|k[^imou]|ck|sh|th|oo|ee|ea[tkms]|ph|[^aeiouàèéìíòóùúlnr']$|[bcdfgkmpqstvz][bcdfgkmpqstvz]$|tion`)
})

// italianEndings says which nucleus from the end has the stress, by the longest ending
// that a word has; # is a whole word. Without one it is the last but one.
var italianEndings = endings(`
2 abile abili ibile ibili evole evoli issimo ississima issima issimi issime esimo esima esimi esime uplice uplici
2 vano rono ssero bbero ssimo cero sero
2 ico ica ici iche aco afo ografo ografa ologo ologa ologi ologhe
1 aco abriaco #amico #amica #amici #amiche nemico nemica nemici nemiche antico antica antichi antiche fatica fatiche mendico #dico #dica #dici formica vescica ombelico pudico #fico #fichi #mica felici attrici radici
2 ono colo cola coli cole
1 dono #sono #buono #suono #tuono #trono #tono perdono abbandono #scuola #suola
2 dono gono cono lono
1 #dono #perdono #abbandono figliolo
2 abbiano hiamano iamoci iamolo atemi etemi itemi ateci eteci iteci atelo etelo itelo atela ateli ateli atevi etevi itevi
2 andolo andola andoli andole andomi andoti andosi andoci andovi andone andogli endolo endola endoli endole endomi endoti endosi endoci endovi endone endogli
2 tolo tola toli polo poli gola golo goli gole bolo bola boli volo vola voli vole dolo dole dola molo ngole ngoli
1 pistola #polo #gola #gole #volo #vola #voli #suolo consola #molo tagliola
2 ano
1 iano mano umano lontano sano strano vulcano invano urbano nano grano villano sovrano veterano capitano artigiano africano americano messicano repubblicano cristiano italiano romano pagano vano #ano #piano guadano uragano divano toscano siciliano
2 vano ssano cchiano ggiano sciano mpiano #siano #diano #stiano #abbiano #possano #facciano #vogliano #sappiano #vadano
1 #divano #invano #vano
2 ido ida idi ide
1 grido #guido #guida #guide #guidi #rido #rida #nido sfida #fido #fida fidi decido #lido uccido divido
2 olito olita olite bito bita biti dito dita ospite ospiti limite limiti spirito spiriti erita meriti merito ercito tacito lecito posito recita crito erite
1 #ardito #dito #dita bandito #vestito vestiti #spedito stupito udito tradito nascita
2 nascita crescita uscita
1 #uscita #uscite
2 ere
1 avere sapere vedere potere dovere volere cadere tenere valere rimanere parere sedere piacere #bere temere godere tacere giacere suadere iere #vere #sere #nere intere sincere galere severe maniere preghiere
2 chiacchiere scrivere vivere muovere piovere essere cadavere polvere ricevere #dovere correre iscrivere chiedere
1 #dovere
2 mero mera meri pero pera peri tera bero bera beri lbero cero nero nera neri
1 #nero #nera #neri #vero #pero #pera sincero #cero #opera intera galera impero #spero #spera #sperò potera cera tastiera mistero ministero cimitero severo
2 #opera #opere #genero #genere #tenero #tenera lettera lettere camera camere suocera povero povera poveri povere dovero #estero desidero desidera desideri considera considero ritera libera libero liberi numero numeri hero
1 davvero severo
2 agine agini igine igini udine udini rdine rdini rmine rmini imine imini uomini emmine emmina onime nima nime nimo acchina acchine simo sima simi sime timo tima timi time
1 #prima #prime #primo #primi #cima #rima #stima #stime #clima marina farina cucina signorina regina erina vittorina macchinina
2 stima
1 #stima #marina
2 femmina domina nomina elimina termina #asino #asina principe principi giovane giovani indagine indagini pagina pagine mandorla lacrima lacrime lagrime giovine origine immagino immagini immagina margine vergine argine cardine decimo massimo massima minimo minima prossimo prossima intimo ottimo ottima ultimo ultima vittima vittime settimo
2 mile mili bile bili
1 #mile #bile civile civili
2 facile facili ficile ficili docile utile utili tutile inutili obile obili tile tili agile agili ssile ssili rtile
1 sottile sottili gentile gentili stile stili ostile ostili cortile maschile infantile edile sedile giovanile aprile fucile fucili
2 io ia ie ii uo ua ue ui eo ea ei ei
1 #mio #mia #mie #due #tue #sue #tuo #tua #suo #sua #zio #zia #zie #zii #dio #via #vie #sia #stia #dia #pia #pio #rio #scia #spia #spie #lui #lei #sei #dei #nei #rei #miei ei quei dea idea idee europeo corea museo trofeo altrui colui costui addio #io orei rrei vrei trei drei ncei
1 glia glio glie gli cio cia ce gio gia ge scio scia
2 ccio
1 ccio ccia cci ggio ggia ggi scia scio
2 aceo ineo inea inee
2 #fabbrica domenica
2 angelo angeli popolo popoli cavolo cavoli diavolo diavoli tavolo tavoli tavola favola isola isole singolo singola piccolo piccola regola regole simbolo simboli nuvola bambola bambole debole deboli trappola scatola scatole pericolo muscoli titolo titoli titoli articolo capitolo
2 etodo riodo isodio stomaco stomaci sindaco attimo attimi anima anime tomatico
2 scusami aiutami lasciami ascoltami guardami dimmelo dammelo donami credimi pensaci guardalo aspettami portami chiamami seguimi fammelo smettila eccola eccolo eccoli eccomi eccoci eccoti vattene andartene farcela tienilo mettilo mettiti prendila prendilo ricordati siediti sbrigati calmati fermati alzati muoviti svegliati vestiti aspetta
1 aspetta #vestiti
2 sabato undici dodici tredici quattordici quindici sedici indice complice complici semplice semplici codice codici giudice giudici vertice camice pollice
2 arabo zingaro lampada zucchero barbaro catalogo dialogo dialoghi prologo analogo naufrago epilogo interprete interpreti martire scrupolo stimolo cumulo calcolo modulo vescovo comodo incomodo accomodi accomodo occupo occupa occupi preoccupa preoccupi preoccupo atomo autobus virus album chilometri chilometro metri centimetri termometro satellite
1 #metri
2 albero alberi dollaro dollari video cinema rapido rapida umido telefono telefonami microfono cellula polizza mafia margherita indirizzo
1 indirizzo margherita
2 evita evito gabinetto anita perdita perdite vendita vendite rendita eredita visita visite debito credito subito abito abiti solito solita compito compiti gomito vomito alito domito edito
1 #domito
2 tragico orbita parlano orrido edicola fiaccola
`)

// italianStress finds the nucleus with the stress by the ending of a word.
func italianStress(word, sounds string) int {
	table := italianEndings()
	if n, ok := table["#"+word]; ok {
		return n
	}
	for i := range word {
		if n, ok := table[word[i:]]; ok {
			return n
		}
	}
	if last := word[len(word)-1]; strings.IndexByte("aeiou'", last) < 0 && len(word) > 2 {
		return 0
	}
	return 1
}

// italianSpellings are words with their accents, as dictionaries write them.
var italianSpellings = accented(`
energìa magìa strategìa bugìa bugìe allergìa nostalgìa terapìa chirurgìa emorragìa tecnologìa farmacìa polizìa pazzìa democrazìa burocrazìa malinconìa follìa gelosìa fantasìa compagnìa economìa autonomìa anatomìa astronomìa ironìa sinfonìa agonìa mania
teorìa teorìe batterìa batterìe gallerìa periferìa segreterìa allegrìa lotterìa infermerìa gioiellerìa pasticcerìa libreria trattorìa fotografìa fotografìe geografìa biografìa pornografìa filosofìa simpatìa empatìa psicologìa biologìa ideologìa geologìa psichiatrìa geometrìa anarchìa gerarchìa monarchìa poesìa poesìe ipocrisìa eresìa malattìa malattìe garanzìa codardìa dinastìa amnistìa carestìa razzìa pediatrìa energìe strategìe polizìe pazzìe follìe
addìo mormorìo pendìo leggìo oblìo
èssere sèmpre tèmpo crédo adèsso adésso détto sembra sémbra sémbrano aveva nélla nélle déssa métto métti métte mettere méttere smettere sméttere promettere prométtere prométto permettere perméttere scommettere scomméttere scomméssa ammettere amméttere commettere comméttere vède vèdi vèdo sénti séntì tètto lètto lètti lètta effètto effètti aspètto aspètta aspètti pètto rispètto sospètto sospètti perfètto perfètta dirètto dirètta difètto oggètto oggètti progètto progètti soggètto sètte nètto prète sèto pètto
ed cèrto conósco conósce conosce conóscere giórno giórni sógno sógni sola sólo sóla sóle sóli mólto mólta mólti mólte vòlta vòlte còl ottimo òttimo òttima nóme nómi dóve cóme nói vói sótto dópo dòno cuòre fuóri fuòco giòco giòchi uòmo uòmini nuòvo nuòva pròve pròva prova òrdine òrdini lòro lóro bócca córsa córso córte córto fórse fórma fórte fòrte mórto mòrto mòrte pósto pósti pósta rispósta rispóste nascósto nascósta gósto mósca tósse rósso rósse róssa óltre óltra cóntro incóntro sópra dóppio óra óre allóra ancóra finóra tesóro lavóro amóre bótte sótto rótto rótta tutto interrótto condótto prodótto ridótto
grazie famìglia prèndere pèrdere crédere lèggere chièdere rìdere crédere scégliere togliere tògliere raccògliere rispóndere nascóndere confóndere còmplice pròssimo pròssima
video dènte gènte ménte prèsto quésto bèn sènso sènza pènso pènsa pènsi pènsano sènto sènte sènti séra sére véro véra véri vére spéro spéra nero néro néra sé tré ré mé té perché finché affinché poiché benché ché
sègno légge légno régno sédia mèdia mèdio mèdico mèdici mèdica tragèdia sèrio sèria sèrie desidèrio misèria matèria crimine patèntino pièno ièri piètra dièci quésta quésti quéste quéllo quélla quégli quélle méno séno almeno alméno pièna véna pèna céna pénna tèrra guèrra fèrro bèllo bèlla bèlli bèlle capèlli cappèllo fratèllo sorèlla sorèlle stélla stélle castèllo èllo
cavallo càvolo tìzio cinema cìnema vìdeo lìnea autobus àutobus càusa pàusa àula tràuma càuse qualcùno consìglio bottìglia camion càmion
buòno buòna buòni buòne suòno uòvo uòva scuòla uòmo
èstero elicòttero desìdero desìdera rifùgio fidùcia annùncio ufficìo ufficio uffìcio uffìci
`)

// accented returns the words of a list without their accents, with them.
func accented(list string) func() map[string]string {
	plain := strings.NewReplacer("à", "a", "è", "e", "é", "e", "ì", "i", "ò", "o", "ó", "o", "ù", "u", "ê", "e", "ô", "o")
	return sync.OnceValue(func() map[string]string {
		out := map[string]string{}
		for _, w := range strings.Fields(list) {
			if bare := plain.Replace(w); bare != w {
				out[bare] = w
			}
		}
		return out
	})
}

// italianClitics are pronouns that stand behind infinitives.
var italianClitics = strings.Fields("mi ti si ci vi lo la li le ne gli melo telo celo velo glielo gliela mela sela selo")

// italianDerived reads a word as dictionaries write it, and an infinitive in -ere with a
// pronoun, which keeps its stress.
func italianDerived(l *Language, word string) string {
	if w := italianSpellings()[word]; w != "" {
		return l.settle.rewrite(l.letters.rewrite(w))
	}
	for _, c := range italianClitics {
		stem, ok := strings.CutSuffix(word, c)
		if !ok || len(stem) < 5 || !strings.HasSuffix(stem, "er") || italianStress(stem+"e", "") != 2 {
			continue
		}
		if w := italianSpellings()[stem+"e"]; w != "" {
			return l.settle.rewrite(l.letters.rewrite(strings.TrimSuffix(w, "e") + c))
		}
		said := l.mark(l.letters.rewrite(l.fold(word)), 2+strings.Count(c, "elo")+strings.Count(c, "ela"), "ˈ")
		return l.settle.rewrite(said)
	}
	return ""
}

// endings reads lines of a number and the endings it holds for; later lines overrule
// earlier ones.
func endings(lines string) func() map[string]int {
	return sync.OnceValue(func() map[string]int {
		out := map[string]int{}
		for line := range strings.Lines(lines) {
			f := strings.Fields(line)
			for _, e := range f[min(1, len(f)):] {
				out[e] = int(f[0][0] - '0')
			}
		}
		return out
	})
}
