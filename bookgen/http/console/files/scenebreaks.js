// Scene breaks in any spelling, by the same rules as the files: render/scene_breaks.py has the same signs.

const SIGNS = String.raw`[*#~_=+°\-‐-―⸺⸻•·∙⋅●○◦◆◇◈◊❖※⁂⁎⁑⁕⁜§❦❧☙✦-✿❀-❋♠♣♤♦♧☼☽☾]`;
const BREAK = new RegExp(`^(?:${SIGNS}(?:\\s*${SIGNS}){0,79}|[★☆](?: +[★☆])*|<hr\\b[^<>]*>)$`, "i");
const CENTRING = /<\/?(?:center|div|p)\b[^<>]*>|&nbsp;|\\/gi;
// Signs that are a scene break even right next to other lines.
const ANYWHERE = /^ {0,3}(?:#{1,6}|\* ?\* ?\*[ *]*|⁂|❦|~{3,}|(?:— ?){2,}|(?:\\?\* ?){3}|- ?- ?-)[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;

/** The text with every scene break in Markdown's own spelling; fenced code is left alone. */
export function withBreaks(text) {
  const lines = text.split("\n");
  const empty = (at) => !lines[at]?.trim();
  let fence = "";
  return lines.flatMap((line, at) => {
    const fenced = FENCE.exec(line);
    if (fence) {
      if (fenced?.[1].startsWith(fence) && !fenced[2].trim()) fence = "";
      return [line];
    }
    if (ANYWHERE.test(line) || (isSceneBreak(line) && empty(at - 1) && empty(at + 1))) return ["", "***", ""];
    if (fenced) fence = fenced[1];
    return [line];
  }).join("\n");
}

/** Whether a block is a scene break sign that Markdown took for a bullet. */
export function isBreak({ type, ordered, items }) {
  return type === "list" && !ordered && items.length === 1 && !items[0].text.trim();
}

const isSceneBreak = (line) => BREAK.test(line.replace(CENTRING, "").trim());
