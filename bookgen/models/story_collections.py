"""Whether a book is a collection of separate stories, by what its author has typed."""

from __future__ import annotations

import re
from functools import lru_cache

from bookgen.models.books import Book, BookKind
from bookgen.models.plays import MAX_OPENING_CHARACTERS
from bookgen.models.story_kinds import StoryKind, is_play, story_kind

# A genre such as "Short stories" is also chosen for one story, but such a book has few chapters.
MIN_LABELLED_STORIES = 3
MAX_CHARACTERS = 2_000  # of the idea

_STORIES = (
    r"(?:short[ -])?stories|(?:fairy |folk[ -]?)?tales|novellas|\w*(?:geschichten|erzählungen|märchen)|novellen|"
    r"nouvelles|récits|histoires|contes|cuentos|relatos|historias|racconti|storie|fiabe|contos|histórias|\w*verhalen|"
    r"рассказ(?:ы|ов|а)|истори(?:и|й)|повест(?:и|ей)|сказ(?:ки|ок)|оповідан(?:ня|ь)|разказа?|opowiada(?:nia|ń)|"
    r"povíd(?:ky|ek)|povied(?:ky|ok)|noveller|berättelser|historier|fort(?:e|æ)llinger|novelli?(?:t|a)|novelleja|"
    r"novellák|elbeszélés(?:ek)?|(?:öykü|hik[aâ]ye)(?:ler)?|povestiri|nuvele|povești|διηγήματα|ιστορίες|סיפורים|قصص|"
    r"कहानि(?:याँ|यां|यों)"
)
# Genres that are several stories. The words after the first line are the same for one story and for several.
_LABEL = re.compile(
    rf"\b(?:{_STORIES})\b|"
    r"short fiction|kurzprosa|短篇|短編|单篇小说|단편|truyện ngắn|cerpen|เรื่องสั้น|قصة قصيرة|लघु कथा|ছোটগল্প|சிறுகதை",
    re.IGNORECASE,
)
# Genres with such words that are no collections: "Children's stories" is a shelf in a shop.
_OTHER_STORIES = re.compile(
    r"\b(?:true|life|success|children['’]?s) stories\b|\b(?:lebens|erfolgs|kinder)geschichten\b|\bwahre\b|\bvraies\b|"
    r"\breales\b|\bvere\b|\bnouvelles? technologies\b",
    re.IGNORECASE,
)
_NAMED_COLLECTION = re.compile(
    r"stor(?:y|ies) (?:collection|anthology)|(?:collection|anthology) of (?:[\w-]+ )?(?:stories|tales)|"
    r"(?:erzähl|geschichten|novellen)(?:band|sammlung)|recueil de|(?:colección|antología|libro) de (?:cuentos|relatos)|"
    r"raccolta di racconti|(?:coletânea|coleção|livro) de contos|сборник|verhalenbundel|zbiór opowiadań|"
    r"novell(?:samling|ikokoelma)|novelláskötet|öykü kitabı|短[編篇](?:小[説说])?集|(?:小说|故事|掌編)集|단편집|소설집",
    re.IGNORECASE,
)
_NOVEL = re.compile(
    r"\bnovels?\b|\bnovela\b|\broman\b|roman\b|\bromans\b|romanzo|\bроман\b|powieść|regény|长篇|長編|長篇|장편", re.I
)

_NUMBERS = (
    r"\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|(?:half )?a dozen|several|"
    r"a handful of|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|mehrere|deux|trois|quatre|cinq|six|sept|"
    r"huit|neuf|dix|douze|plusieurs|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|varios|due|tre|quattro|"
    r"cinque|sei|sette|otto|nove|dieci|dodici|dois|duas|três|quatro|sete|oito|dez|doze|twee|drie|vijf|zes|zeven|acht|"
    r"negen|tien|twaalf|два|две|три|четыре|пять|шесть|семь|восемь|девять|десять|двенадцать|dwa|trzy|cztery|pięć|sześć|"
    r"siedem|osiem|dziesięć|två|fyra|fem|sex|sju|åtta|tio|tolv"
)
_LEAD = r"(?:this (?:book )?is|this will be|i want|i would like|please write|write|es sind|das sind|schreibe?|ce sont)"
_APART = r"(?:separate|unconnected|unrelated|stand-?alone|self-contained|independent)"
_WORDS = r"(?:[\w'’-]+[\s,]+)"
# Between a number and "stories": "five friends tell stories" is about friends.
_ADJECTIVES = (
    r"(?:(?!(?:tell|told|swap|trad|shar|exchang|writ|read|collect|hear|lov|liv|erzähl|teilen|schreib|lesen|samm|hör|"
    r"racont|écri|partag|échang|cuentan|compart|escrib|raccont|narra|condiv|contam|partilh|vertel|рассказыва)\w*\b)"
    r"[\w'’-]+[\s,]+)"
)
# Other sentences that begin so: a collection that somebody finds or has written, "three stories up".
_IS_A_THING = (
    r"(?!\s+(?:(?:is|was|are|were|has|had|by|found|left|written|published|up|high|above|below)\b|"
    r"go|turn|arriv|appear|vanish))"
)
# How an idea or a subtitle begins that describes a collection.
_ANNOUNCED = re.compile(
    rf"^\W*(?:{_LEAD}\s+)?(?:"
    rf"(?:{_NUMBERS})\s+{_ADJECTIVES}{{0,3}}?(?:{_STORIES})\b{_IS_A_THING}|"
    rf"{_WORDS}{{0,3}}?(?:collection|anthology|volume|book|set|sammlung|band|buch|recueil|colección|libro|raccolta|"
    rf"coletânea|livro|bundel|сборник|zbiór|samling) (?:of |mit |von |de |di |van |med |av )?{_WORDS}{{0,4}}?"
    rf"(?:{_STORIES})\b{_IS_A_THING}|"
    rf"(?:short stories|{_APART},? {_WORDS}{{0,2}}?(?:stories|tales)|kurzgeschichten)\b{_IS_A_THING}|"
    r"(?:这是|這是)?(?:一[部本])?\S{0,4}?(?:短篇(?:小[说說])?|故事|小[说說])集|"
    r"\S{0,4}?[二两兩三四五六七八九十几幾数數\d]+[个個篇则則部]\S{0,8}?(?:故事|小[说說]|短篇)|"
    r"\S{0,8}?[二三四五六七八九十\d]+(?:つの|編の|篇の|本の|話の|の)?\S{0,8}?(?:短編|短篇|物語|話)|"
    r"[^。]{0,30}?短[編篇](?:小説)?集(?:です|である)?(?:。|$)|"
    r"\S{0,8}?(?:\d+|두|세|네|다섯|여섯|일곱|여덟|아홉|열)\s?(?:개|편)의 (?:\S{1,8} ){0,3}?(?:이야기|단편)|단편집)",
    re.IGNORECASE,
)
# How an idea begins that describes one story.
_ONE_STORY = re.compile(
    rf"^\W*(?:{_LEAD}\s+)?(?:"
    r"(?:a|an|one|the) (?:[\w'’-]+ ){0,3}?(?:story|tale|novel|novella)\b(?! collection)|"
    r"(?:eine?|die|der) (?:\w+ ){0,2}?(?:geschichte|erzählung|novelle|roman)\b|une? (?:histoire|roman|nouvelle)\b|"
    r"una? (?:historia|novela|relato|cuento|storia|romanzo|racconto)\b|uma? (?:história|romance|conto)\b|"
    r"история\b|roman\b|роман\b|一[个個篇部](?:短篇|故事|小[说說])|ある?\S{0,6}の物語)",
    re.IGNORECASE,
)
_CHAPTER_IS_A_STORY = re.compile(
    rf"\b(?:each|every) chapter,? (?:is |tells |being )?(?:a|an|one) {_WORDS}{{0,3}}?(?:story|tale)\b|"
    r"\bjedes kapitel (?:ist |erzählt )?eine (?:\w+ ){0,2}?geschichte\b|"
    r"\bchaque chapitre (?:est |raconte )?une (?:\w+ )?(?:histoire|nouvelle)\b|"
    r"\bcada capítulo (?:es |é )?(?:un|uma?|una) (?:\w+ )?(?:cuento|historia|conto|história|relato)\b",
    re.IGNORECASE,
)

# Stories that belong together: the same people, or one development.
_LINKED = (
    r"\b(?:(?:inter|cross-)?linked|(?:inter)?connected|interlocking|interwoven|intertwin\w*|intersect\w*|overlap\w*|"
    r"converg\w*|alternat\w*|recurring (?:characters?|cast|hero|heroine)|com(?:e|es|ing) together|"
    r"same (?:characters?|cast|people|hero|heroine|detective|inspector|narrator|family|protagonist)|"
    r"(?:story|novel|narrative)[- ](?:cycle|sequence)|cycle of|novel[- ]in[- ]\w*[- ]?stories|"
    r"(?:composite|mosaic) novel|frame (?:story|narrative)|(?:cases|adventures) of|"
    r"(?:miteinander )?(?:verbunden|verknüpft|verwoben|verflochten|verschränkt)\w*|zusammenhängend\w*|episodenroman|"
    r"\w*zyklus|rahmen(?:handlung|erzählung)|(?:fälle|abenteuer) (?:der|des|von)|"
    r"d(?:ie|er)selben? (?:figuren|personen|leute|familie|held|heldin|kommissar\w*|ermittler\w*)|"
    r"liée?s|entrelacée?s|entrecroisée?s|récit-cadre|mêmes (?:personnages|héros)|roman (?:par|en) nouvelles|cycle de|"
    r"(?:inter)?conectad[oa]s|enlazad[oa]s|entrelazad[oa]s|vinculad[oa]s|interligad[oa]s|entrelaçad[oa]s|ciclo d[ei]|"
    r"mism[oa]s personajes|mesm[oa]s personagens|intrecciat[ei]|collegat[ei]|stessi personaggi|"
    r"связанн\w*|переплета\w*|переплет[её]нн\w*|цикл\w*|verweven|raamvertelling|\w*cyclus|powiązan\w*|cykl\w*|"
    r"sammanlänkade|sammanhängande|novellcykel)\b|"
    r"連作|連続短[編篇]|连作|系列短篇|(?<![不无無有])(?:相互|互相)?(?:关联|關聯|串联|串聯)|연작"
)
_NOT = r"(?:\b(?:not|never|nicht|kaum|pas|no|non|não|niet|не|nie|inte|ohne|sans|sin|senza|без)\s+(?:\w+\s+){0,2})"
_LINKS = re.compile(rf"({_NOT})?(?:{_LINKED})", re.IGNORECASE)
# Such stories have only a subject or a place in common.
_BY_SUBJECT = re.compile(
    rf"\b(?:linked|connected|liée?s|unid[oa]s|conectad[oa]s) (?:\w+ )?(?:by|par|por) {_WORDS}{{0,3}}?"
    r"(?:themes?|subject|motif|place|setting|mood|idea|thème|sujet|lieu|tema|lugar)\b|"
    rf"\bdurch {_WORDS}{{0,3}}?(?:thema|motiv|ort|stimmung) (?:\w+ )?(?:miteinander )?(?:verbunden|verknüpft)\b",
    re.IGNORECASE,
)


def has_separate_stories(book: Book) -> bool:
    """Whether each chapter of the book is a story of its own, with its own people and its own ending.

    The genre, the subtitle or the beginning of the idea must say so. Stories that are linked, and novels whatever they
    are about, do not count. Plays, memoirs, non-fiction, verse and picture books do not either.
    """
    if book.kind is not BookKind.PROSE or book.chapter_count < 2:
        return False
    if story_kind(book) not in ("", StoryKind.FICTION, StoryKind.CHILDREN) or is_play(book):
        return False
    told = book.subtitle, book.description[:MAX_CHARACTERS], book.style_notes[:MAX_CHARACTERS]
    return _are_separate(book.genre, *told, has_many=book.chapter_count >= MIN_LABELLED_STORIES)


@lru_cache(maxsize=256)  # a prompt asks this a dozen times, at 1.4 ms each
def _are_separate(genre: str, subtitle: str, idea: str, style: str, *, has_many: bool) -> bool:
    """Whether these texts announce separate stories. `has_many`: enough for the genre to say so."""
    if _NOVEL.search(genre) or _OTHER_STORIES.search(genre) or _is_linked("\n".join((genre, subtitle, idea, style))):
        return False
    opening = idea[:MAX_OPENING_CHARACTERS]
    if _ANNOUNCED.match(opening) or _ANNOUNCED.match(subtitle) or _NAMED_COLLECTION.search(genre):
        return True
    if _ONE_STORY.match(opening):
        return False
    return _CHAPTER_IS_A_STORY.search(idea) is not None or (has_many and _LABEL.search(genre) is not None)


def _is_linked(text: str) -> bool:
    """Whether a text says that the stories have people or a plot in common."""
    return any(found[1] is None for found in _LINKS.finditer(_BY_SUBJECT.sub(" ", text)))
