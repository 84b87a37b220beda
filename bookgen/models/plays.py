"""Whether a book is a play, by what its author has typed: for the stage, the radio or the screen."""

from __future__ import annotations

import re

MAX_OPENING_CHARACTERS = 300  # of the idea

_PLAYS = (
    # English
    r"(?:(?:stage|radio|audio|theat(?:re|er)|verse|one[- ]act|full[- ]length|ten[- ]minute|two[- ]hander|school|"
    r"history|children['’]?s|tv|television|christmas|nativity|passion|puppet)[- ]plays?|"
    r"plays? in \w+ (?:acts?|scenes?)|"
    r"(?:stage|radio|audio|theat(?:re|er)|drama|play|film|movie|tv|television|shooting)[- ]?scripts?|screenplays?|"
    r"teleplays?|(?:stage|radio|audio|verse)[- ](?:drama|comedy|tragedy|farce|musical|thriller)s?|"
    r"(?:comedy|tragedy|tragicomedy|drama|farce) (?:in|of) (?:\w+|\d+) (?:acts?|scenes?)|"
    r"(?:monologue|dialogue)s? for the stage|"
    # German, Dutch and the North
    r"(?:theater|bühnen|volks|boulevard)stücke?s?|stücke? in \w+ (?:akten?|szenen)|schauspiel(?: in \w+ akt(?:en)?)?|"
    r"(?:komödie|tragödie|drama|posse|farce|tragikomödie) in \w+ akt(?:en)?|\w*hörspiele?|drehbuch|drehbücher|einakter|"
    r"lustspiele?|trauerspiele?|krippenspiele?|dramolette?|"
    r"toneelstuk(?:ken)?|theaterstuk(?:ken)?|hoorspel(?:en)?|blijspel|filmscenario|eenakter|"
    r"(?:teater|scen|radio)pjäs(?:er)?|pjäs(?: i \w+ akter?)?|skådespel|filmmanus|"
    r"skuespill?|(?:teater|scene)stykke|hørespill?|filmmanuskript|näytelmä|kuunnelma|elokuvakäsikirjoitus|"
    # Romance languages
    r"pièces? (?:de théâtre|radiophoniques?|en \w+ actes?)|(?:comédie|drame|tragédie|farce) en \w+ actes?|"
    r"radiodrame|scénario(?: de film)?|"
    r"(?:obras?|piezas?) (?:de teatro|teatral(?:es)?|dramáticas?|en \w+ actos?)|"
    r"(?:comedia|drama|tragedia) en \w+ actos?|"
    r"gui[oó]n(?: (?:de cine|cinematográfico|teatral|de teatro|de radio|radiofónico))?|radioteatro|"
    r"(?:opera|testo|commedia|dramma|pièce|piece|atto) teatrale|(?:commedia|dramma|tragedia) in \w+ atti?|radiodramma|"
    r"sceneggiatura|atto unico|"
    r"peças? (?:de teatro|teatra(?:l|is)|radiof[óô]nicas?|em \w+ atos?)|(?:comédia|drama|tragédia) em \w+ a[ct]tos?|"
    r"roteiro de (?:cinema|filme)|"
    r"pies[aăe] de teatru|teatru radiofonic|comedie în \w+ acte|"
    # Slavic languages and others of Europe
    r"(?:радио|кино)?пьес[аы]|(?:кино)?сценарий|(?:комедия|драма|трагедия) в \w+ (?:акт|действи)\w*|п['’ʼ]єс[аи]|"
    r"сценарій|пиес[аи]|sztuk[ai] teatraln[ae]|dramat sceniczny|słuchowisko|scenariusz|"
    r"(?:divadelní|rozhlasová|divadelná) hra|scénář|scenár|"
    r"színdarab|színmű|hangjáték|forgatókönyv|tiyatro (?:oyunu|eseri|metni)|radyo oyunu|senaryo|"
    r"θεατρικ[όά] (?:έργ[οα]|μονόπρακτ[οα])|σενάριο|מחזה|תסכית|תסריט|"
    # Asia
    r"مسرحية|سيناريو|नाटक|নাটক|நாடகம்|kịch bản|kịch nói|naskah (?:drama|teater)|drama panggung|sandiwara|บทละคร)"
)
_EAST_ASIAN = (
    r"(?:戯曲|脚本|シナリオ|舞台劇|台本|ラジオドラマ|剧本|劇本|话剧|話劇|舞台剧|广播剧|廣播劇|戏曲|희곡|연극 대본|연극|"
    r"시나리오|라디오 드라마)"
)
# A genre that is one of these words and nothing else. In other places, they mean something else too.
_ONLY = r"^\W*(?:plays?|scripts?|théâtre|teatro|театр|sztuka|dramat|stuk|peça|oyun|kịch)\W*$"
_GENRE = re.compile(rf"{_ONLY}|\b{_PLAYS}\b|{_EAST_ASIAN}", re.IGNORECASE)
# A genre with such a word is a novel, or a book about plays.
_OTHER = re.compile(
    r"\bnovels?\b|\bnovela\b|roman\b|\bromans?\b|romanzo|\bроман|powieść|regény|长篇|長編|小[説说]|소설|"
    r"guide|how.?to|manual|textbook|non.?fiction|histor(?:y|ies) of|studies|theory|criticism|\babout\b|\bon\b|"
    r"writing|writers?\b|screenwriting|ratgeber|handbuch|sachbuch|lehrbuch|manuel|essa[iy]|ensayo|saggio|"
    r"教科書|入門|写作|創作|评论|評論",
    re.IGNORECASE,
)
_LEAD = (
    r"(?:(?:this (?:book )?is|this will be|i want|i would like|please write|write|es ist|das ist|schreibe?|c['’]est|"
    r"es|è|é)\s+)?(?:me\s+)?(?:(?:an?|eine?n?|une?|una?|uma?|um|een|en|ett|et|un'|o)\s+)?"
)
_ADJECTIVE = r"(?!(?:an?|the|eine?[nmrs]?|de[rnms]?|das|une?|una?|uma?|el|la|le|il|een|het|ett?)\b)[\w'’-]+"
# After it, an idea goes on about the play. "A screenplay writer", "a stage play is found" are other stories.
_GOES_ON = (
    r"(?=\W*$|\s*[,.:;!–—(-]|\s+(?:about|in|for|of|on|set|with|where|titled|called|über|in|für|mit|von|um|sur|pour|avec|"
    r"en|dans|où|sobre|para|con|com|de|su|per|em|over|voor|met|о|об|для|про|в|o|dla|na|om|för|till|til|med|i)\b)"
)
_OPENING = re.compile(
    rf"^\W*{_LEAD}(?:{_ADJECTIVE},?\s+){{0,3}}?(?:{_PLAYS}|play(?=\s+(?:for|with)\s+(?:\w+\s+){{1,2}}(?:actors?|voices?)))"
    rf"{_GOES_ON}|^[^。.]{{0,12}}?{_EAST_ASIAN}(?=\W*$|です|である|[。、，：:（(.]|입니다)",
    re.IGNORECASE,
)


def announces_play(genre: str, subtitle: str, idea: str) -> bool:
    """Whether the genre, the subtitle or the beginning of the idea says that the book is a play.

    "Drama" as a genre does not, since most novels with that label are told in prose.
    """
    if _OTHER.search(genre):
        return False
    return any((_GENRE.search(genre), _OPENING.match(subtitle), _OPENING.match(idea[:MAX_OPENING_CHARACTERS])))
