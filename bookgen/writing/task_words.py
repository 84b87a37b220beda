"""Whether a paragraph is a model's word to its user, and whether a reply is a refusal: told by several signs together.

No single sign proves it: a narrator may say "I have written this chapter". The result is only ever a finding, or the
reason to ask again for a reply that is far too short.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bookgen.writing.forms import has_speech

MAX_CHARACTERS = 420  # of a paragraph: a model's word to its user is short
MIN_SIGNS = 5
REFUSAL_OPENING_CHARACTERS = 260  # of a reply, in which a refusal says so

_INTERJECTION = re.compile(
    r"^(?:(?:sure(?: thing)?|certainly|of course|absolutely|okay|ok|understood|got it|great|thank you[^.!:]{0,60}|thanks|"
    r"natürlich|gerne?|selbstverständlich|bien sûr|avec plaisir|d['’]accord|claro(?: que sí)?|por supuesto|con gusto|"
    r"certo|certamente|volentieri|com certeza|natuurlijk|graag|oczywiście|jasne|конечно|хорошо|självklart|javisst|"
    r"selvfølgelig|naturligvis|elbette|jistě|好的|当然|はい|もちろん|네|물론)\s*[!.,:，。！、—–-]+\s*)+",
    re.IGNORECASE,
)
# A model presents its text, speaks of what it did, or offers to do something.
_PRESENTS = (
    r"here(?:['’]s| is| are| it is)|below (?:is|you)|this is (?:my|the complete|the full|the requested)|as (?:you )?request|"
    r"per your|continu(?:ing|ed|es) (?:from|in|with)|to be continued in|note:|author['’]s note|"
    r"hier (?:ist|folgt|kommt)|nachfolgend|im folgenden|wie gewünscht|anmerkung:|"
    r"voici|ci-dessous|comme demandé|aquí (?:está|tienes|va)|a continuación|como pediste|ecco|di seguito|come richiesto|"
    r"aqui está|segue|a seguir|como pedido|hier is|hieronder|zoals gevraagd|oto|poniżej|zgodnie z|вот|ниже|"
    r"här (?:är|kommer|följer)|nedan|her (?:er|kommer|følger)|işte|zde je|níže|以下是|下面是|这是|以下は|以下が|다음은"
)
_WORKS = (
    r"(?:i['’]ve|i have|i['’]ll|i will|i tried to|let me|i) (?:now )?(?:writ(?:e|ten)|wrote|draft|kept|keep|follow|expand|"
    r"continu|pick(?:ed)? up|proceed|revis|adjust|stay|aim|includ)\w*|"
    r"ich (?:habe|schreibe|werde|setze)|j['’]ai (?:écrit|rédigé|suivi|gardé)|je (?:vais|continue)|he (?:escrito|redactado|"
    r"seguido)|voy a|ho (?:scritto|seguito|mantenuto)|escrevi|segui|vou|ik heb|ik zal|napisał[ae]m|я (?:написал|продолж)|"
    r"jag har|jeg har|我(?:已|会|将)|书きました|続けます"
)
_OFFERS = (
    r"let me know|please (?:let|tell)|tell me (?:if|whether)|would you like|do you want me|shall i|should i|feel free|i hope (?:this|the)|"
    r"if you(?:['’]d| would) (?:like|prefer)|lassen sie mich|sag(?:en sie)? mir|möchten sie|möchtest du|soll ich|"
    r"n['’]hésitez pas|dites-moi|souhaitez-vous|voulez-vous|avís[ae]me|dime si|¿(?:quieres|desea|te gustaría)|fammi sapere|"
    r"mi faccia sapere|vuoi che|desideri|me avise|diga-me|gostaria|quer que|laat (?:het )?me weten|wilt u|wil je|"
    r"daj(?:cie)? znać|czy chcesz|дайте знать|сообщите|хотите|låt mig veta|vill du|lad mig vide|vil du|请告诉我|如果您|"
    r"お知らせください|알려"
)
_CUE = re.compile(rf"^(?:{_PRESENTS}|{_WORKS}|{_OFFERS})", re.IGNORECASE)
_STRONG_CUE = re.compile(rf"^(?:{_WORKS}|{_OFFERS})", re.IGNORECASE)
_BOOK_PIECE = (
    r"\b(?:chapter|kapitels?|chapitre|cap[ií]tulo|capitolo|hoofdstuk|rozdział\w*|глав[аеуы]|kapitl?et|bölüm\w*)\b"
    r"(?! (?:of|der|des|de la|del|de los|da|do|della|van de) (?!(?:the |this |your |your own )?(?:book|story|novel|manuscript|"
    r"buch|roman|livre|libro|livro|romanzo|boek)))|第.{1,4}章|本章|这一章|この章|장"
)
_TASK = (
    re.compile(_BOOK_PIECE, re.IGNORECASE),
    re.compile(
        r"\b(?:outline|word ?count|style notes?|drafts?|continuation|rewrite|target (?:length|word)|full text|"
        r"(?:part|section) (?:\d+|one|two|three|four)|next (?:chapter|part|section|scene)|scene (?:continues|\d)|"
        r"fortsetzung|gliederung|wortzahl|vorgaben|entwurf|länge|vollständige text|suite|plan|nombre de mots|longueur|"
        r"texte complet|continuación|esquema|extensión|texto completo|continuazione|scaletta|lunghezza|continuação|"
        r"esboço|tamanho|vervolg|lengte|ciąg dalszy|продолжение|fortsättning(?:en)?|längd)\b|字数|大纲|续写|全文|内容|続き|本文",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:request(?:ed)?|you (?:asked|described|wanted|specified|provided)|instructions?|guidelines|revis(?:e|ed|ions?)|"
        r"changes?|edits?|adjust(?:ed|ments?)?|shortened|expanded|as the outline|expectations|gewünscht\w*|wunsch|"
        r"änder\w*|ausgebaut|demandée?|souhaitée?s?|modifications?|pedid[oa]|solicitad[oa]|cambios|modific\w+|richiest[oa]|"
        r"pediu|alterações|gevraagde?|wijzig\w+|prośb\w+|zmian\w*|просили|измен\w+|önskemål|ändr\w+)\b|要求|修改|ご希望|修正",
        re.IGNORECASE,
    ),
)
_USER = re.compile(
    r"\b(?:you|your|ihr|ihnen|ihren?|sie mich|vous|votre|usted|tu|su|voi|tuo|você|u|uw|вы|вас|ваш\w*|du|din\w*|dig)\b|您|你",
    re.IGNORECASE,
)
_WRAPPED = re.compile(r"^[*_]*[\[(（【].{3,}[\])）】][*_.]*$", re.DOTALL)
_BRACKETED_TASK = re.compile(
    r"\b(?:chapter|part|section|scene|words?|word count|continue[sd]?|end of|note|kapitel|teil|szene|abschnitt|anmerkung|"
    r"chapitre|partie|scène|suite|fin d|cap[ií]tulo|parte|escena|capitolo|scena|fim d|hoofdstuk|deel|rozdział|глава|"
    r"часть|kapitlet?)\b|章|字|完|続",
    re.IGNORECASE,
)

_REFUSAL = re.compile(
    r"\bi(?:['’]m| am)? (?:(?:really |very |deeply )?sorry,? (?:but )?i )?"
    r"(?:can(?:not|['’]t)|won['’]t(?: be able to)?|am unable|unable|not able|not comfortable|don['’]t feel (?:able|comfortable)|"
    r"(?:must|have to|need to)(?: \w+)? decline|decline)\b[^.]{0,60}\b(?:help|assist|writ|creat|continu|generat|produc|fulfil|"
    r"provid|comply|request|content|story|chapter)|"
    r"\b(?:sorry|apologi[sz]e|unfortunately)\b[^.]{0,60}\b(?:can(?:not|['’]t)|unable|not able|won['’]t)\b|"
    r"\bas an ai\b|against my (?:\w+ )?(?:guidelines|policy|policies)|content (?:policy|guidelines)|"
    r"(?:tut mir leid|leider)[^.]{0,80}\b(?:nicht|kann)|kann (?:ich )?[^.]{0,40}\bnicht (?:schreiben|helfen|erstellen)|als ki\b|"
    r"(?:désolée?|malheureusement)[^.]{0,80}\b(?:peux|puis|pas)|en tant qu['’]ia|ne (?:peux|suis) pas (?:en mesure|[ée]crire|vous)|"
    r"(?:lo siento|lamento|desafortunadamente)[^.]{0,80}\bno\b|no puedo (?:escribir|ayudar|crear|continuar)|"
    r"(?:desculpe|lamento|infelizmente)[^.]{0,80}\bnão\b|não posso (?:escrever|ajudar|criar)|"
    r"(?:mi dispiace|purtroppo)[^.]{0,80}\bnon\b|non posso (?:scrivere|aiutar|creare)|"
    r"(?:spijt me|helaas)[^.]{0,80}\b(?:niet|kan)|(?:przykro mi|przepraszam|niestety)[^.]{0,80}\bnie\b|"
    r"(?:извините|к сожалению|простите)[^.]{0,80}\bне\b|(?:jag är ledsen|tyvärr)[^.]{0,80}\binte\b|"
    r"(?:beklager|desværre)[^.]{0,80}\b(?:ikke|kan)|(?:üzgünüm|maalesef)|(?:omlouvám se|bohužel)|"
    r"(?:抱歉|对不起|很遗憾)[^。]{0,40}(?:无法|不能)|(?:申し訳|すみません)[^。]{0,60}(?:できません|ません)|죄송",
    re.IGNORECASE,
)


def refuses(text: str) -> bool:
    """Whether the beginning of a reply says that the model will not write it."""
    return bool(_REFUSAL.search(text[:REFUSAL_OPENING_CHARACTERS]))


def speaks_of_task(blocks: Sequence[str], index: int) -> bool:
    """Whether the paragraph `index` of a chapter seems to be a model's word to its user."""
    block = blocks[index].strip()
    if len(block) > MAX_CHARACTERS or has_speech(block):
        return False
    bare = block.strip("*_ ")
    if _WRAPPED.match(bare) and _BRACKETED_TASK.search(bare):
        return True
    return _signs(bare, is_edge=index in (0, len(blocks) - 1)) >= MIN_SIGNS


def _signs(text: str, *, is_edge: bool) -> int:
    """The weight of the signs in a paragraph. Without a sentence that addresses the user there are none."""
    without = _INTERJECTION.sub("", text)
    sentences = [without, *re.split(r"(?<=[.!?:。！？：])\s*", without)]
    if not any(_CUE.match(each) for each in sentences):
        return 0
    strong = any(_STRONG_CUE.match(each) for each in sentences)
    task = sum(bool(pattern.search(without)) for pattern in _TASK)
    if not task:
        return 0
    signs = 2 + strong + 2 * task + bool(_USER.search(without)) + (without != text)
    return signs + is_edge + (is_edge and text.rstrip().endswith((":", "：")))
