/**
 * A regular expression of Postgres for the text in any case. The embedded Postgres has the locale C, and
 * knows the case of ASCII letters only. So the expression names both cases of each letter.
 */
export function anyCase(text: string): string {
  return Array.from(text, (character) => {
    const cases = new Set([character, character.toLowerCase(), character.toUpperCase()]);
    const single = [...cases].filter((each) => Array.from(each).length === 1);
    if (single.length > 1) return `[${single.join('')}]`;
    return /[!-/:-@[-`{-~]/.test(character) ? `\\${character}` : character;
  }).join('');
}
