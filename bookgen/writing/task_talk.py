"""Recognise lines in which a model speaks about its task: announcements before the text, questions after it.

The whole line must match, and it must name the task (the chapter, the continuation, a word count, a change to be made).
The first word proves nothing: "Of course the chapter of the brotherhood had an opinion:" is a story.
"""

from __future__ import annotations

import re

MAX_LINE_CHARACTERS = 240  # a longer line is a paragraph of text

_NUMBER = (
    r"(?:\d+|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|eins|zwei|drei|vier|fünf|sechs|"
    r"un|une|deux|trois|quatre|cinq|uno|una|dos|tres|cuatro|cinco)"
)
_INTERJECTIONS = (
    r"(?:(?:sure(?: thing)?|certainly|of course|absolutely|okay|ok|understood|got it|great|gladly|happy to help|"
    r"thank you|thanks|natürlich|gerne?|klar|selbstverständlich|bien sûr|avec plaisir|d['’]accord|claro(?: que sí)?|"
    r"por supuesto|con gusto|certo|certamente|volentieri|com certeza|natuurlijk|graag|zeker|oczywiście|jasne|"
    r"конечно|хорошо)\s*[!.,:—–-]+\s*)*"
)

# English: "here is" + "the revised chapter 3 of the book" + "as requested".
_PRESENTS = (
    r"(?:here(?:['’]s| is| are)|below is|below you(?:['’]ll| will) find|i(?:['’]ve| have) (?:written|drafted|revised|"
    r"rewritten|continued|expanded)|(?:let me|i(?:['’]ll| will)(?: now)?) (?:continue|proceed|write)(?: with)?|"
    r"continuing(?: with)?) (?:(?:the|your|a|an|my|this) )?"
)
_ADJECTIVES = (
    r"(?:(?:complete|full|finished|final|revised|rewritten|requested|updated|improved|expanded|new|next|first|second|"
    r"third|opening|closing|entire|whole|last) )*"
)
_OF_THE_BOOK = (
    rf"(?: (?:of|for|from|to) (?:the |this |your )?(?:chapter|story|book|novel|manuscript|part|section)"
    rf"(?: {_NUMBER})?(?:[:,–— -]+[“\"*_‘'][^\n]{{1,80}}[”\"*_’'])?)"
)
_AS_ASKED = (
    r"(?:,? (?:as (?:you )?(?:requested|asked|instructed|specified)|as per [^\n]{1,60}|per your [^\n]{1,60}|"
    r"(?:that )?you (?:asked|requested)[^\n]{0,60}|based on (?:the|your) [^\n]{1,80}|"
    r"following (?:the|your) (?:outline|instructions|brief|summary)[^\n]{0,60}|with [^\n]{1,80} as (?:you )?"
    r"(?:requested|asked)|(?:in|at) (?:about |around |approximately )?[\d,]+ words))"
)
_CERTAIN_PIECE = (
    rf"(?:chapter(?: {_NUMBER}(?:\s?[:–—]\s?[“\"*_‘']?[^\n:]{{1,80}})?)?|continuation|(?:re)?draft|rewrite|revision|"
    rf"(?:part|section) {_NUMBER}(?: of {_NUMBER})?|rest of (?:the|this|your) (?:chapter|part|section|story))"
)
_LOOSE_PIECE = r"(?:part|section|passage|scene|instal+ment|version|text)"
_ENGLISH = (
    rf"{_PRESENTS}{_ADJECTIVES}(?:{_CERTAIN_PIECE}{_OF_THE_BOOK}?{_AS_ASKED}*|"
    rf"{_LOOSE_PIECE}(?:{_OF_THE_BOOK}{_AS_ASKED}*|{_AS_ASKED}+))"
)
_OTHERS = (
    # German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian
    rf"hier (?:ist|folgt|kommt) (?:(?:das|der|die|ihr|dein|deine|ihre) )?(?:(?:vollständige|überarbeitete|nächste|neue|"
    rf"erste|letzte)[nrs]? )*(?:kapitel(?: {_NUMBER})?|fortsetzung|(?:teil|abschnitt) {_NUMBER}|"
    rf"(?:teil|abschnitt|fassung|text) des kapitels)(?: des (?:kapitels|buches|romans)| {_NUMBER})?"
    rf"(?:,? wie (?:gewünscht|besprochen|verlangt))?",
    rf"voici (?:(?:le|la|votre|ton) )?(?:(?:prochain|nouveau|nouvelle|prochaine) )?(?:chapitre(?: {_NUMBER}| suivant)?|"
    rf"suite|partie {_NUMBER})(?: (?:du chapitre|de l['’]histoire|du roman|du livre))?(?:,? comme demandé)?",
    rf"aquí (?:está|tienes|va|tiene) (?:(?:el|la|tu|su) )?(?:(?:próximo|siguiente|nuevo) )?(?:capítulo(?: {_NUMBER}| "
    rf"siguiente)?|continuación|parte {_NUMBER})(?: (?:del capítulo|de la historia|de la novela|del libro))?"
    rf"(?:,? como (?:pediste|solicitaste))?",
    rf"ecco (?:(?:il|la|l['’]) ?)?(?:(?:prossimo|nuovo) )?(?:capitolo(?: {_NUMBER})?|seguito|continuazione|"
    rf"parte {_NUMBER})(?: (?:del capitolo|della storia|del libro))?(?:,? come richiesto)?",
    rf"aqui está (?:(?:o|a) )?(?:(?:próximo|novo) )?(?:capítulo(?: {_NUMBER})?|continuação|parte {_NUMBER})"
    rf"(?: (?:do capítulo|da história|do livro))?(?:,? como (?:pedido|solicitado))?",
    rf"hier is (?:(?:het|de) )?(?:(?:volgende|nieuwe) )?(?:hoofdstuk(?: {_NUMBER})?|vervolg|deel {_NUMBER})"
    rf"(?: van het (?:hoofdstuk|verhaal|boek))?(?:,? zoals gevraagd)?",
    rf"oto (?:(?:kolejny|następny|nowy) )?(?:rozdział(?: {_NUMBER})?|ciąg dalszy|część {_NUMBER})(?: rozdziału)?",
    rf"вот (?:(?:следующая|новая) )?(?:глава(?: {_NUMBER})?|продолжение|часть {_NUMBER})(?: (?:главы|истории|книги))?",
)
_EAST_ASIAN = (
    r"(?:(?:当然|好的)[，,。！! ]*)?(?:以下是|下面是|这是)(?:本章|第.{1,4}[章部]|续写|下一部分|本章续写)"
    r"(?:的?(?:全文|正文|内容|完整内容|续写|续文))?",
    r"(?:(?:はい|もちろんです|もちろん|承知しました)[、。！! ]*)?(?:以下は|以下が|こちらは|こちらが)第.{1,4}章"
    r"(?:の(?:続き|本文))?(?:です|になります)?",
)
_ANNOUNCEMENT = re.compile(
    rf"(?:{_INTERJECTIONS}(?:{'|'.join((_ENGLISH, *_OTHERS))})|{'|'.join(_EAST_ASIAN)})\s*[.:!…：。！]*", re.IGNORECASE
)

_CHANGE = r"(?:changes?|adjustments?|revisions?|edits?|tweaks?|modifications?|corrections?)"
_WRITE_ON = r"(?:continue|proceed|write|revise|adjust|expand|rewrite|draft|move on|go on|carry on)"
_NEXT_PIECE = (
    rf"(?:with |to |on to |on )?(?:(?:the|this|a) )?(?:(?:next|following|whole|rest of the) )?"
    rf"(?:chapter|part|section|scene)(?: {_NUMBER})?(?: of the (?:chapter|story|book|novel))?"
)
_YOU_LIKE = r"you(?:['’]d| would)? (?:like|want|need|have|wish|prefer)"
_ANY_CHANGE = (
    rf"(?:{_YOU_LIKE}|there are) (?:to (?:see|make) )?(?:(?:any|some|more|further|other) )*{_CHANGE}"
    rf"(?: (?:to|in) (?:the|this) (?:chapter|part|section|scene|draft))?"
)
_QUESTIONS = (
    rf"(?:please )?(?:feel free to )?let me know (?:if|whether|what|which) (?:{_ANY_CHANGE}|{_YOU_LIKE} "
    rf"(?:me to {_WRITE_ON}(?: {_NEXT_PIECE})?|{_NEXT_PIECE}))(?:,? or [^\n]{{1,60}})?",
    rf"(?:please )?feel free to (?:ask for|request|suggest) [^\n]{{0,40}}\b{_CHANGE}\b[^\n]{{0,60}}",
    rf"(?:would you like me to|do you want me to|shall i|should i) (?:now )?{_WRITE_ON} {_NEXT_PIECE}"
    rf"(?:,? or [^\n]{{1,80}})?\?",
    r"i hope (?:this|the) (?:chapter|part|section|passage|version|draft|rewrite|revision) (?:meets|fits|captures what|"
    r"works for|is what you)[^\n]{0,80}",
)
_END_MARKS = (
    rf"(?:the )?end of (?:the |this )?chapter(?: {_NUMBER})?|ende (?:des kapitels|von kapitel)(?: {_NUMBER})?|"
    rf"fin du chapitre(?: {_NUMBER})?|fin del capítulo(?: {_NUMBER})?|fine del capitolo(?: {_NUMBER})?|"
    r"(?:本章|第.{1,4}章)(?:完|结束|結束|终|終)",
    r"part \d+ of \d+",
    r"(?:total |approximate |current |final )?word ?count(?: so far)?\s*[:=–—-]\s*"
    r"(?:approximately |approx\. |about |around |roughly |[~≈] ?)?\d[\d.,]*(?: words)?",
)
_BRACKETED = (
    rf"(?:the )?end of (?:the |this )?(?:part|section)(?: {_NUMBER})?|ende (?:des|von) (?:teils?|abschnitts?)"
    rf"(?: {_NUMBER})?|fin de la (?:partie|parte|section)(?: {_NUMBER})?|words?\s*[:=]\s*~?\d[^\n]{{0,40}}|"
    r"(?:about |approximately |approx\. |[~≈] ?)?\d[\d,.]* words|(?:未完)?待续"
)
_POSTSCRIPT = re.compile(
    rf"[*_#]*[\[(（【]\s*(?:{_BRACKETED})\s*[.!。]?\s*[\])）】][*_]*|"
    rf"[\[(（【*_#\s]*(?:{'|'.join((*_QUESTIONS, *_END_MARKS))})\s*[.!。]?[\])）】*_\s]*",
    re.IGNORECASE,
)


def announces(line: str) -> bool:
    """Whether the whole line only announces the requested text."""
    line = line.strip().strip("*_").strip()
    return len(line) <= MAX_LINE_CHARACTERS and bool(_ANNOUNCEMENT.fullmatch(line))


def closes(line: str) -> bool:
    """Whether the whole line only marks the end of the text, gives its length, or offers to change it."""
    line = line.strip()
    return len(line) <= MAX_LINE_CHARACTERS and bool(_POSTSCRIPT.fullmatch(line))
