"""The figures of a story: an animal or a child, drawn from its description, the same in every picture."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bookgen.render.cover.colour import WHITE, Colour, colour, mix
from bookgen.render.scenes.brush import Brush
from bookgen.render.scenes.story_words import chance_of, first_mentioned

INK = colour("#2b2430")
PINK = colour("#f2a3a0")

# Patterns of word beginnings, in the languages of the sample stories.
COLOURS = {
    "#9a9aa6": r"gr[ae]y|grau|gris",
    "#8a5a3c": r"brown|braun|brun|marr[oó]n|marron",
    "#d9572f": r"orange|fox-?red|fuchsrot|naranja|anaranjad|rouss|ginger",
    "#d8433b": r"red|rot|rouge|roj",
    "#f3ede2": r"white|wei(?:ß|ss)|blanc|snow",
    "#3b3742": r"black|schwarz|noir|negr",
    "#f3c33c": r"yellow|gelb|jaune|amarill|gold",
    "#5fa052": r"green|gr[üu]n|vert|verde",
    "#3f7fc4": r"blue|blau|bleu|azul",
    "#ef8fb0": r"pink|rosa|rose",
    "#8a63b8": r"purple|violet|lila|violett|morad",
    "#d9b98a": r"beige|sand|cream|crème|crema|tan",
}
GARMENTS = {
    "scarf": r"scarf|schal|halstuch|[ée]charpe|bufanda",
    "hat": r"hat|cap|hut|m[üu]tze|chapeau|bonnet|gorr|sombrero",
    "shirt": r"shirt|jumper|sweater|jacket|coat|dress|pull|jacke|kleid|mantel|pulli|robe|veste|"
    r"vestido|camis|abrigo|chaqueta",
    "bow": r"bow|ribbon|schleife|ruban|n[œo]ud|lazo|cinta",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of figure: the words that name it, and its coat, ears, muzzle and tail."""

    name: str
    words: str
    coat: str
    ears: str
    muzzle: str
    tail: str
    tall: float = 1.0


KINDS = (
    Kind("mouse", r"mouse|mice|maus|m[äa]us|souris|rat[oó]n", "#9a9aa6", "round", "small", "thin", 0.86),
    Kind("rabbit",
        r"rabbit|bunny|hare|hase|kaninchen|lapin|li[èe]vre|conejo|liebre", "#d9c3a5", "long", "small", "puff"),
    Kind("bear", r"bear|b[äa]r(?!n)|ours|oso|beaver|biber|castor|otter|loutre|nutria|mole\b|maulwurf|taupe\b|topo\b",
         "#8a5a3c", "bear", "wide", "puff", 1.12),
    Kind("fox", r"fox|fuchs|renard|zorr|wolf|loup|lobo|raccoon|waschb[äa]r|raton laveur|mapache",
         "#d9672f", "pointed", "long", "bushy"),
    Kind("cat", r"cat|kitten|katze|kater|chat|gat[oa]|lion|tiger|tigre|l[öo]we|le[óo]n",
         "#e0a24a", "pointed", "small", "curl"),
    Kind("dog", r"dog|puppy|hund|chien|perr|sheep|lamb\b|goat|cow\b|schaf|lamm|ziege|kuh\b|mouton|agneau|"
        r"ch[èe]vre|vache|oveja|cordero|cabra|vaca",
         "#b98352", "floppy", "wide", "curl"),
    Kind("owl", r"owl|eule|uhu|hibou|chouette|b[úu]ho|lechuza", "#8c7257", "tuft", "beak", "none", 0.95),
    Kind("penguin", r"penguin|pinguin|manchot|ping[üu]", "#39404f", "none", "beak", "none"),
    Kind("bird", r"bird|duck|chick|sparrow|goose|hen\b|robin\b|finch\b|crow\b|raven|gans\b|henne|rabe|oie\b|poule|"
        r"ganso|gallina|cuervo|vogel|ente|k[üu]ken|oiseau|canard|poussin|p[áa]jar|pat[oi]|poll", "#f3c33c",
         "none", "beak", "none", 0.8),
    Kind("frog", r"frog|frosch|grenouille|rana", "#6bab4e", "frog", "none", "none", 0.85),
    Kind("pig", r"pig|schwein|cochon|cerd", "#f0a8a8", "floppy", "snout", "curl"),
    Kind("elephant", r"elephant|elefant|[ée]l[ée]phant", "#9fa9b8", "big", "trunk", "thin", 1.15),
    Kind("hedgehog", r"hedgehog|igel|h[ée]risson|erizo", "#c9a27a", "bear", "long", "spines", 0.85),
    Kind("squirrel", r"squirrel|chipmunk|eichh|[ée]cureuil|ardilla", "#c8643a", "pointed", "small", "bushy", 0.86),
    Kind("badger", r"badger|dachs|blaireau|tej[oó]n", "#8d8d92", "bear", "long", "puff"),
    Kind("robot", r"robot|roboter", "#8fb6c9", "antenna", "none", "none"),
    Kind("dragon", r"dragon|drache|drag[oó]n", "#5fa07a", "horns", "wide", "spiked", 1.1),
)  # fmt: skip
CHILD = Kind("child", r"girl|boy|child|(?:wo)?man\b|(?:grand)?(?:mother|father|ma|pa)\b|aunt|uncle|king\b|queen|"
             r"farmer|teacher|frau\b|mann\b|oma\b|opa\b|k[öo]nig|femme|homme|reine\b|roi\b|mujer|hombre|abuel|rey\b|"
             r"m[äa]dchen|junge|(?:ein|das|kleines) kind|fille|gar[çc]on|enfant|ni[ñn]|chic",
             "#f1c9a5", "hair", "none", "none", 1.08)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoryFigure:
    """A figure from a description. Whatever the description leaves open is derived from the name."""

    kind: Kind
    coat: Colour
    garment: str
    garment_colour: Colour
    hair: Colour
    size: float
    long_hair: bool = False


def figure(description: str) -> StoryFigure:
    """The figure for a description of the form "name: look"."""
    name, _, look = description.partition(":")
    words = (look or name).lower()
    chance = chance_of(name.strip().lower())
    kind = first_mentioned(words, ((kind.words, kind) for kind in (*KINDS, CHILD)))
    kind = kind or chance.choice(KINDS[:6] if _ANIMAL.search(words) else (*KINDS[:6], CHILD))
    garment, worn = _garment(words) or (chance.choice(tuple(GARMENTS)), colour(chance.choice(_DYES)))
    own = _colour_in(_GARMENT.sub(" ", words)) if kind is not CHILD else None
    small = re.search(r"\b(?:small|little|tiny|klein|winzig|petit|peque|diminut)", words)
    big = re.search(r"\b(?:big|large|tall|huge|gro(?:ß|ss)|grand|grande|enorm)", words)
    size = kind.tall * (0.9 if small else 1.12 if big else 1.0)
    skin = colour(chance.choice(("#f6d3b3", "#e8b48c", "#c98d62", "#8d5a3b")))
    hair = colour(chance.choice(("#3a2a22", "#7a4a28", "#b5622e", "#e0b04a", "#26222a")))
    coat = own or (skin if kind is CHILD else colour(kind.coat))
    return StoryFigure(
        kind, coat, garment, worn, hair, size, bool(re.search(r"\b(?:girl|m[äa]dchen|fille|ni[ñn]a|chica)", words))
    )


# Features of an animal of any kind, known or not.
_ANIMAL = re.compile(
    r"\b(?:fur|tail|paw|claw|snout|whisker|feather|wing|beak|hoo[fv]|horn|fell|schwanz|pfote|feder|fl[üu]gel|schnauz|"
    r"fourrure|queue|patte|plume|pelaje|cola\b|pata\b|pluma)"
)
_DYES = ("#d8433b", "#3f7fc4", "#f3c33c", "#5fa052", "#8a63b8", "#ef8fb0")
_ANY_COLOUR = "|".join(COLOURS.values())
_ANY_GARMENT = "|".join(GARMENTS.values())
_GARMENT = re.compile(
    rf"\b(?P<before>(?:{_ANY_COLOUR})\w*)\W+(?:\w+\W+)?\w*(?:{_ANY_GARMENT})\w*"
    rf"|\b\w*(?P<named>{_ANY_GARMENT})\w*(?:\W+(?P<after>(?:{_ANY_COLOUR})\w*))?"
)


def _garment(words: str) -> tuple[str, Colour] | None:
    """The garment in a description and its colour, as in "a red scarf" or "une écharpe rouge"."""
    match = _GARMENT.search(words)
    if match is None:
        return None
    kind = next(name for name, pattern in GARMENTS.items() if re.search(pattern, match[0]))
    return kind, _colour_in(match["before"] or match["after"] or "") or colour("#d8433b")


def _colour_in(words: str) -> Colour | None:
    code = first_mentioned(words, ((pattern, code) for code, pattern in COLOURS.items()))
    return colour(code) if code else None


def draw_figure(brush: Brush, who: StoryFigure, pose: str = "stand") -> None:
    """Draw a figure, about 100 units tall, standing on the brush's origin. Poses: stand, wave, walk, jump, sleep."""
    brush = brush.at(0, 0, who.size).at(0, 16 if pose == "jump" else 0)
    dark, light = mix(who.coat, INK, 0.18), mix(who.coat, WHITE, 0.62)
    body = who.garment_colour if who.garment == "shirt" or who.kind is CHILD else who.coat
    _tail(brush, who, dark)
    _legs(brush, who, dark, pose)
    if who.kind.name == "robot":
        brush.polygon(((-19, 8), (19, 8), (19, 48), (-19, 48)), body)
        brush.circle(0, 34, 5, mix(who.garment_colour, WHITE, 0.2))
    else:
        brush.soft(((-21, 14), (0, 6), (21, 14), (17, 40), (0, 50), (-17, 40)), body)
        if who.kind is not CHILD and who.garment != "shirt":
            brush.ellipse(0, 23, 13, 15, light)
    _arms(brush, who, body, pose)
    _head(brush.at(0, 66, turn=0.07 if pose in ("wave", "walk") else 0.0), who, dark, light, pose)
    _garb(brush, who)


def _legs(brush: Brush, who: StoryFigure, dark: Colour, pose: str) -> None:
    shoe = dark if who.kind is not CHILD else mix(who.garment_colour, INK, 0.45)
    if who.kind.muzzle == "beak":
        shoe = colour("#ee9a3a")
    apart = 15 if pose in ("walk", "jump") else 9
    raised = 4 if pose == "walk" else 0
    for side in (-1, 1):
        up = raised if side > 0 else 0
        if who.kind is CHILD:
            brush.ellipse(side * apart * 0.8, 7 + up, 4.4, 9, mix(who.garment_colour, INK, 0.25))
        brush.ellipse(side * apart + 2, 3 + up, 9, 4.6, shoe)


def _arms(brush: Brush, who: StoryFigure, body: Colour, pose: str) -> None:
    hand = who.coat
    limb = mix(body, INK, 0.1)
    for side in (-1, 1):
        waves = (pose == "wave" and side > 0) or pose == "jump"
        turn = side * (2.35 if waves else 0.5 if pose != "walk" else 0.8)
        arm = brush.at(side * 15, 40, turn=-turn)
        if who.kind.muzzle == "beak":
            arm.ellipse(0, -11, 6.5, 13, mix(who.coat, INK, 0.12))
            continue
        arm.ellipse(0, -10, 5, 12, limb)
        arm.circle(0, -20, 5, hand)


def _tail(brush: Brush, who: StoryFigure, dark: Colour) -> None:
    match who.kind.tail:
        case "thin":
            brush.line((-12, 14), [((-34, 4), (-40, 26), (-48, 22))], mix(who.coat, PINK, 0.5), 3.2)
        case "puff":
            brush.circle(-20, 17, 7.5, mix(who.coat, WHITE, 0.5))
        case "bushy":
            brush.soft(((-14, 10), (-34, 8), (-50, 26), (-44, 48), (-31, 38), (-26, 22)), who.coat)
            brush.soft(((-50, 28), (-47, 49), (-40, 48), (-37, 40), (-43, 35)), mix(who.coat, WHITE, 0.85))
        case "curl":
            brush.line((-14, 14), [((-34, 12), (-40, 34), (-30, 40)), ((-24, 43), (-22, 34), (-28, 32))], dark, 5)
        case "spines":
            points = [(-6, 8), (-34, 10), (-27, 20), (-42, 28), (-30, 36), (-40, 50), (-26, 50), (-30, 66), (-16, 60)]
            brush.polygon([*points, (-10, 76), (2, 62), (4, 10)], colour("#6b4c39"))
        case "spiked":
            brush.soft(((-10, 8), (-36, 6), (-54, 20), (-60, 36), (-46, 28), (-30, 26), (-14, 30)), who.coat)
            for x, y in ((-30, 27), (-44, 29), (-20, 30)):
                brush.polygon(((x - 5, y - 3), (x + 5, y - 3), (x, y + 8)), mix(who.coat, INK, 0.35))


def _head(head: Brush, who: StoryFigure, dark: Colour, light: Colour, pose: str) -> None:
    if who.long_hair and who.kind is CHILD:
        for side in (-1, 1):
            head.ellipse(side * 24, -9, 9, 19, who.hair, turn=side * -0.2)
            head.circle(side * 25.5, 1, 3.6, who.garment_colour)
    _ears(head, who, dark)
    if who.kind.name == "robot":
        head.polygon(((-24, -18), (24, -18), (24, 18), (-24, 18)), who.coat)
    elif who.kind.name == "penguin":
        head.ellipse(0, 0, 23, 21, who.coat)
        for side in (-1, 1):
            head.ellipse(side * 8, -2, 11, 14, mix(who.coat, WHITE, 0.92))
    elif who.kind.name == "badger":
        head.ellipse(0, 0, 25, 21.5, mix(who.coat, WHITE, 0.92))
        for side in (-1, 1):
            head.ellipse(side * 10.5, 3, 6, 17, mix(INK, WHITE, 0.3))
    else:
        head.ellipse(0, 0, 25, 21.5, who.coat)
    if who.kind is CHILD:
        _hair(head, who)
    _muzzle(head, who, light)
    for side in (-1, 1):
        _eye(head, side, who, pose)
        if who.kind.name != "robot":
            head.ellipse(side * 16, -7, 4.6, 3.2, mix(who.coat, PINK, 0.62))
    _mouth(head, who, pose)


def _eye(head: Brush, side: int, who: StoryFigure, pose: str) -> None:
    x, y = side * 9.5, 3
    if who.kind.ears == "frog":
        x, y = side * 12, 21
    if pose == "sleep":
        head.line((x - 4, y), [((x - 2, y - 3), (x + 2, y - 3), (x + 4, y))], INK, 1.5)
        return
    if who.kind.name == "owl":
        head.circle(x, y, 9, mix(who.coat, WHITE, 0.9))
    head.ellipse(x, y, 3.5, 4.7, INK)
    head.circle(x + 1.2, y + 1.7, 1.35, WHITE)


def _mouth(head: Brush, who: StoryFigure, pose: str) -> None:
    if who.kind.muzzle in ("beak", "trunk"):
        return
    y = -13 if who.kind.muzzle in ("wide", "small", "long", "snout") else -9
    if pose in ("jump", "wave"):
        head.shape((-4.5, y + 1), [((-3.5, y - 6), (3.5, y - 6), (4.5, y + 1)), ((2, y), (-2, y), (-4.5, y + 1))], INK)
        head.ellipse(0, y - 2.6, 2.2, 1.4, colour("#e0655f"))
    else:
        head.line((-5, y + 0.5), [((-3, y - 3.4), (3, y - 3.4), (5, y + 0.5))], INK, 1.5)


def _muzzle(head: Brush, who: StoryFigure, light: Colour) -> None:
    match who.kind.muzzle:
        case "small":
            head.ellipse(0, -9, 9.5, 7, light)
            head.ellipse(0, -5, 3, 2.2, mix(PINK, INK, 0.15))
        case "wide":
            head.ellipse(0, -9, 13, 9.5, light)
            head.ellipse(0, -4, 4.4, 3, INK)
        case "long":
            head.soft(((-22, -6), (-10, 0), (0, -3), (10, 0), (22, -6), (9, -18), (0, -21), (-9, -18)), light)
            head.ellipse(0, -7, 4, 3, INK)
        case "snout":
            head.ellipse(0, -6, 9, 6.5, mix(who.coat, PINK, 0.6))
            for side in (-1, 1):
                head.ellipse(side * 3.2, -6, 1.5, 2.3, mix(who.coat, INK, 0.5))
        case "beak":
            head.polygon(((-7, -3), (7, -3), (0, -13)), colour("#ee9a3a"))
            head.polygon(((-7, -3), (7, -3), (0, 1.5)), colour("#f4b04f"))
        case "trunk":
            trunk = mix(who.coat, INK, 0.06)
            head.line((0, -4), [((0, -20), (2, -30), (14, -31))], trunk, 10)


def _ears(head: Brush, who: StoryFigure, dark: Colour) -> None:
    inner = mix(who.coat, PINK, 0.6)
    for side in (-1, 1):
        match who.kind.ears:
            case "round":
                head.circle(side * 20, 18, 14, who.coat)
                head.circle(side * 20, 18, 9, inner)
            case "bear":
                head.circle(side * 18, 17, 8.5, who.coat)
                head.circle(side * 18, 17, 5, inner)
            case "long":
                head.ellipse(side * 10, 36, 7.5, 23, who.coat, turn=side * 0.16)
                head.ellipse(side * 10, 36, 4, 17, inner, turn=side * 0.16)
            case "pointed":
                head.polygon(((side * 6, 16), (side * 24, 10), (side * 21, 35)), who.coat)
                head.polygon(((side * 11, 16), (side * 21, 13), (side * 19.5, 28)), inner)
            case "floppy":
                head.ellipse(side * 24, 2, 7.5, 16, dark, turn=side * -0.35)
            case "tuft":
                head.polygon(((side * 5, 18), (side * 22, 12), (side * 19, 29)), dark)
            case "frog":
                head.circle(side * 12, 20, 9.5, who.coat)
                head.circle(side * 12, 21, 6.8, WHITE)
            case "big":
                head.ellipse(side * 30, 1, 17, 21, who.coat)
                head.ellipse(side * 30, 0, 11, 15, inner)
            case "horns":
                head.polygon(((side * 7, 18), (side * 14, 16), (side * 15, 31)), colour("#f0e2c4"))
            case "antenna":
                head.polygon(((side * 10 - 1, 17), (side * 10 + 1, 17), (side * 13 + 1, 30), (side * 13 - 1, 30)), INK)
                head.circle(side * 13, 31, 3.4, who.garment_colour)
            case "hair":
                head.ellipse(side * 24, -2, 4.5, 5.5, mix(who.coat, INK, 0.08))


def _hair(head: Brush, who: StoryFigure) -> None:
    head.soft(
        ((-26, 1), (-22, 18), (0, 26), (22, 18), (26, 1), (20, 9), (10, 13), (-2, 9), (-12, 13), (-21, 8)), who.hair
    )
    if who.garment == "bow":
        for side in (-1, 1):
            head.polygon(((12, 22), (12 + side * 10, 28), (12 + side * 10, 17)), who.garment_colour)
        head.circle(12, 22.5, 2.6, mix(who.garment_colour, INK, 0.2))


def _garb(brush: Brush, who: StoryFigure) -> None:
    shade = mix(who.garment_colour, INK, 0.18)
    match who.garment:
        case "scarf":
            brush.ellipse(0, 47, 17, 5.5, who.garment_colour)
            brush.polygon(((6, 46), (15, 44), (18, 26), (8, 27)), shade)
            brush.polygon(((8, 31), (17.2, 30), (18, 26), (8, 27)), mix(who.garment_colour, WHITE, 0.5))
        case "hat":
            hat = brush.at(0, 84)
            hat.soft(((-17, 0), (0, 3), (17, 0), (12, 15), (0, 20), (-12, 15)), who.garment_colour)
            hat.ellipse(0, 1, 19, 4, shade)
            hat.circle(0, 20, 4.5, mix(who.garment_colour, WHITE, 0.7))
        case "bow" if who.kind is not CHILD:
            for side in (-1, 1):
                brush.polygon(((0, 46), (side * 12, 52), (side * 12, 40)), who.garment_colour)
            brush.circle(0, 46, 3.2, shade)
        case "shirt":
            brush.ellipse(0, 47, 11, 3.4, shade)
