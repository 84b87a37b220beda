// The number of words in a text, counted as in bookgen/words.py.

const HAN_KANA = "\\u3005-\\u3007\\u3040-\\u30ff\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\uff66-\\uff9f\\u{20000}-\\u{3ffff}";
const SEA = "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff"; // Thai, Lao, Burmese, Khmer
const SEA_CHARACTERS_PER_WORD = 4.5;
const LETTERS = `(?:(?![${HAN_KANA}${SEA}])[\\p{L}\\p{N}])+`;
const JOINT = `(?:['’\\-‐.׳״]|(?<=[\\u05d0-\\u05ea])"(?=[\\u05d0-\\u05ea]))`;
const WORD = new RegExp(`${LETTERS}(?:[\\p{M}\\u200c\\u200d]+(?:${LETTERS})?|${JOINT}${LETTERS})*`, "gu");
const HAN_KANA_CHARACTER = new RegExp(`[${HAN_KANA}]`, "gu");
const SEA_CHARACTER = new RegExp(`[${SEA}]`, "gu");
const BREAK_TAG = /<[bh]r[ \t]{0,9}\/?>/gi;

export function countWords(text) {
  const plain = text.replace(BREAK_TAG, " ");
  const found = (pattern) => plain.match(pattern)?.length ?? 0;
  return Math.round(found(WORD) + found(HAN_KANA_CHARACTER) + found(SEA_CHARACTER) / SEA_CHARACTERS_PER_WORD);
}
