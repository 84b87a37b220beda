// How the files of a book look, as the service takes it.

export const NUMBERS = {
  font_size: ["Font size (points)", 8, 18, 0.5],
  line_spacing: ["Line spacing", 1, 2, 0.05],
};

/** Numbers as numbers, nothing for what was left empty. */
export const wanted = (chosen) =>
  Object.fromEntries(Object.entries(chosen ?? {}).filter(([name, value]) => !(name in NUMBERS && value === "")).map(([name, value]) => [name, name in NUMBERS ? Number(value) : value]));
