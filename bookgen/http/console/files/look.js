// The layout settings of a book's files, as they are sent.

export const NUMBERS = {
  font_size: ["Font size (points)", 8, 18, 0.5],
  line_spacing: ["Line spacing", 1, 2, 0.05],
};

/** Numbers as numbers, and no empty values. */
export const wanted = (chosen) =>
  Object.fromEntries(Object.entries(chosen ?? {}).filter(([name, value]) => !(name in NUMBERS && value === "")).map(([name, value]) => [name, name in NUMBERS ? Number(value) : value]));
