const TEXT_LENGTH_MAX = 500;

/** A provider's words as one line. It ends before a character that does not fit, never inside one. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/[\u0000-\u001f\u007f]+/g, ' ')
    .trim()
    .slice(0, TEXT_LENGTH_MAX)
    .replaceAll(/\p{Surrogate}/gu, '');
}
