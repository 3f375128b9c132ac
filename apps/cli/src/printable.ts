/** A text of others on one line. A terminal obeys control characters, so each is written as an escape. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return character === '\n' ? '\\n' : `\\u{${code.toString(16)}}`;
  });
}
