package g2p

import "strings"

// A kind of abbreviation says where it is one.
type abbreviationKind int

const (
	beforeName abbreviationKind = iota // its stop never ends a sentence
	counted                            // before a number
	street                             // behind a name
	state                              // behind a comma
	ofWhat                             // behind "of"
	anywhere                           // where a full stop follows
)

type abbreviation struct {
	full string
	kind abbreviationKind
}

// abbreviations are said in full where a full stop follows, by their small letters.
var abbreviations = func() map[string][]abbreviation {
	out := map[string][]abbreviation{}
	for kind, list := range [...]string{
		beforeName: `mr Mister, mrs Missus, ms Miz, dr Doctor, prof Professor, st Saint, gen General, sen Senator, rep Representative, gov Governor, capt Captain, cpt Captain, pfc Private First Class, sens Senators, reps Representatives, profs Professors, drs Doctors, govs Governors, mme Madame, mlle Mademoiselle, rt Right, lt Lieutenant, col Colonel,
			sgt Sergeant, ofc Officer, cpl Corporal, pvt Private, maj Major, cmdr Commander, adm Admiral, pres President, supt Superintendent, asst Assistant, mgr Manager, asso Associate, secy Secretary, treas Treasurer, cmdt Commandant, brig Brigadier, cdr Commander, det Detective, insp Inspector, amb Ambassador, rev Reverend, hon Honorable, fr Father, msgr Monsignor, mt Mount, ft Fort`,
		counted: `p page, pp pages, no number, nos numbers, vol volume, vols volumes, ch chapter, chap chapter, fig figure, figs figures, eq equation, eqs equations, sec section, secs sections, art article, iss issue, tit title, gr Grade, plat platform,
			ext extension, ref reference, refs references, s section, ss sections, mvt movement, inv invoice, wt weight, ht height, dep departs, arr arrives, mm measures, ex exhibit, exh exhibit, sched schedule, reg regulation, par paragraph, c circa, ca circa, min minimum, max maximum, est established, app appendix, ver version, hwy Highway, apt Apartment, ste Suite, bldg Building, op opus, v verse, vv verses, l line, ll lines, fl floor, pt part, pts parts, para paragraph, paras paragraphs, bk book, bks books, ser series, rm Room, flt flight, rte Route, rt Route, cat Category, cl clause, lat latitude, elev elevation, alt altitude, pop population, fn footnote, blk block, sc scene, tab table, vis visibility, ep episode, eps episodes,
			gen Genesis, exod Exodus, lev Leviticus, deut Deuteronomy, josh Joshua, judg Judges, sam Samuel, kgs Kings, chr Chronicles, chron Chronicles, neh Nehemiah, eccl Ecclesiastes, jer Jeremiah, ezek Ezekiel, dan Daniel, zech Zechariah, mal Malachi, thess Thessalonians, tim Timothy, jas James, pet Peter, ps Psalm, prov Proverbs, isa Isaiah, matt Matthew, rom Romans, cor Corinthians, gal Galatians, eph Ephesians, phil Philippians, heb Hebrews, rev Revelation`,
		street: `st Street, ave Avenue, av Avenue, blvd Boulevard, rd Road, dr Drive, ln Lane, ct Court, pl Place, sq Square, pkwy Parkway, hwy Highway, ter Terrace, terr Terrace, cir Circle, cres Crescent, expy Expressway, fwy Freeway, tpke Turnpike, hts Heights, plz Plaza, trl Trail, bldg Building, aly Alley, bch Beach`,
		ofWhat: `ed Education, agric Agriculture, sci Science, tech Technology, econ Economics, med Medicine, comm Commerce`,
		anywhere: `jr Junior, sr Senior, esq Esquire, etc et cetera, vs versus, approx approximately, dept department, inc Incorporated, ltd Limited, corp Corporation, co Company, bros Brothers, assn Association,
			vol volume, equiv equivalents, yr year, pct percent, wk week, univ University, govt government, tel telephone, al al, cf compare, viz namely, misc miscellaneous, pls please, cont continued, mfg Manufacturing, doz dozen, attn attention, utd United, util utilities, utils utilities, conf conference, accts accounts, srs seniors, apt apartment, svc service, svcs services, avail available, nts nights, bkfst breakfast, mkt market, mkts markets, mktg Marketing, bdrm bedroom, wknds weekends, sta Station, trk track, grp group, pgs pages, repr reprinted, poss possible, serv serving, wt weight, ht height, pred predicted, ctn carton, ctns cartons, exp expires, addr address, msg message, msgs messages, agg aggregate, nr near, mgmt management, orig original, prev previous, req required, wknd weekend, stmt statement, pymt payment, pymts payments, bal balance, chg change, rcvd received, recd received, opp opposite, hols holidays, conc concession, concs concessions, mvt movement, pkt packet, pkts packets, btl bottle, btls bottles, bdrm bedroom, bdrms bedrooms, ofc office, hqtrs headquarters, lic license, dir director, sched schedule, dwg drawing, dwgs drawings, incl including, excl excluding, max maximum, avg average, temp temperature, hwy Highway, blvd Boulevard, ave Avenue, est established, ed editor, eds editors, asst Assistant, mgr Manager, intl International, natl National, acct account, amt amount, qty quantity, hosp Hospital, ret retired, pkg package, pkgs packages, lg large, ea each, appt appointment, appts appointments, mtg meeting, bldgs buildings, inst Institute, assoc Association, bldg Building, mtn Mountain, mts Mountains, dist District, div Division, exec Executive, min minimum,
			jan January, feb February, mar March, apr April, jun June, jul July, aug August, sept September, sep September, oct October, nov November, dec December,
			mon Monday, tue Tuesday, tues Tuesday, wed Wednesday, weds Wednesday, thu Thursday, thur Thursday, thurs Thursday, fri Friday, sat Saturday, sun Sunday, e.g for example, s.t such that, i.e that is, a.k.a also known as, p.s P S`,
		state: `ala Alabama, ariz Arizona, ark Arkansas, calif California, colo Colorado, conn Connecticut, del Delaware, fla Florida, ga Georgia, ill Illinois, ind Indiana, kan Kansas, ky Kentucky, la Louisiana,
			md Maryland, mass Massachusetts, mich Michigan, minn Minnesota, miss Mississippi, mo Missouri, mont Montana, neb Nebraska, nev Nevada, okla Oklahoma, ore Oregon, pa Pennsylvania, penn Pennsylvania, tenn Tennessee, tex Texas, va Virginia, vt Vermont, wash Washington, wis Wisconsin, wyo Wyoming`,
	} {
		for entry := range strings.SplitSeq(list, ",") {
			short, full, _ := strings.Cut(strings.TrimSpace(entry), " ")
			out[short] = append(out[short], abbreviation{full, abbreviationKind(kind)})
		}
	}
	return out
}()

// unstopped are abbreviations said in full without a full stop too.
var unstopped = map[string]string{"vs": "versus", "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Dr": "Doctor", "etc": "et cetera", "Jr": "Junior", "Sr": "Senior", "pp": "pages", "approx": "approximately", "aka": "also known as", "AKA": "also known as", "WWI": "World War one", "WWII": "World War two", "Attn": "attention", "Pls": "please", "pls": "please", "plz": "please", "Thx": "thanks", "thx": "thanks", "Mtg": "meeting", "mtg": "meeting", "Appt": "appointment", "appt": "appointment", "YoY": "year over year", "QoQ": "quarter over quarter", "MoM": "month over month", "Cc": "!CC", "cc": "!CC", "Bcc": "!BCC", "hwy": "highway", "hrs": "hours", "acre-ft": "acre feet", "ur": "your", "lmk": "!LMK", "smth": "something", "omw": "on my way", "idc": "!IDC", "irl": "!IRL", "icymi": "!ICYMI", "iykyk": "!IYKYK", "ootd": "!OOTD", "mkt": "market", "btwn": "between", "sz": "size", "Bldg": "Building", "sqrt": "square root", "cc'd": "!CCD", "mktg": "marketing", "wknds": "weekends", "Wk": "week", "wk": "week", "pgs": "pages", "bdrm": "bedroom", "Bdrm": "bedroom", "Tue": "Tuesday", "Thu": "Thursday", "pKa": "!PKA", "Esc": "escape", "PgUp": "page up", "PgDn": "page down", "PrtSc": "print screen", "doi": "!DOI", "Fri": "Friday", "rn": "right now", "Tues": "Tuesday", "Thurs": "Thursday", "Thur": "Thursday", "Weds": "Wednesday", "Feb": "February", "Apr": "April", "Aug": "August", "Sept": "September", "Oct": "October", "Nov": "November", "Dec": "December", "omg": "!OMG", "wyd": "!WYD", "tmrw": "tomorrow", "tmr": "tomorrow", "bday": "birthday", "BDAY": "birthday", "ppl": "people", "cli": "!CLI", "idk": "!IDK", "ttyl": "!TTYL", "TTYL": "!TTYL", "imo": "!IMO", "imho": "!IMHO", "iirc": "!IIRC", "afaik": "!AFAIK", "afk": "!AFK", "Ctrl": "control", "ctrl": "control", "FTSE": "footsie", "Qty": "quantity", "qty": "quantity", "RWY": "runway", "Rwy": "runway", "svc": "service", "msg": "message", "msgs": "messages", "Msg": "message", "Msgs": "messages", "pkg": "package", "pkgs": "packages", "wknd": "weekend", "bkfst": "breakfast", "mgmt": "management", "apts": "apartments", "aq": "aqueous", "Utd": "United", "Cmd": "command"}

// words that may also be said as they stand, with a small letter: not at a
// sentence's end.
var ordinary = set(`no sun sat mar wed mon sta exp fri sec art app max min c v l p est ed co al sen gen col rep mt ft hon rev ill mass miss wash ore ind pa ma la mo del fig par op pres temp jan jun adm det min inst exec div dist apt bal orig opp prev req s ss ref refs inv lic dir conc sched hols tab conf`)

// shortened are those of ordinary that a small letter behind the stop tells from the words.
var shortened = set(`temp exec inst dist apt bal orig opp prev req conf`)

// journals are words of names of journals, as references cut them short.
var journals = map[string]string{"J": "Journal", "Am": "American", "Chem": "Chemical", "Soc": "Society", "Phys": "Physical", "Rev": "Review", "Lett": "Letters", "Biol": "Biology", "Med": "Medicine", "Nat": "Nature", "Proc": "Proceedings", "Natl": "National", "Acad": "Academy",
	"Sci": "Science", "Eng": "Engineering", "Res": "Research", "Int": "International", "Ann": "Annals", "Bull": "Bulletin", "Math": "Mathematics", "Clin": "Clinical", "Engl": "England", "Psychol": "Psychology", "Econ": "Economics", "Trans": "Transactions", "Comput": "Computer", "Appl": "Applied", "Env": "Environmental", "Q": "Quarterly"}

// journalAhead is the rest of the name of a journal and its volume or year.
var journalAhead = lazy(`^(?:(?:U\.S\.A\.|[A-Z][A-Za-z]{0,7}\.) ){0,5}(?:\d{1,4}\b|\()`)

// journal reports whether w, with next behind its stop, is a word of the name of a journal: another
// stands next to it, and a number behind the last.
func (s *scanner) journal(w, next string) bool {
	if journals[w] == "" || !journalAhead().MatchString(next) {
		return false
	}
	head := next[:wordLen(next)]
	return journals[head] != "" && strings.HasPrefix(next[len(head):], ".") || journals[strings.TrimSuffix(s.lastSource(), ".")] != ""
}

// over are the times a change is measured over.
var over = map[string]string{"y": "year", "q": "quarter", "m": "month", "w": "week", "d": "day"}

// perWords are words behind which min. is a minute; numberedThings have numbers.
var (
	perWords       = set("a per each one every")
	spans          = set("sec min hr wk mo yr")
	numberedThings = set("telephone phone account serial model part item order invoice reference ref policy flight room case lot batch tracking claim ticket confirmation id")
	taken          = set("qd po bid tid daily every take takes took taking taken give dispense of")
	dose           = map[string]string{"tab": "tablet", "tabs": "tablet", "cap": "capsule", "caps": "capsule"}
	sizes          = map[string]string{"med": "medium", "lg": "large", "lrg": "large", "sm": "small"}
	behindOrdinals = map[string]string{"c": "century", "cent": "century", "fl": "floor", "flr": "floor", "edn": "edition", "rd": "round", "qtr": "quarter", "pl": "place", "gr": "grade", "yr": "year", "dist": "District", "amend": "Amendment", "bn": "Battalion", "brig": "Brigade", "ed": "edition", "gen": "generation", "anniv": "anniversary", "div": "division", "cav": "Cavalry", "inf": "Infantry", "regt": "Regiment", "cir": "Circuit"}
)

// works are kinds of music, before a number.
var works = map[string]string{"Sym": "Symphony", "Symph": "Symphony", "Conc": "Concerto", "Son": "Sonata"}

// lone are units that an article stands before as before a word.
var lone = set("lb oz tsp tbsp gal qt yd km cm kg hr min sec")

// priced are abbreviations before a sum of money, too.
var priced = set("exp orig reg min max est ca bal temp")

// numberedToo are abbreviations before a number that are written without a stop too.
var numberedToo = map[string]string{"Apt": "apartment", "Ste": "suite", "Fig": "figure", "Figs": "figures", "Vol": "volume", "Vols": "volumes", "Ch": "chapter", "Rm": "room", "Bldg": "building", "Hwy": "highway", "Rte": "route", "Pt": "part", "Sec": "section", "Eq": "equation", "Op": "opus", "Nos": "numbers", "Flt": "flight", "Ct": "court", "wt": "weight", "ht": "height", "para": "paragraph", "paras": "paragraphs", "Ext": "extension", "ext": "extension", "Tel": "telephone"}

// labelNames are abbreviations before a colon.
var labelNames = map[string]string{"hrs": "hours", "tel": "telephone", "wt": "weight", "ht": "height", "amt": "amount", "acct": "account", "addr": "address", "dept": "department", "appt": "appointment", "qty": "quantity", "mgr": "manager", "desc": "description", "ext": "extension", "sched": "schedule", "bal": "balance", "temp": "temperature"}

// shares are units of what makes up a mixture, before a percent sign.
var shares = map[string]string{"wt": "weight", "vol": "volume", "mol": "mole"}

// ends are those of streets, written without a stop too.
var ends = map[string]string{"St": "Street", "Ave": "Avenue", "Rd": "Road", "Blvd": "Boulevard", "Ln": "Lane", "Pkwy": "Parkway", "Hwy": "Highway", "Ct": "Court", "Pl": "Place", "Sq": "Square"}
